// An unreliable datagram queue pair: one packet a message, to and from anybody (IBTA 9.8.4).
#pragma once

#include <array>

#include "transport/ib/rx_packet.h"
#include "transport/ib/unacknowledged_endpoint.h"

namespace softrnic::ib {

class UdEndpoint final : public UnacknowledgedEndpoint {
 public:
  UdEndpoint(Qpn local, const Capacity& capacity, Host& host)
      : UnacknowledgedEndpoint(local, capacity, host, wire::Service::ud) {}

  void start_responder(const Attributes& attributes) override;
  void start_requester(const Attributes& attributes) override;
  void drain() override;
  void flush() override;
  void reset() override;

  bool lacks_receive(const RxPacket& packet) override;
  void receive(const RxPacket& packet, TimePoint now) override;
  Transmit transmit(TxPacket& packet, TimePoint now) override;

  std::uint32_t send_psn() const override { return psn_.wire(); }
  std::uint32_t receive_psn() const override { return 0; }
  bool drained() const override { return mode_ == Mode::draining; }

 private:
  Expected<void, Reason> build(const SendEntry& entry, TxPacket& packet);
  bool valid(const SendWqe& wqe);
  PathWindow* window_to(const SendWqe& wqe) const;
  void fail_front(Status status, const Reason& reason);
  Expected<void, Reason> place_header(const RxPacket& rx, SgeCursor& cursor);
  void place(const RxPacket& rx);
  void fail_receive(Status status, const Reason& reason);

  Psn psn_ = Psn::first(0);
  const RecvWqe* receive_ = nullptr;  ///< taken for a datagram that is to come, or did not fit
};

}  // namespace softrnic::ib
