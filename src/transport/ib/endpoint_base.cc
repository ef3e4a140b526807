#include "transport/ib/endpoint_base.h"

#include "base/reason_id.h"
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
  if (mode == Mode::idle) {
    established_ = false;
    migration_.reset();
  }
  settle();
}

void EndpointBase::update(const Attributes& attributes) {
  attributes_ = attributes;
  migration_.set();
  settle();
}

void EndpointBase::settle() { settled_ = established_ && !migration_.listens(); }

void EndpointBase::migrate() {
  leave_path();
  attributes_.migrate();
  migration_.gone();
  window_ = host_.migrated();
  enter_path();
  settle();
  host_.event(QpEvent::path_migrated);
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
  if (packet.source != attributes_.path.destination && !admit_from_elsewhere(packet)) return false;
  if (!settled_) look_closely(packet);
  return true;
}

// IBTA 9.6.1, and annex A17 for RoCEv2; but a peer that has migrated is where the alternate path leads.
bool EndpointBase::admit_from_elsewhere(const RxPacket& packet) {
  const PathNews news = migration_.hear(packet);
  act_on(news, packet);
  if (news == PathNews::migrated) return true;
  if (migration_.left(packet) && migration_.awaits_peer()) return true;
  if (news == PathNews::refused || migration_.left(packet)) {
    host_.count(Counter::drop_source);
    return false;
  }
  return refuse(Counter::drop_source, because(ReasonId::drop_wrong_source, attributes_.remote.value,
                                              packet.source.high_half(), packet.source.low_half()));
}

void EndpointBase::look_closely(const RxPacket& packet) {
  if (!established_) {
    established_ = true;
    if (mode_ == Mode::receiving) host_.event(QpEvent::communication_established);
  }
  act_on(migration_.hear(packet), packet);
  settle();
}

void EndpointBase::act_on(PathNews news, const RxPacket& packet) {
  const wire::Gid& alternate = attributes_.alternate.path.destination;
  switch (news) {
    case PathNews::none:
      return;
    case PathNews::armed:
      return host_.armed();
    case PathNews::migrated:
      host_.explain(because(ReasonId::path_followed, alternate.high_half(), alternate.low_half()), nullptr);
      return migrate();
    case PathNews::refused:
      host_.explain(because(ReasonId::migration_refused, packet.source.high_half(), packet.source.low_half(),
                            alternate.high_half(), alternate.low_half()),
                    nullptr);
      return host_.event(QpEvent::path_migration_error);
  }
}

// The first packet of a connection may raise an event, which is left to admit().
bool EndpointBase::admits(const EagerSend& eager, const wire::Gid& source) const {
  return settled_ && mode_ != Mode::idle && mode_ != Mode::error &&
         pkeys_match(eager.pkey, attributes_.pkey) && source == attributes_.path.destination;
}

Transmit EndpointBase::out(const TxPacket& packet) {
  host_.count(Counter::tx_packets, packet.packets);
  host_.count(Counter::tx_bytes, packet.payload_bytes);
  return Transmit::packet;
}

}  // namespace softrnic::ib
