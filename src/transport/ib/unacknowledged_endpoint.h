// What UC and UD have in common: work requests leave in the order of their posting, are done when they have
// left, and nothing comes back. Only their path says when the next packet may go (see PathWindow).
#pragma once

#include "transport/ib/endpoint_base.h"
#include "transport/ib/outbound.h"

namespace softrnic::ib {

class UnacknowledgedEndpoint : public EndpointBase {
 public:
  void resume() override { set_mode(Mode::sending); }
  SendSlot reserve() override;
  void commit() override { queue_.commit(); }
  std::uint32_t outstanding_sends() const override { return queue_.size(); }
  TimePoint deadline() const override { return send_at_; }
  void expire(TimePoint now) override;

 protected:
  /// A turn is one of the window that was left.
  void leave_path() override {
    turn_ = {};
    send_at_ = kNever;
  }
  UnacknowledgedEndpoint(Qpn local, const Capacity& capacity, Host& host, wire::Service service)
      : EndpointBase(local, host, service), queue_(capacity) {}

  /// Whether `packet` may leave on `path` (nullptr: unlimited) now; if not, deadline() says when to ask
  /// again.
  bool may_leave(const TxPacket& packet, PathWindow* path, TimePoint now);
  /// Completes all that is posted as flushed.
  void flush_sends();
  /// Forgets all that is posted.
  void forget_sends();

  SendQueue queue_;

 private:
  TimePoint send_at_ = kNever;
  PathWindow::Admission turn_;  ///< of the oldest packet, if one was granted
};

}  // namespace softrnic::ib
