// An unreliable connected queue pair: SEND and WRITE without acknowledgement. A message that misses a packet
// is dropped as a whole (IBTA 9.8.2).
#pragma once

#include "transport/ib/endpoint_base.h"
#include "transport/ib/inbound_message.h"
#include "transport/ib/outbound.h"

namespace softrnic::ib {

class UcEndpoint final : public EndpointBase {
 public:
  UcEndpoint(Qpn local, const Capacity& capacity, Host& host)
      : EndpointBase(local, host, wire::Service::uc), queue_(capacity) {}

  void start_responder(const Attributes& attributes) override;
  void start_requester(const Attributes& attributes) override;
  void drain() override;
  void resume() override { set_mode(Mode::sending); }
  void flush() override;
  void reset() override;

  SendSlot reserve() override;
  void commit() override { queue_.commit(); }
  std::uint32_t outstanding_sends() const override { return queue_.size(); }

  void receive(const RxPacket& packet, TimePoint now) override;
  Transmit transmit(TxPacket& packet, TimePoint now) override;
  TimePoint deadline() const override { return send_at_; }
  void expire(TimePoint now) override;

  std::uint32_t send_psn() const override { return next_.wire(); }
  std::uint32_t receive_psn() const override { return expected_.wire(); }
  bool drained() const override { return mode_ == Mode::draining && drained_; }

 private:
  bool in_message() const { return next_ != message_start_; }
  bool in_sequence(const wire::Packet& packet);
  void drop(const Verdict& verdict, const wire::Packet& packet);
  Expected<void, Reason> build(const SendEntry& entry, bool last, TxPacket& packet);
  bool valid(const SendWqe& wqe);
  void fail_front(Status status, const Reason& reason);
  void check_drained();

  SendQueue queue_;
  SgeCursor gather_cursor_;
  Psn next_ = Psn::first(0);           ///< PSN of the next packet out
  Psn message_start_ = Psn::first(0);  ///< PSN at which the front work request began
  InboundMessage message_;
  Psn expected_ = Psn::first(0);
  bool begun_ = false;     ///< a packet was accepted, so `expected_` is the peer's and not only agreed
  bool skipping_ = false;  ///< the rest of a broken message is being dropped
  bool drained_ = false;
  TimePoint send_at_ = kNever;  ///< when the window has tokens again
};

}  // namespace softrnic::ib
