#include "fabric/subnet_management_interface.h"

namespace softrnic::fabric {
namespace {

constexpr SmpDecision kDrop{};

// Only a switch passes on what others send; an adapter sends its own by the port it was given.
SmpDecision transmit(const SmpPlace& place, std::uint8_t port) {
  const bool exists = port >= 1 && port <= place.num_ports;
  if (!exists || (!place.is_switch && port != place.port)) return kDrop;
  return {.action = SmpAction::transmit, .port = port};
}

// At the end of the part that goes port by port; `lid` is where the next part goes to.
SmpDecision leave_route(const SmpPlace& place, wire::Lid lid, SmpAction at_end) {
  if (lid.is_permissive()) return {.action = at_end};
  const bool may_forward = place.is_switch || place.arrival == SmpArrival::here;
  if (!lid.is_unicast() || !may_forward) return kDrop;
  return {.action = SmpAction::forward, .lid = lid};
}

// C14-9, by the cases of hop pointer and hop count.
SmpDecision route_outgoing(mad::Smp& smp, const SmpPlace& place) {
  const bool from_neighbor = place.arrival == SmpArrival::by_permissive;
  if (smp.hop_pointer == 0 && smp.hop_count > 0) {
    const bool begins =
        place.arrival == SmpArrival::here || (place.arrival == SmpArrival::by_lid && place.is_switch);
    if (!begins) return kDrop;
    smp.hop_pointer = 1;
    return transmit(place, smp.initial_path[1]);
  }
  if (smp.hop_pointer == smp.hop_count) {
    if (from_neighbor != (smp.hop_count > 0)) return kDrop;
    if (from_neighbor) smp.return_path[smp.hop_pointer] = place.port;
    ++smp.hop_pointer;
    return leave_route(place, smp.dr_dlid, SmpAction::deliver);
  }
  if (smp.hop_pointer < smp.hop_count) {
    if (!from_neighbor || !place.is_switch) return kDrop;
    smp.return_path[smp.hop_pointer] = place.port;
    ++smp.hop_pointer;
    return transmit(place, smp.initial_path[smp.hop_pointer]);
  }
  const bool arrived = smp.hop_pointer == smp.hop_count + 1 && place.arrival == SmpArrival::by_lid;
  return arrived ? SmpDecision{.action = SmpAction::deliver} : kDrop;
}

// C14-13, likewise.
SmpDecision route_returning(mad::Smp& smp, const SmpPlace& place) {
  const bool from_neighbor = place.arrival == SmpArrival::by_permissive;
  if (smp.hop_pointer == smp.hop_count + 1 && smp.hop_count > 0) {
    const bool begins =
        place.arrival == SmpArrival::here || (place.arrival == SmpArrival::by_lid && place.is_switch);
    if (!begins) return kDrop;
    --smp.hop_pointer;
    return transmit(place, smp.return_path[smp.hop_pointer]);
  }
  if (smp.hop_pointer == 1) {
    if (from_neighbor != (smp.hop_count > 0)) return kDrop;
    smp.hop_pointer = 0;
    return leave_route(place, smp.dr_slid, SmpAction::finish);
  }
  if (smp.hop_pointer >= 2 && smp.hop_pointer <= smp.hop_count) {
    if (!from_neighbor || !place.is_switch) return kDrop;
    --smp.hop_pointer;
    return transmit(place, smp.return_path[smp.hop_pointer]);
  }
  const bool arrived = smp.hop_pointer == 0 && place.arrival == SmpArrival::by_lid;
  return arrived ? SmpDecision{.action = SmpAction::finish} : kDrop;
}

}  // namespace

SmpDecision route_directed_smp(mad::Smp& smp, const SmpPlace& place) {
  if (smp.hop_count > mad::kMaxHops) return kDrop;
  return smp.returning ? route_returning(smp, place) : route_outgoing(smp, place);
}

}  // namespace softrnic::fabric
