// An unreliable datagram queue pair: one packet a message, to and from anybody (IBTA 9.8.4).
#pragma once

#include <array>

#include "transport/ib/endpoint_base.h"
#include "transport/ib/outbound.h"

namespace softrnic::ib {

class UdEndpoint final : public EndpointBase {
 public:
  UdEndpoint(Qpn local, const Capacity& capacity, Host& host)
      : EndpointBase(local, host, wire::Service::ud), queue_(capacity) {}

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

  std::uint32_t send_psn() const override { return psn_.wire(); }
  std::uint32_t receive_psn() const override { return 0; }
  bool drained() const override { return mode_ == Mode::draining; }

 private:
  Expected<void, Reason> build(const SendEntry& entry, TxPacket& packet);
  bool valid(const SendWqe& wqe);
  void fail_front(Status status, const Reason& reason);
  void place(const RxPacket& rx);
  void fail_receive(Status status, const Reason& reason);

  SendQueue queue_;
  Psn psn_ = Psn::first(0);
  const RecvWqe* receive_ = nullptr;  ///< taken for a datagram that did not fit; the next one gets it
  TimePoint send_at_ = kNever;
};

/// The 40 bytes that precede a datagram in its receive: the IPv6 header, or 20 zero bytes and the IPv4 header
/// (IBTA A17.4.5.1). The IPv4 identification is not known here and stands as 0.
std::array<std::byte, wire::kGrhBytes> datagram_header(const RxPacket& packet);

}  // namespace softrnic::ib
