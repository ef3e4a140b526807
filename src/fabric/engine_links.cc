// Engine: links that come and go, and the states of their ports (IBTA 7.2).
#include <utility>

#include "fabric/engine.h"

namespace softrnic::fabric {
namespace {

constexpr VlMask kAllDataVls = vl_bit(kManagementVl) - 1;

}  // namespace

bool Engine::set_connected(LinkId id, bool connected) {
  if (id.value >= links_.size()) return false;
  links_[id.value].connected = connected;
  update_link(links_[id.value]);
  return true;
}

bool Engine::set_enabled(PortId id, bool enabled) {
  EnginePort* const port = find(id);
  if (port == nullptr || port->kind == PortKind::internal) return false;
  port->enabled = enabled;
  if (port->link != nullptr) update_link(*port->link);
  return true;
}

bool Engine::set_rate(LinkId id, const Rate& rate) {
  if (id.value >= links_.size()) return false;
  links_[id.value].rate = rate;
  return true;
}

bool Engine::set_faults(LinkId id, const LinkFaults& faults) {
  if (id.value >= links_.size()) return false;
  links_[id.value].faults = faults;
  return true;
}

bool Engine::set_state(PortId id, PortState state) {
  EnginePort* const port = find(id);
  if (port == nullptr || port->link == nullptr || !port->link->up) return false;
  if (state == PortState::down) {
    take_down(*port->link);
    update_link(*port->link);
    return true;
  }
  const bool follows = (state == PortState::armed && port->state == PortState::initialize) ||
                       (state == PortState::active && port->state == PortState::armed);
  if (!follows) return state == port->state && state != PortState::initialize;
  enter(*port, state);
  return true;
}

void Engine::update_link(Link& link) {
  const bool up = link.connected && link.ends[0]->enabled && link.ends[1]->enabled;
  if (up != link.up) return up ? bring_up(link) : take_down(link);
  // Its near end may be ready now, or not any more.
  EnginePort& far = *link.ends[1];
  if (far.is_remote() && surroundings_.remotes != nullptr) surroundings_.remotes->on_link(far.id);
}

bool Link::is_near_end_ready() const { return connected && ends[0]->enabled; }

// What lies in the buffers stays there: the first flow control packets tell what is free.
void Engine::bring_up(Link& link) {
  link.up = true;
  ++link.epoch;
  for (EnginePort* const port : link.ends) {
    for (OutputVl& vl : port->out) vl.credit.reset();
    for (InputBuffer& buffer : port->in) buffer.credit.reset();
    if (port->is_remote()) continue;
    port->busy_until = now_;
    port->unheard_flow_control = 0;
    port->owed_flow_control = kAllDataVls;
    mark_ready(*port);
  }
  for (EnginePort* const port : link.ends) enter(*port, PortState::initialize);
}

void Engine::take_down(Link& link) {
  link.up = false;
  ++link.epoch;
  for (EnginePort* const port : link.ends) {
    ++port->counters.link_downed;
    if (port->is_remote()) port->enabled = false;  // until its keeper and the far end agree anew
    port->owed_flow_control = 0;
    for (OutputVl& vl : port->out) {
      vl.drops_in_row = 0;
      vl.stalled_until = {};
    }
  }
  for (EnginePort* const port : link.ends) enter(*port, PortState::down);
}

void Engine::enter(EnginePort& port, PortState state) {
  port.state = state;
  if (port.is_remote()) {
    if (surroundings_.remotes != nullptr) surroundings_.remotes->on_link(port.id);
    return;
  }
  drop_bids_that_may_not_leave(port);
  if (surroundings_.management != nullptr) surroundings_.management->on_state(port.id, state);
}

void Engine::drop_bids_that_may_not_leave(EnginePort& port) {
  const Passage passage = passage_of(port.state);
  for (std::uint8_t vl = 0; vl < kVls; ++vl) {
    const bool may = vl == kManagementVl ? passage.sends_management
                                         : passage.sends_data && (port.operational & vl_bit(vl)) != 0;
    while (!may && !port.out[vl].bids.empty()) {
      ++port.counters.inactive_discards;
      Bid* const bid = port.out[vl].bids.front();
      unqueue(bid);
      drop(bid);
    }
  }
}

}  // namespace softrnic::fabric
