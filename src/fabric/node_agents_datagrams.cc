// NodeAgents: datagrams that come to a node, begin there or end there.
#include <algorithm>

#include "fabric/engine.h"
#include "fabric/node_agents.h"
#include "fabric/trap_notices.h"
#include "mad/port_info.h"
#include "mad/sm_info.h"

namespace softrnic::fabric {
namespace {

constexpr std::uint8_t kResponseBit = 0x80;

bool is_response(mad::Method method) { return (static_cast<std::uint8_t>(method) & kResponseBit) != 0; }

// Agents get requests, managers their answers and what ports report (IBTA 14.2.3).
bool is_for_manager(const ManagedPort& endport, const mad::Smp& smp) {
  if (is_response(smp.method) || smp.method == mad::Method::trap) return true;
  const bool has_manager = (endport.info.capability_mask & mad::port_capability::kIsSm) != 0;
  return has_manager && smp.attribute == mad::SmInfo::kAttribute;
}

}  // namespace

bool NodeAgents::on_packet(PortId port, const Packet& packet) {
  const Place place = find(port);
  if (!place) return false;
  const auto datagram = read_datagram(packet.bytes());
  if (!datagram) return true;
  const bool is_smp = datagram->destination == kSmiQpn;
  if (is_smp != packet.is_management()) return true;  // VL15 is for QP0, and QP0 for VL15 (IBTA 3.5.6.2)
  if (is_smp) return take_smp(place, *datagram);
  return datagram->destination != kGsiQpn || take_general(place, *datagram);
}

SmpPlace NodeAgents::place_of(Place place, SmpArrival arrival) const {
  const bool is_switch = place.node->is_switch();
  return {.is_switch = is_switch,
          .num_ports = place.node->info.num_ports,
          .port = place.port->number,
          .arrival = arrival};
}

bool NodeAgents::take_smp(Place place, const Datagram& datagram) {
  Smp smp = mad::decode<Smp>(datagram.mad);
  const bool is_permissive = datagram.dlid.is_permissive();
  if (!is_permissive && !place.endport().owns(datagram.dlid)) return true;
  if (smp.management_class == mad::ManagementClass::subnet_lid_routed) return deliver(place, smp, datagram);
  if (smp.management_class != mad::ManagementClass::subnet_directed_route) return true;
  const SmpArrival arrival = is_permissive ? SmpArrival::by_permissive : SmpArrival::by_lid;
  const SmpDecision decision = route_directed_smp(smp, place_of(place, arrival));
  return carry_out(decision, place, smp, datagram);
}

bool NodeAgents::carry_out(const SmpDecision& decision, Place place, const Smp& smp, const Datagram& came) {
  Datagram onward = came;
  onward.mad = mad::encoded(smp);
  onward.source = onward.destination = kSmiQpn;
  onward.q_key = 0;
  switch (decision.action) {
    case SmpAction::drop:
      return true;
    case SmpAction::deliver:
      return deliver(place, smp, came);
    case SmpAction::finish:
      return hand_over(place, onward);
    case SmpAction::transmit: {
      onward.slid = onward.dlid = wire::kPermissiveLid;
      const ManagedPort* const port = place.node->port(decision.port);
      if (port != nullptr) transmit(port->id, onward);
      return true;
    }
    case SmpAction::forward:
      onward.slid = place.endport().info.lid;
      onward.dlid = decision.lid;
      transmit(place.endport().id, onward);
      return true;
  }
  return true;
}

bool NodeAgents::deliver(Place place, Smp smp, const Datagram& came) {
  if (is_for_manager(place.endport(), smp)) {
    Datagram shown = came;
    shown.mad = mad::encoded(smp);
    return hand_over(place, shown);
  }
  const Place endport{place.node, &place.endport()};
  switch (sma_.answer(*place.node, place.port->number, smp, now())) {
    case SmaOutcome::answered:
      answer(place, smp, came);
      break;
    case SmaOutcome::nothing_to_say:
      break;
    case SmaOutcome::bad_m_key:
      raise(*endport.port, bad_m_key_notice(*place.node, *endport.port, smp, came.slid));
      break;
    case SmaOutcome::trap_repressed:
      repress_trap(endport, smp.transaction);
      break;
  }
  schedule(endport);
  return true;
}

// An answer goes back as the request came: its last part first.
void NodeAgents::answer(Place place, Smp& smp, const Datagram& asked) {
  Datagram reply = answer_to(asked, place.endport().info.lid);
  smp.returning = smp.is_directed();
  if (smp.is_directed() && smp.dr_dlid.is_permissive()) {
    const SmpDecision decision = route_directed_smp(smp, place_of(place, SmpArrival::here));
    carry_out(decision, place, smp, reply);
    return;
  }
  if (asked.dlid.is_permissive()) {
    // A packet to the permissive LID without a route came from the other end of the cable.
    reply.slid = reply.dlid = wire::kPermissiveLid;
    reply.mad = mad::encoded(smp);
    transmit(place.port->id, reply);
    return;
  }
  reply.mad = mad::encoded(smp);
  transmit(place.endport().id, reply);
}

bool NodeAgents::take_general(Place place, const Datagram& datagram) {
  if (!place.endport().owns(datagram.dlid) || !has_keys(place, datagram)) return true;
  const auto header = mad::parse_header(datagram.mad);
  if (!header) return true;
  if (header->management_class != mad::ManagementClass::performance || is_response(header->method)) {
    return hand_over(place, datagram);
  }
  const ManagedPort& endport = place.endport();
  Datagram reply = answer_to(datagram, endport.info.lid);
  reply.p_key = endport.p_keys[endport.p_key_index_of(datagram.p_key)];
  reply.mad = datagram.mad;
  if (pma_.answer(*place.node, place.port->number, reply.mad, now())) {
    transmit(place.endport().id, reply);
  }
  schedule({place.node, &place.endport()});
  return true;
}

bool NodeAgents::has_keys(Place place, const Datagram& datagram) {
  const bool bad_p_key = !place.endport().admits(datagram.p_key);
  if (!bad_p_key && datagram.q_key == kGsiQkey) return true;
  mad::BadKeyDetails details;
  details.lid1 = datagram.slid;
  details.lid2 = datagram.dlid;
  details.key = bad_p_key ? datagram.p_key : datagram.q_key;
  details.sl = datagram.sl;
  details.qp1 = datagram.source;
  details.qp2 = datagram.destination;
  if (datagram.grh) {
    details.gid1 = datagram.grh->sgid;
    details.gid2 = datagram.grh->dgid;
  }
  ++place.port->qp1_dropped;
  const Place endport{place.node, &place.endport()};
  note_bad_key(endport, bad_p_key ? mad::Trap::bad_p_key : mad::Trap::bad_q_key, details);
  return false;
}

// What a switch's agents do not know nobody there does.
bool NodeAgents::hand_over(Place place, const Datagram& datagram) {
  const bool taken = endports_ != nullptr && endports_->on_datagram(place.endport().id, datagram);
  return taken || place.node->is_switch();
}

bool NodeAgents::send(PortId endport, Datagram datagram) {
  const Place place = find_endport(endport);
  if (!place) return false;
  const bool is_smp = datagram.destination == kSmiQpn;
  Smp smp = mad::decode<Smp>(datagram.mad);
  if (is_smp && smp.is_directed()) {
    const wire::Lid first = smp.returning ? smp.dr_dlid : smp.dr_slid;
    if (first.is_permissive()) {
      datagram.slid = datagram.dlid = wire::kPermissiveLid;
      return carry_out(route_directed_smp(smp, place_of(place, SmpArrival::here)), place, smp, datagram);
    }
  }
  if (datagram.slid.is_reserved()) datagram.slid = place.port->info.lid;
  return transmit(endport, datagram);
}

}  // namespace softrnic::fabric
