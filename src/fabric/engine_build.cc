// Engine: nodes, ports and cables; and what agents set.
#include "fabric/engine.h"

namespace softrnic::fabric {
namespace {

bool holds_any_packet(const BufferSizes& sizes) {
  return sizes.data >= kMaxPacketBlocks && sizes.data <= kMaxCredit &&
         sizes.management >= kMinManagementBlocks;
}

constexpr SlToVl unset_vls() {
  SlToVl vls{};
  for (std::uint8_t& vl : vls) vl = kUnsetVl;
  return vls;
}

}  // namespace

Expected<NodeId, BuildError> Engine::add_switch(std::uint8_t ports, const BufferSizes& sizes) {
  const auto id = add_node(NodeKind::switch_node, ports, sizes);
  if (!id) return id;
  EngineNode& node = nodes_[id->value];
  EnginePort* const zero = add_port(*id, 0, PortKind::internal, sizes);
  zero->internal = zero;
  zero->state = PortState::active;
  node.ports[0] = zero;
  for (std::uint8_t number = 1; number <= ports; ++number) {
    EnginePort* const port = add_port(*id, number, PortKind::external, sizes);
    port->internal = zero;
    port->sl_to_vl.assign(ports + 1U, unset_vls());
    node.ports[number] = port;
  }
  return id;
}

Expected<NodeId, BuildError> Engine::add_adapter(std::uint8_t ports, const BufferSizes& sizes) {
  const auto id = add_node(NodeKind::adapter, ports, sizes);
  if (!id) return id;
  for (std::uint8_t number = 1; number <= ports; ++number) {
    EnginePort* const port = add_port(*id, number, PortKind::external, sizes);
    EnginePort* const internal = add_port(*id, number, PortKind::internal, sizes);
    internal->internal = internal;
    internal->external = port;
    internal->state = PortState::active;
    port->internal = internal;
    nodes_[id->value].ports[number] = port;
  }
  return id;
}

Expected<NodeId, BuildError> Engine::add_node(NodeKind kind, std::uint8_t ports, const BufferSizes& sizes) {
  if (running_) return Unexpected{BuildError::busy};
  if (!holds_any_packet(sizes)) return Unexpected{BuildError::bad_size};
  const std::size_t wanted = kind == NodeKind::switch_node ? ports + 1U : ports * 2U;
  if (ports == 0 || ports > kMaxPorts || ports_.size() + wanted > limits_.ports) {
    return Unexpected{BuildError::too_many_ports};
  }
  const NodeId id(static_cast<std::uint32_t>(nodes_.size()));
  EngineNode& node = nodes_.emplace_back();
  node.kind = kind;
  node.ports.resize(ports + 1U);
  return id;
}

EnginePort* Engine::add_port(NodeId node, std::uint8_t number, PortKind kind, const BufferSizes& sizes) {
  EnginePort& port = ports_.emplace_back();
  port.id = PortId(static_cast<std::uint32_t>(ports_.size() - 1));
  port.node = node;
  port.number = number;
  port.kind = kind;
  port.sl_to_vl.assign(1, unset_vls());
  for (std::uint8_t vl = 0; vl < kVls; ++vl) {
    InputBuffer& buffer = port.in[vl];
    buffer.port = &port;
    buffer.vl = vl;
    buffer.size = vl == kManagementVl ? sizes.management : sizes.data;
  }
  return &port;
}

Expected<LinkId, BuildError> Engine::connect(PortId a, PortId b, const Rate& rate, Duration delay) {
  if (running_) return Unexpected{BuildError::busy};
  EnginePort* const first = find(a);
  EnginePort* const second = find(b);
  if (first == nullptr || second == nullptr || first == second || !first->is_external() ||
      !second->is_external() || delay < Duration(0)) {
    return Unexpected{BuildError::unknown_port};
  }
  if (first->link != nullptr || second->link != nullptr) return Unexpected{BuildError::already_connected};
  return tie(*first, *second, rate, delay);
}

LinkId Engine::tie(EnginePort& a, EnginePort& b, const Rate& rate, Duration delay) {
  Link& link = links_.emplace_back();
  link.ends = {&a, &b};
  link.rate = rate;
  link.delay = delay;
  a.peer = &b;
  b.peer = &a;
  a.link = b.link = &link;
  update_link(link);
  return LinkId(static_cast<std::uint32_t>(links_.size() - 1));
}

bool Engine::set_attributes(PortId id, const PortAttributes& attributes) {
  EnginePort* const port = find(id);
  if (port == nullptr) return false;
  const Duration hoq_life = port->hoq_life;
  port->set_attributes(attributes);
  if (port->hoq_life != hoq_life) renew_deadlines(*port);
  drop_bids_that_may_not_leave(*port);
  mark_ready(*port);
  return true;
}

bool Engine::set_sl_to_vl(PortId id, std::uint8_t from, const SlToVl& vls) {
  EnginePort* const port = find(id);
  if (port == nullptr || from >= port->sl_to_vl.size()) return false;
  port->sl_to_vl[from] = vls;
  return true;
}

bool Engine::set_partitions(PortId id, std::span<const std::uint16_t> pkeys) {
  EnginePort* const port = find(id);
  if (port == nullptr) return false;
  port->partitions.set(pkeys);
  return true;
}

VlArbiter* Engine::arbiter(PortId id) {
  EnginePort* const port = find(id);
  if (port == nullptr) return nullptr;
  mark_ready(*port);  // a VL that was in no table may have waited
  return &port->arbiter;
}

PortCounters* Engine::counters(PortId id) {
  EnginePort* const port = find(id);
  if (port == nullptr) return nullptr;
  port->count_wait(now_);
  port->begin_wait(now_);
  for (std::uint8_t vl = 0; vl < kVls; ++vl) port->count_wait(now_, vl);
  return &port->counters;
}

ForwardingTables* Engine::forwarding(NodeId id) {
  return id.value < nodes_.size() && nodes_[id.value].is_switch() ? &nodes_[id.value].forwarding : nullptr;
}

bool Engine::set_lifetime(NodeId id, std::uint8_t value) {
  if (id.value >= nodes_.size() || !nodes_[id.value].is_switch()) return false;
  EngineNode& node = nodes_[id.value];
  node.lifetime = lifetime_of(value);
  for (EnginePort* const port : node.ports) renew_deadlines(*port);
  return true;
}

}  // namespace softrnic::fabric
