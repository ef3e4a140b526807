// An unreliable connected queue pair: SEND and WRITE without acknowledgement. A message that misses a packet
// is dropped as a whole (IBTA 9.8.2).
#pragma once

#include <optional>

#include "transport/ib/inbound_message.h"
#include "transport/ib/rx_packet.h"
#include "transport/ib/unacknowledged_endpoint.h"

namespace softrnic::ib {

class UcEndpoint final : public UnacknowledgedEndpoint {
 public:
  UcEndpoint(Qpn local, const Capacity& capacity, Host& host)
      : UnacknowledgedEndpoint(local, capacity, host, wire::Service::uc) {}

  void start_responder(const Attributes& attributes) override;
  void start_requester(const Attributes& attributes) override;
  void drain() override;
  void flush() override;
  void reset() override;

  bool lacks_receive(const RxPacket& packet) override;
  void receive(const RxPacket& packet, TimePoint now) override;
  bool go_at_once() override;
  Transmit transmit(TxPacket& packet, TimePoint now) override;

  std::uint32_t send_psn() const override { return next_.wire(); }
  std::uint32_t receive_psn() const override { return expected_.wire(); }
  bool drained() const override { return mode_ == Mode::draining && drained_; }

 private:
  bool in_message() const { return next_ != message_start_ || direct_begun_; }
  void take(const RxPacket& rx);
  bool in_sequence(const RxPacket& rx);
  void drop(const Verdict& verdict, const wire::Packet& packet);
  std::uint32_t packets_at_once() const;
  Expected<void, Reason> build(const SendEntry& entry, Psn stop, bool last, TxPacket& packet);
  bool valid(const SendWqe& wqe);
  bool execute_locally();
  std::optional<std::uint32_t> go_direct(const SendEntry& entry);
  void forget_direct();
  void fail_front(Status status, const Reason& reason);
  void check_drained();

  SgeCursor gather_cursor_;
  std::uint32_t direct_bytes_ = 0;  ///< of the front work request that went without packets
  bool direct_begun_ = false;       ///< the front work request has begun so, even if packets are to repeat it
  bool refused_at_once_ = false;    ///< go_at_once() was just refused: transmit() does not ask again
  Psn next_ = Psn::first(0);        ///< PSN of the next packet out
  Psn message_start_ = Psn::first(0);  ///< PSN at which the front work request began
  InboundMessage message_;
  Psn expected_ = Psn::first(0);
  bool begun_ = false;     ///< a packet was accepted, so `expected_` is the peer's and not only agreed
  bool skipping_ = false;  ///< the rest of a broken message is being dropped
  bool drained_ = false;
};

}  // namespace softrnic::ib
