#include "fabricd/fabric_state.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace softrnic::fabricd {
namespace {

using fabric::NodeIndex;
using fabric::PortAddress;

std::optional<std::uint64_t> parse_number(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, hex ? 16 : 10);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::uint8_t default_port(const fabric::Topology& topology, NodeIndex index) {
  const fabric::Node& node = topology.node(index);
  if (node.type == fabric::NodeType::switch_node) return 0;
  for (std::size_t number = 1; number < node.ports.size(); ++number)
    if (node.ports[number].peer) return static_cast<std::uint8_t>(number);
  return 1;
}

Endport at(const FabricState& state, PortAddress address) {
  const fabric::ManagedPort* const port = state.managed(address);
  return {address, port != nullptr ? port->info.lid : wire::Lid{}};
}

/// A switch has one endport for all of its ports.
Expected<Endport, std::string> port_of(const FabricState& state, NodeIndex index, std::string_view port) {
  const auto number = parse_number(port);
  const fabric::Node& node = state.topology.node(index);
  const bool is_switch = node.type == fabric::NodeType::switch_node;
  if (!number || *number > node.port_count() || (*number == 0 && !is_switch))
    return Unexpected{fmt::format("{} has no port {}", node.name, port)};
  return at(state, {index, is_switch ? std::uint8_t{0} : static_cast<std::uint8_t>(*number)});
}

Expected<Endport, std::string> owner_of(const FabricState& state, wire::Lid lid) {
  for (std::uint32_t i = 0; i < state.topology.nodes().size(); ++i) {
    const fabric::ManagedNode* const node = state.agents.node(state.wiring.nodes[i]);
    for (std::size_t number = 0; node != nullptr && number < node->ports.size(); ++number)
      if (!node->ports[number].guids.empty() && node->ports[number].owns(lid))
        return Endport{{NodeIndex(i), static_cast<std::uint8_t>(number)}, lid};
  }
  return Unexpected{fmt::format("no port has the LID {}", lid.value)};
}

Endport owner_of(const FabricState& state, NodeIndex index, fabric::Guid guid) {
  const fabric::Node& node = state.topology.node(index);
  const auto port = std::ranges::find(node.ports, guid, &fabric::Port::guid);
  const bool is_ports = node.guid != guid && port != node.ports.end();
  return at(state, {index, is_ports ? static_cast<std::uint8_t>(port - node.ports.begin())
                                    : default_port(state.topology, index)});
}

}  // namespace

const fabric::EnginePort* FabricState::port(PortAddress address) const {
  return address.node.value < wiring.nodes.size()
             ? engine.port(wiring.nodes[address.node.value], address.port)
             : nullptr;
}

const fabric::ManagedPort* FabricState::managed(PortAddress address) const {
  const fabric::EnginePort* const port = this->port(address);
  return port != nullptr ? agents.port(port->id) : nullptr;
}

const fabric::EngineNode& FabricState::node(NodeIndex index) const {
  return *engine.node(wiring.nodes[index.value]);
}

// Nodes are placed in their order.
PortAddress FabricState::address_of(const fabric::EnginePort& port) const {
  const auto place = std::ranges::lower_bound(wiring.nodes, port.node);
  return {NodeIndex(static_cast<std::uint32_t>(place - wiring.nodes.begin())), port.number};
}

wire::Lid parse_lid(std::string_view text) {
  const auto number = parse_number(text);
  return wire::Lid(number && *number <= 0xffff ? static_cast<std::uint16_t>(*number) : std::uint16_t{0});
}

Expected<Endport, std::string> find_endport(const FabricState& state, std::string_view text) {
  if (const auto index = state.topology.find(text))
    return at(state, {*index, default_port(state.topology, *index)});
  if (const std::size_t slash = text.rfind('/'); slash != std::string_view::npos)
    if (const auto index = state.topology.find(text.substr(0, slash)))
      return port_of(state, *index, text.substr(slash + 1));
  const auto number = parse_number(text);
  if (number && *number > 0xffff)
    if (const auto index = state.topology.find(fabric::Guid(*number)))
      return owner_of(state, *index, fabric::Guid(*number));
  if (number && wire::Lid(static_cast<std::uint16_t>(*number)).is_unicast() && *number <= 0xffff)
    return owner_of(state, wire::Lid(static_cast<std::uint16_t>(*number)));
  return Unexpected{fmt::format(
      "there is no {}: the name of a node, NAME/PORT, a LID or a GUID says which port is meant", text)};
}

}  // namespace softrnic::fabricd
