#include "transport/ib/rc_endpoint.h"

#include "base/reason_id.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::ib {

RcEndpoint::RcEndpoint(Qpn local, const Capacity& capacity, Host& host, wire::Service service)
    : EndpointBase(local, host, service),
      context_{host_, attributes_, window_, service},
      requester_(context_, capacity),
      responder_(context_) {}

void RcEndpoint::start_responder(const Attributes& attributes) {
  attributes_ = attributes;
  responder_.start();
  set_mode(Mode::receiving);
}

void RcEndpoint::start_requester(const Attributes& attributes) {
  attributes_ = attributes;
  requester_.start();
  set_mode(Mode::sending);
}

void RcEndpoint::drain() {
  set_mode(Mode::draining);
  requester_.drain();
}

void RcEndpoint::resume() {
  set_mode(Mode::sending);
  requester_.resume();
}

void RcEndpoint::flush() {
  set_mode(Mode::error);
  ack_turn_ = AckTurn::first;
  requester_.flush();
  responder_.flush();
}

void RcEndpoint::reset() {
  set_mode(Mode::idle);
  ack_turn_ = AckTurn::first;
  requester_.reset();
  responder_.reset();
}

void RcEndpoint::receive(const RxPacket& packet, TimePoint now) {
  if (!admit(packet)) return;
  if (packet.packet.info->request) {
    responder_.receive(packet, now);
  } else {
    requester_.receive(packet, now);
  }
  check_failure();
}

Transmit RcEndpoint::transmit(TxPacket& packet, TimePoint now) {
  const Transmit result = pick(packet, now);
  check_failure();
  if (mode_ == Mode::error && outstanding_sends() > 0) requester_.flush();  // posted since
  return result == Transmit::packet ? out(packet) : result;
}

Transmit RcEndpoint::request(TxPacket& packet, TimePoint now) {
  return may_send() ? requester_.transmit(packet, now) : Transmit::idle;
}

// Answers go first, as the peer waits for them, but for an ACK that was held; a stream of READ responses
// takes turns with our own requests.
Transmit RcEndpoint::pick(TxPacket& packet, TimePoint now) {
  if (ack_turn_ != AckTurn::first && responder_.owes_ack_alone()) {
    const Transmit result = request(packet, now);
    const bool went = result == Transmit::packet || result == Transmit::direct;
    if (!went && ack_turn_ == AckTurn::held) return result;
    if (result != Transmit::direct) ack_turn_ = AckTurn::first;
    if (went) return result;
  }
  const bool requester_first = requester_first_ && responder_.streaming();
  requester_first_ = !requester_first;
  Transmit answer = requester_first ? Transmit::idle : responder_.transmit(packet);
  if (answer == Transmit::packet) return answer;
  const Transmit result = request(packet, now);
  if (result == Transmit::packet) return result;
  if (requester_first) answer = responder_.transmit(packet);
  return answer == Transmit::packet || result == Transmit::idle ? answer : result;
}

void RcEndpoint::expire(TimePoint now) {
  if (requester_.expire(now)) {  // IBTA 17.2.8: one more try, by the other path
    const wire::Gid& from = attributes_.path.destination;
    const wire::Gid& to = attributes_.alternate.path.destination;
    host_.explain(
        because(ReasonId::path_migrated, from.high_half(), from.low_half(), to.high_half(), to.low_half()),
        nullptr);
    migrate();
  }
  responder_.expire(now);
  check_failure();
}

// Either half may have found what ends the connection: the QP goes to the error state as a whole
// (IBTA 10.3.1).
void RcEndpoint::check_failure() {
  if (mode_ == Mode::error || !(requester_.failed() || responder_.failed())) return;
  flush();
  if (auto event = responder_.failure_event()) host_.event(*event);
}

const char* RcEndpoint::broken_invariant() const {
  if (requester_.failed() && mode_ != Mode::error) return "the requester has failed and the QP goes on";
  if (const char* broken = requester_.broken_invariant()) return broken;
  if (const char* broken = responder_.broken_invariant()) return broken;
  return EndpointBase::broken_invariant();
}

}  // namespace softrnic::ib
