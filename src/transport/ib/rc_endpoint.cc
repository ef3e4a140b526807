#include "transport/ib/rc_endpoint.h"

namespace softrnic::ib {

RcEndpoint::RcEndpoint(Qpn local, const Capacity& capacity, Host& host)
    : EndpointBase(local, host, wire::Service::rc),
      seam_{host_, attributes_, window_},
      requester_(seam_, capacity),
      responder_(seam_) {}

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
  requester_.flush();
  responder_.flush();
}

void RcEndpoint::reset() {
  set_mode(Mode::idle);
  requester_.reset();
  responder_.reset();
}

void RcEndpoint::receive(const RxPacket& packet, TimePoint now) {
  if (!admit(packet)) return;
  if (packet.packet.info->request) {
    responder_.receive(packet.packet);
  } else {
    requester_.receive(packet.packet, now);
  }
  check_failure();
}

Transmit RcEndpoint::transmit(TxPacket& packet, TimePoint now) {
  // Answers go first, as the peer waits for them; a stream of READ responses shares the way with our own
  // requests.
  const bool answers_first = !(requester_first_ && responder_.streaming());
  requester_first_ = false;
  if (answers_first && responder_.transmit(packet)) {
    requester_first_ = true;
    check_failure();
    return out(packet);
  }
  Transmit result = Transmit::idle;
  if (may_send()) result = requester_.transmit(packet, now);
  check_failure();
  if (mode_ == Mode::error && outstanding_sends() > 0) requester_.flush();  // posted since
  if (result == Transmit::packet) return out(packet);
  if (!answers_first && responder_.transmit(packet)) return out(packet);
  check_failure();
  return result;
}

void RcEndpoint::expire(TimePoint now) {
  requester_.expire(now);
  check_failure();
}

// Either half may have found what ends the connection: the QP goes to the error state as a whole
// (IBTA 10.3.1).
void RcEndpoint::check_failure() {
  if (mode_ == Mode::error || !(requester_.failed() || responder_.failed())) return;
  flush();
  if (auto event = responder_.failure_event()) host_.event(*event);
}

}  // namespace softrnic::ib
