#include "fabric/engine.h"

#include <algorithm>
#include <utility>

namespace softrnic::fabric {

void Engine::advance(TimePoint now, std::uint32_t steps) {
  if (std::exchange(running_, true)) return;
  for (; steps > 0; --steps) {
    if (EnginePort* const port = next_ready()) {
      serve(*port);
    } else if (!room_.empty()) {
      tell_room();
    } else if (events_.next_time() <= now) {
      const Event event = events_.pop();
      now_ = std::max(now_, event.time);
      step(event);
    } else {
      now_ = std::max(now_, now);
      break;
    }
  }
  running_ = false;
}

void Engine::step(const Event& event) {
  EnginePort& port = *event.port;
  switch (event.kind) {
    case EventKind::arrival:
      --port.peer->under_way;
      if (event.epoch != port.link->epoch) return pool_.release(event.packet);
      return arrive(port, event.packet);
    case EventKind::flow_control_arrival:
      --port.peer->under_way;
      if (event.epoch == port.link->epoch) hear_flow_control(port, event.flow_control);
      return;
    case EventKind::idle:
      port.wakes_when_idle = false;
      return mark_ready(port);
    case EventKind::flow_control_refresh:
      port.refreshes_flow_control = false;
      port.owed_flow_control |= std::exchange(port.unheard_flow_control, VlMask{0});
      return mark_ready(port);
    case EventKind::lifetimes:
      if (event.time == port.lifetime_look) drop_expired(port);
      return;
  }
}

// Ports take turns, a packet each, so that a packet of one does not wait for all of another's.
void Engine::mark_ready(EnginePort& port) {
  if (std::exchange(port.in_ready_list, true)) return;
  port.next_ready = nullptr;
  (first_ready_ == nullptr ? first_ready_ : last_ready_->next_ready) = &port;
  last_ready_ = &port;
}

EnginePort* Engine::next_ready() {
  EnginePort* const port = first_ready_;
  if (port == nullptr) return nullptr;
  first_ready_ = port->next_ready;
  port->in_ready_list = false;
  return port;
}

void Engine::serve(EnginePort& port) {
  if (now_ < port.busy_until) {
    if (std::exchange(port.wakes_when_idle, true)) return;
    return events_.push({.time = port.busy_until, .port = &port, .kind = EventKind::idle});
  }
  if (port.owed_flow_control != 0) send_flow_control(port);
  const std::optional<std::uint8_t> vl = port.choose_vl();
  if (!vl) return;
  port.is_external() ? transmit(port, *vl) : deliver(port, *vl);
  if (port.ready != 0) mark_ready(port);
}

Expected<void, SendError> Engine::send(PortId via, Bytes bytes) {
  EnginePort* const port = find(via);
  if (port == nullptr || port->external != nullptr || port->is_remote())
    return Unexpected{SendError::unknown_port};
  auto fields = read_packet(bytes);
  if (!fields) return Unexpected{SendError::malformed};
  const bool is_switch = nodes_[port->node.value].is_switch();
  if (port->is_external()) {
    const Passage passage = passage_of(port->state);
    const bool passes = fields->is_management() ? passage.sends_management : passage.sends_data;
    if (!passes) return Unexpected{SendError::port_down};
    if (is_switch) fields->way_out = port->number;
  }
  if (!fields->is_management()) {
    const std::optional<std::uint8_t> vl = port->map_vl(0, fields->sl);
    if (!vl) return Unexpected{SendError::no_vl};
    fields->vl = *vl;
  }
  EnginePort& internal = port->is_external() ? *port->internal : *port;
  InputBuffer& buffer = internal.in[fields->vl];
  if (fields->blocks > buffer.size) return Unexpected{SendError::malformed};
  if (!buffer.fits(fields->blocks)) {
    internal.refused |= vl_bit(fields->vl);
    return Unexpected{SendError::no_room};
  }
  Packet* const packet = pool_.make(*fields, bytes);
  if (packet == nullptr) return Unexpected{SendError::no_memory};
  enqueue(buffer, packet);
  return {};
}

void Engine::resume(PortId id) {
  EnginePort* const port = find(id);
  if (port == nullptr || port->internal == nullptr) return;
  port->internal->held = false;
  mark_ready(*port->internal);
}

// Only from advance(): who is told sends at once, and what sends is in the middle of something elsewhere.
void Engine::tell_room() {
  for (const EnginePort* const internal : std::exchange(room_, {})) {
    const PortId port = internal->external != nullptr ? internal->external->id : internal->id;
    if (surroundings_.management != nullptr) surroundings_.management->on_room(port);
    if (surroundings_.hosts != nullptr && internal->external != nullptr) surroundings_.hosts->on_room(port);
  }
}

EnginePort* Engine::find(PortId id) { return id.value < ports_.size() ? &ports_[id.value] : nullptr; }

const EnginePort* Engine::port(PortId id) const {
  return id.value < ports_.size() ? &ports_[id.value] : nullptr;
}

const EnginePort* Engine::port(NodeId id, std::uint8_t number) const {
  const EngineNode* const owner = node(id);
  return owner == nullptr ? nullptr : owner->port(number);
}

const EngineNode* Engine::node(NodeId id) const {
  return id.value < nodes_.size() ? &nodes_[id.value] : nullptr;
}

const Link* Engine::link(LinkId id) const { return id.value < links_.size() ? &links_[id.value] : nullptr; }

}  // namespace softrnic::fabric
