#include "transport/ib/endpoint_base.h"

#include "transport/ib/rx_packet.h"

namespace softrnic::ib {
namespace {

// IBTA 10.9.1.2: the numbers agree in 15 bits and at least one side is a full member.
bool pkeys_match(std::uint16_t a, std::uint16_t b) {
  return ((a ^ b) & 0x7fff) == 0 && ((a | b) & 0x8000) != 0;
}

// A local peer may write into its ring what it likes; the PSNs of what has one packet alone count one.
bool claims_too_much(const RxPacket& rx) { return rx.packets != 1 && !wire::joinable(*rx.packet.info); }

}  // namespace

void EndpointBase::set_mode(Mode mode) {
  mode_ = mode;
  told_not_ready_ = false;
  if (mode == Mode::idle) established_ = false;
}

bool EndpointBase::refuse(Counter counter, const Reason& reason) {
  host_.count(counter);
  host_.explain(reason, nullptr);
  return false;
}

// A peer may keep on sending to a QP that is not ready or has failed: that is explained once. Which of the
// verbs' states it is in, only the host knows (see Host::explain).
bool EndpointBase::admit_state(const RxPacket& packet) {
  if (mode_ != Mode::idle && mode_ != Mode::error) return true;
  host_.count(Counter::drop_not_ready);
  if (!told_not_ready_) {
    told_not_ready_ = true;
    const wire::Bth& bth = packet.packet.headers.bth;
    host_.explain(because(ReasonId::drop_qp_not_ready, 0, bth.opcode, bth.psn), nullptr);
  }
  return false;
}

bool EndpointBase::admit_pkey(std::uint16_t pkey) {
  if (pkeys_match(pkey, attributes_.pkey)) return true;
  return refuse(Counter::drop_pkey, because(ReasonId::drop_pkey_mismatch, pkey, attributes_.pkey));
}

bool EndpointBase::is_for_us(const RxPacket& rx) const {
  return mode_ != Mode::idle && mode_ != Mode::error && !claims_too_much(rx) &&
         rx.packet.info->service == service_ && pkeys_match(rx.packet.headers.bth.pkey, attributes_.pkey) &&
         (service_ == wire::Service::ud || rx.source == attributes_.path.destination);
}

bool EndpointBase::admit(const RxPacket& packet) {
  host_.count(Counter::rx_packets, packet.packets);
  host_.count(Counter::rx_bytes, packet.payload_bytes());
  if (claims_too_much(packet)) {
    return refuse(Counter::drop_malformed,
                  because(ReasonId::drop_not_joinable, packet.packet.info->opcode, packet.packets));
  }
  if (!admit_state(packet)) return false;
  if (packet.packet.info->service != service_) {
    return refuse(Counter::drop_service, because(ReasonId::drop_wrong_service, packet.packet.info->opcode));
  }
  if (!admit_pkey(packet.packet.headers.bth.pkey)) return false;
  if (service_ == wire::Service::ud) return true;
  if (packet.source != attributes_.path.destination) {  // IBTA 9.6.1, and annex A17 for RoCEv2
    return refuse(Counter::drop_source, because(ReasonId::drop_wrong_source, attributes_.remote.value,
                                                packet.source.high_half(), packet.source.low_half()));
  }
  if (!established_) {
    established_ = true;
    if (mode_ == Mode::receiving) host_.event(QpEvent::communication_established);
  }
  return true;
}

// The first packet of a connection may raise an event, which is left to admit().
bool EndpointBase::admits(const EagerSend& eager, const wire::Gid& source) const {
  return established_ && mode_ != Mode::idle && mode_ != Mode::error &&
         pkeys_match(eager.pkey, attributes_.pkey) && source == attributes_.path.destination;
}

Transmit EndpointBase::out(const TxPacket& packet) {
  host_.count(Counter::tx_packets, packet.packets);
  host_.count(Counter::tx_bytes, packet.payload_bytes);
  return Transmit::packet;
}

}  // namespace softrnic::ib
