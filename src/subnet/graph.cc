#include "subnet/graph.h"

#include <algorithm>

namespace softrnic::subnet {
namespace {

template <typename Id>
Id find(const std::unordered_map<Guid, Id>& map, Guid guid, Id none) {
  const auto found = map.find(guid);
  return found == map.end() ? none : found->second;
}

}  // namespace

Expected<SwitchId, GraphError> Graph::add_switch(const Switch& description) {
  if (description.ports == 0 || description.ports > kMaxSwitchPorts) {
    return Unexpected{GraphError::bad_port_count};
  }
  if (switch_of_guid_.contains(description.guid)) return Unexpected{GraphError::duplicate_guid};
  const SwitchId id(static_cast<std::uint32_t>(switches_.size()));
  EndPort port0;
  port0.guid = description.port_guid;
  port0.node = description.guid;
  port0.system_image = description.system_image;
  port0.type = NodeType::switch_node;
  port0.number = 0;
  port0.partition_cap = description.partition_cap;
  const auto own = add_end_port(port0);
  if (!own) return Unexpected{own.error()};
  switches_.push_back(description);
  switches_.back().port0 = *own;
  end_ports_[own->value].attached = {id, 0};
  switch_of_guid_.emplace(description.guid, id);
  first_port_.push_back(static_cast<std::uint32_t>(ports_.size()));
  ports_.resize(ports_.size() + description.ports + 1U);
  ports_[first_port_.back()] = Port{{}, *own, Link{0, PortState::active}};
  return id;
}

Expected<EndPortId, GraphError> Graph::add_end_port(const EndPort& description) {
  const EndPortId id(static_cast<std::uint32_t>(end_ports_.size()));
  if (!end_port_of_guid_.emplace(description.guid, id).second) {
    return Unexpected{GraphError::duplicate_guid};
  }
  end_ports_.push_back(description);
  end_ports_.back().attached = {};
  end_ports_.back().base_lid = {};
  end_ports_.back().lmc = 0;
  return id;
}

bool Graph::exists(SwitchPort port) const {
  return port.sw.value < switches_.size() && port.port != 0 && port.port <= at(port.sw).ports;
}

Expected<void, GraphError> Graph::check_free(SwitchPort port) const {
  if (!exists(port)) return Unexpected{GraphError::no_such_port};
  if (at(port).peer.sw != kNoSwitch || at(port).end_port != kNoEndPort) {
    return Unexpected{GraphError::port_taken};
  }
  return {};
}

Expected<void, GraphError> Graph::connect(SwitchPort a, SwitchPort b, Link link) {
  if (const auto free = check_free(a); !free) return free;
  if (const auto free = check_free(b); !free) return free;
  if (a == b) return Unexpected{GraphError::port_taken};
  ports_[index(a)] = Port{b, kNoEndPort, link};
  ports_[index(b)] = Port{a, kNoEndPort, link};
  return {};
}

Expected<void, GraphError> Graph::connect(SwitchPort a, EndPortId b, Link link) {
  if (const auto free = check_free(a); !free) return free;
  if (b.value >= end_ports_.size()) return Unexpected{GraphError::no_such_port};
  EndPort& end_port = end_ports_[b.value];
  if (end_port.attached.sw != kNoSwitch) return Unexpected{GraphError::port_taken};
  end_port.attached = a;
  ports_[index(a)] = Port{{}, b, link};
  return {};
}

void Graph::disconnect(SwitchPort a) {
  if (!exists(a)) return;
  Port& port = ports_[index(a)];
  if (port.peer.sw != kNoSwitch) ports_[index(port.peer)] = Port{};
  if (port.end_port != kNoEndPort) end_ports_[port.end_port.value].attached = {};
  port = Port{};
}

void Graph::set_link(SwitchPort a, Link link) {
  if (!exists(a)) return;
  Port& port = ports_[index(a)];
  port.link = link;
  if (port.peer.sw != kNoSwitch) ports_[index(port.peer)].link = link;
}

Expected<void, GraphError> Graph::set_lids(EndPortId id, Lid base, std::uint8_t lmc) {
  const unsigned count = lmc <= kMaxLmc ? 1U << lmc : 0;
  const bool legal = count != 0 && base.value % count == 0 && base.value + count - 1 <= Lid::kLastUnicast;
  if (!legal) return Unexpected{GraphError::bad_lid};
  drop_lids(id);
  if (base.is_reserved()) return {};
  EndPort& port = end_ports_[id.value];
  port.base_lid = base;
  port.lmc = lmc;
  if (owners_.size() < base.value + count) owners_.resize(base.value + count, kNoEndPort);
  std::fill_n(owners_.begin() + base.value, count, id);
  return {};
}

void Graph::drop_lids(EndPortId id) {
  EndPort& port = end_ports_[id.value];
  for (unsigned offset = 0; offset < port.lids(); ++offset) {
    EndPortId& owner = owners_[port.lid(offset).value];
    if (owner == id) owner = kNoEndPort;
  }
  port.base_lid = {};
  port.lmc = 0;
}

SwitchId Graph::find_switch(Guid node_guid) const { return find(switch_of_guid_, node_guid, kNoSwitch); }

EndPortId Graph::find_end_port(Guid port_guid) const {
  return find(end_port_of_guid_, port_guid, kNoEndPort);
}

EndPortId Graph::owner_of(Lid lid) const {
  return lid.value < owners_.size() ? owners_[lid.value] : kNoEndPort;
}

bool Graph::is_attached(EndPortId id) const {
  const SwitchPort attached = at(id).attached;
  return attached.sw != kNoSwitch && at(attached).carries_packets();
}

Lid Graph::top_lid() const {
  std::size_t top = owners_.size();
  while (top > 0 && owners_[top - 1] == kNoEndPort) --top;
  return top == 0 ? Lid{} : Lid(static_cast<std::uint16_t>(top - 1));
}

}  // namespace softrnic::subnet
