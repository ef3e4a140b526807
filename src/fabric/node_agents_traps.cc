// NodeAgents: traps, and what hosts hear of their ports.
#include "fabric/engine.h"
#include "fabric/node_agents.h"
#include "fabric/trap_notices.h"
#include "mad/time_code.h"

namespace softrnic::fabric {
namespace {

/// SubnetTimeOut is the least between two traps (IBTA 14.2.5.6). One of some microseconds, which anybody may
/// set where there is no M_Key, would keep the fabric busy with them until somebody hears them.
constexpr Duration kLeastTrapInterval = std::chrono::milliseconds(1);

constexpr std::uint16_t kFullCount = 0xffff;
/// DataValid of trap 259: bits 0 – 3 and 5, which are LIDADDR1, LIDADDR2, P_KEY, SL and QP2.
constexpr std::uint16_t kKnownOfBadPKey = 0x002f;

bool has_manager(const ManagedPort& endport) {
  return endport.info.master_sm_lid.is_unicast() && endport.info.lid.is_unicast();
}

// The way to it is open, too (o14-3.2.1).
bool can_send_traps(const ManagedPort& endport) {
  return has_manager(endport) && endport.info.port_state == mad::PortState::active;
}

mad::Smp make_trap(const PendingTrap& trap) {
  mad::Smp smp;
  smp.method = mad::Method::trap;
  smp.attribute = mad::Notice::kAttribute;
  smp.transaction = trap.transaction;
  mad::encode(trap.notice, smp.data);  // the M_Key stays 0 (o14-1)
  return smp;
}

}  // namespace

// A manager that comes for the first time looks at everything anyway.
void NodeAgents::raise(ManagedPort& endport, const mad::Notice& notice) {
  const Place place = find_endport(endport.id);
  if (!place || !has_manager(endport)) return;
  TrapState& state = traps_[endport.id.value];
  if (state.queue.push(notice, state.next_transaction)) ++state.next_transaction;
  schedule(place);
}

// Not where the trap arises: that may be deep in what the engine does.
void NodeAgents::send_traps(Place place) {
  const auto state = traps_.find(place.port->id.value);
  if (state == traps_.end() || !can_send_traps(*place.port)) return;
  const mad::PortInfo& info = place.port->info;
  const Duration interval = std::max(mad::time_of(info.subnet_timeout), kLeastTrapInterval);
  auto trap = state->second.queue.take_due(now(), interval);
  if (!trap) return;
  trap->notice.issuer_lid = info.lid;
  Datagram datagram;
  datagram.slid = info.lid;
  datagram.dlid = info.master_sm_lid;
  datagram.sl = info.master_sm_sl;
  datagram.source = datagram.destination = kSmiQpn;
  datagram.mad = mad::encoded(make_trap(*trap));
  transmit(place.port->id, datagram);
}

void NodeAgents::schedule(Place place) {
  const std::uint32_t id = place.port->id.value;
  TimePoint deadline = pma_.next_deadline(*place.port);
  if (const auto state = traps_.find(id); state != traps_.end() && can_send_traps(*place.port)) {
    deadline = std::min(deadline, state->second.queue.next_deadline());
  }
  if (const auto found = deadline_of_.find(id); found != deadline_of_.end()) {
    if (found->second == deadline) return;
    deadlines_.erase({found->second, id});
    deadline_of_.erase(found);
  }
  if (deadline == kNever) return;
  deadlines_.emplace(deadline, id);
  deadline_of_.emplace(id, deadline);
}

bool NodeAgents::report_bad_p_key(PortId endport, const mad::BadKeyDetails& details) {
  const Place place = find_endport(endport);
  if (place) note_bad_key(place, mad::Trap::bad_p_key, details);
  return static_cast<bool>(place);
}

bool NodeAgents::report_bad_q_key(PortId endport, const mad::BadKeyDetails& details) {
  const Place place = find_endport(endport);
  if (place) note_bad_key(place, mad::Trap::bad_q_key, details);
  return static_cast<bool>(place);
}

void NodeAgents::note_bad_key(Place place, mad::Trap trap, const mad::BadKeyDetails& details) {
  mad::PortInfo& info = place.port->info;
  std::uint16_t& count = trap == mad::Trap::bad_p_key ? info.p_key_violations : info.q_key_violations;
  if (count != kFullCount) ++count;
  raise(*place.port, bad_key_notice(*place.node, *place.port, trap, details));
}

void NodeAgents::on_event(ManagedNode&, ManagedPort& endport, PortEvent event) {
  if (endports_ != nullptr) endports_->on_event(endport.id, event);
}

void NodeAgents::on_local_changes(ManagedNode& node, ManagedPort& endport,
                                  const mad::LocalChangesDetails& changes) {
  raise(endport, local_changes_notice(node, endport, changes));
}

void NodeAgents::repress_trap(Place endport, std::uint64_t transaction) {
  const auto state = traps_.find(endport.port->id.value);
  if (state != traps_.end()) state->second.queue.repress(transaction);
}

// The engine is in the middle of something: the trap goes out by advance().
void NodeAgents::on_fault(PortId port, PortFault fault, const Packet* packet) {
  const Place place = find(port);
  if (!place) return;
  mad::PortInfo& info = place.port->info;
  switch (fault) {
    case PortFault::physical_error:
      if (place.port->physical_errors_of_integrity++ < info.local_phy_errors) return;
      place.port->physical_errors_of_integrity = 0;
      ++place.port->local_link_integrity_errors;
      return raise(place.endport(),
                   threshold_notice(*place.node, mad::Trap::local_link_integrity, *place.port));
    case PortFault::buffer_overrun:
      if (place.port->overruns_of_excess++ < info.overrun_errors) return;
      place.port->overruns_of_excess = 0;
      ++place.port->excessive_buffer_overrun_errors;
      return raise(place.endport(),
                   threshold_notice(*place.node, mad::Trap::excessive_buffer_overrun, *place.port));
    case PortFault::bad_p_key:
      return note_switch_bad_p_key(place, *packet);
  }
}

void NodeAgents::note_switch_bad_p_key(Place place, const Packet& packet) {
  if (!place.node->is_switch()) return;
  mad::SwitchBadPKeyDetails details;
  details.lid1 = packet.slid;
  details.lid2 = packet.dlid;
  details.p_key = packet.pkey;
  details.sl = packet.sl;
  details.qp2 = packet.destination;
  details.data_valid = kKnownOfBadPKey;
  raise(place.endport(), switch_bad_p_key_notice(*place.node, *place.port, details));
}

}  // namespace softrnic::fabric
