#include "fabric/node_agents.h"

#include "fabric/engine.h"
#include "fabric/port_state_command.h"
#include "fabric/trap_notices.h"
#include "mad/port_info.h"

namespace softrnic::fabric {

NodeAgents::NodeAgents(Engine& engine, EndportSink* endports)
    : engine_(engine), endports_(endports), outbox_(engine), sma_(engine, *this), pma_(engine) {}

bool NodeAgents::add(NodeId id, const NodeProfile& profile) {
  if (engine_.node(id) == nullptr || nodes_.contains(id.value)) return false;
  ManagedNode& node = nodes_.emplace(id.value, make_managed_node(profile, engine_, id)).first->second;
  apply(engine_, node);
  for (ManagedPort& port : node.ports) {
    const EnginePort* const link = engine_.port(id, port.number);
    if (link == nullptr || link->peer == nullptr || link->state == PortState::down) continue;
    train_link({&node, &port});
    if (const Place peer = find(link->peer->id)) train_link(peer);
  }
  return true;
}

const ManagedNode* NodeAgents::node(NodeId id) const {
  const auto found = nodes_.find(id.value);
  return found == nodes_.end() ? nullptr : &found->second;
}

const ManagedPort* NodeAgents::port(PortId id) const {
  const EnginePort* const port = engine_.port(id);
  const ManagedNode* const owner = port == nullptr ? nullptr : node(port->node);
  const ManagedPort* const managed = owner == nullptr ? nullptr : owner->port(port->number);
  return managed == nullptr || managed->id != id ? nullptr : managed;
}

NodeAgents::Place NodeAgents::find(PortId id) {
  const EnginePort* const port = engine_.port(id);
  if (port == nullptr) return {};
  const auto owner = nodes_.find(port->node.value);
  if (owner == nodes_.end()) return {};
  ManagedPort* const managed = owner->second.port(port->number);
  return managed == nullptr || managed->id != id ? Place{} : Place{&owner->second, managed};
}

NodeAgents::Place NodeAgents::find_endport(PortId id) {
  const Place place = find(id);
  return place && place.is_endport() ? place : Place{};
}

TimePoint NodeAgents::now() const { return engine_.now(); }

bool NodeAgents::transmit(PortId via, const Datagram& datagram) {
  return outbox_.send(via, DatagramPacket(datagram, psn_++));
}

void NodeAgents::on_room(PortId port) { outbox_.on_room(port); }

bool NodeAgents::set_sm(PortId endport, bool runs) {
  const Place place = find_endport(endport);
  if (!place) return false;
  std::uint32_t& mask = place.port->info.capability_mask;
  const std::uint32_t before = mask;
  mask = runs ? mask | mad::port_capability::kIsSm : mask & ~mad::port_capability::kIsSm;
  if (mask != before) raise(*place.port, local_changes_notice(*place.node, *place.port, {}));
  return true;
}

bool NodeAgents::set_description(NodeId id, std::string_view description) {
  const auto found = nodes_.find(id.value);
  if (found == nodes_.end()) return false;
  ManagedNode& node = found->second;
  node.description = mad::NodeDescription::of(description);
  mad::LocalChangesDetails changes;
  changes.other_local_changes = changes.node_description_change = true;
  for (ManagedPort& port : node.endports()) raise(port, local_changes_notice(node, port, changes));
  return true;
}

bool NodeAgents::set_system_image_guid(NodeId id, mad::Guid guid) {
  const auto found = nodes_.find(id.value);
  if (found == nodes_.end()) return false;
  ManagedNode& node = found->second;
  node.info.system_image_guid = guid;
  for (ManagedPort& port : node.endports()) raise(port, system_image_guid_notice(node, port));
  return true;
}

bool NodeAgents::limit_cable(PortId id, LinkRate most) {
  const EnginePort* const port = engine_.port(id);
  if (port == nullptr || port->peer == nullptr) return false;
  for (const PortId end : {id, port->peer->id})
    if (const Place place = find(end)) place.port->cable = most;
  engine_.set_state(id, PortState::down);
  return true;
}

void NodeAgents::set_remote_settings(PortId remote, const LinkSettings& settings) {
  remote_settings_[remote.value] = settings;
}

std::optional<LinkSettings> NodeAgents::settings_behind(Place place) const {
  const EnginePort* const port = engine_.port(place.port->id);
  if (port == nullptr || port->peer == nullptr) return std::nullopt;
  const auto remote = remote_settings_.find(port->peer->id.value);
  if (remote != remote_settings_.end()) return remote->second;
  const ManagedPort* const peer = this->port(port->peer->id);
  return peer == nullptr ? std::nullopt : std::optional(settings_of(peer->info));
}

void NodeAgents::train_link(Place place) {
  const auto behind = settings_behind(place);
  if (!behind) return;
  const TrainedLink link = train(settings_of(place.port->info), *behind, place.port->cable);
  mad::PortInfo& info = place.port->info;
  info.link_width_active = link.width;
  info.link_speed_active = link.speed;
  info.link_speed_ext_active = link.extended;
  if (endports_ != nullptr) endports_->on_trained(place.port->id, link);
}

// PortStateChange tells of what the link did, not of what a manager asked for: that it comes up again after a
// SubnSet is the link's doing (IBTA 14.2.5.4).
void NodeAgents::on_state(PortId id, PortState state) {
  const Place place = find(id);
  if (!place) return;
  const mad::PortState before = place.port->info.port_state;
  read_port_state(engine_, *place.port);
  if (state == PortState::initialize) train_link(place);
  const bool link_changed =
      state == PortState::initialize || (state == PortState::down && !place.port->is_being_set);
  if (place.node->is_switch()) {
    if (!link_changed) return;
    place.node->switch_info.port_state_change = true;
    return raise(place.endport(), link_state_notice(*place.node));
  }
  if (state == PortState::active) {
    on_event(*place.node, *place.port, PortEvent::active);
    return schedule(place);
  }
  if (before == mad::PortState::active) on_event(*place.node, *place.port, PortEvent::error);
}

void NodeAgents::advance(TimePoint now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const PortId id(deadlines_.begin()->second);
    deadlines_.erase(deadlines_.begin());
    deadline_of_.erase(id.value);
    const Place place = find_endport(id);
    if (!place) continue;
    pma_.advance(*place.node, *place.port, now);
    send_traps(place);
    schedule(place);
  }
}

}  // namespace softrnic::fabric
