// A reliable connected queue pair: requester and responder side by side. XRC's have one of the two at work
// (xrc_endpoint.h).
#pragma once

#include <algorithm>

#include "transport/ib/endpoint_base.h"
#include "transport/ib/rc_requester.h"
#include "transport/ib/rc_responder.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::ib {

class RcEndpoint : public EndpointBase {
 public:
  RcEndpoint(Qpn local, const Capacity& capacity, Host& host, wire::Service service = wire::Service::rc);

  void start_responder(const Attributes& attributes) override;
  void start_requester(const Attributes& attributes) override;
  void drain() override;
  void resume() override;
  void flush() override;
  void reset() override;

  SendSlot reserve() override { return requester_.reserve(); }
  void commit() override { requester_.queue().commit(); }
  bool go_at_once() override { return mode_ == Mode::sending && requester_.go_at_once(); }
  std::uint32_t outstanding_sends() const override { return requester_.queue().size(); }

  void receives_posted() override {
    if (mode_ != Mode::error) responder_.receives_posted();
  }
  void receive(const RxPacket& packet, TimePoint now) override;
  Transmit transmit(TxPacket& packet, TimePoint now) override;
  TimePoint deadline() const override { return std::min(requester_.deadline(), responder_.deadline()); }
  void expire(TimePoint now) override;

  void delay_ack() override { ack_turn_ = AckTurn::held; }
  void send_delayed_ack() override {
    if (ack_turn_ == AckTurn::held) ack_turn_ = AckTurn::second;
  }

  bool next_eager(EagerSend& out) override;
  void eager_sent(TimePoint now) override;
  bool receive_eager(const EagerSend& eager, const wire::Gid& source) override;
  std::uint8_t tell_credit() override { return responder_.tell_credit(); }
  void acknowledged(std::uint32_t psn, std::uint8_t credit, TimePoint now) override;
  bool has_unsent() const override { return requester_.has_unsent(); }
  bool awaits_answers() const override { return requester_.awaits_answers(); }

  std::uint32_t send_psn() const override { return requester_.send_psn(); }
  std::uint32_t receive_psn() const override { return responder_.expected_psn(); }
  bool drained() const override { return mode_ == Mode::draining && requester_.drained(); }

  const char* broken_invariant() const override;

  /// Bytes allocated besides the object itself.
  std::size_t heap_bytes() const { return requester_.queue().heap_bytes() + responder_.heap_bytes(); }

 protected:
  void leave_path() override { requester_.leave_path(); }
  void enter_path() override { requester_.enter_path(); }
  RcResponder& responder() { return responder_; }

 private:
  /// When an ACK leaves: at once, behind a request if there is one, or only behind one.
  enum class AckTurn : std::uint8_t { first, second, held };

  Transmit pick(TxPacket& packet, TimePoint now);
  Transmit request(TxPacket& packet, TimePoint now);
  void check_failure();

  EndpointContext context_;
  RcRequester requester_;
  RcResponder responder_;
  AckTurn ack_turn_ = AckTurn::first;
  bool requester_first_ = false;  ///< takes turns with the responder while that streams READ responses
};

}  // namespace softrnic::ib
