#include "fabric/joined_topology.h"

#include <algorithm>
#include <utility>

namespace softrnic::fabric {
namespace {

constexpr unsigned kIndexShift = 32;  ///< in GUIDs

/// The same cables between other nodes.
Expected<Topology, std::string> build(std::vector<Node> nodes, std::span<const Cable> cables) {
  Topology made;
  for (Node& node : nodes) {
    for (Port& port : node.ports) port.peer.reset();
    if (auto added = made.add(std::move(node)); !added) return Unexpected{added.error()};
  }
  for (const Cable& cable : cables)
    if (auto done = made.connect(cable.a, cable.b); !done) return Unexpected{done.error()};
  return made;
}

std::vector<Node> nodes_of(const Topology& topology) {
  return {topology.nodes().begin(), topology.nodes().end()};
}

void mark(Guid& guid, std::uint8_t index) {
  if (guid.value != 0) guid = Guid(guid.value ^ std::uint64_t{index} << kIndexShift);
}

}  // namespace

std::vector<PortAddress> free_switch_ports(const Topology& topology, std::size_t most) {
  std::vector<PortAddress> found;
  const auto nodes = topology.nodes();
  for (std::size_t i = nodes.size(); i-- > 0;) {
    if (nodes[i].type != NodeType::switch_node) continue;
    for (std::size_t port = 1; port < nodes[i].ports.size() && found.size() < most; ++port)
      if (!nodes[i].ports[port].peer)
        found.push_back({NodeIndex(static_cast<std::uint32_t>(i)), static_cast<std::uint8_t>(port)});
  }
  return found;
}

Expected<Topology, std::string> with_spare_ports(const Topology& topology, std::size_t count) {
  std::vector<Node> nodes = nodes_of(topology);
  const auto last = std::find_if(nodes.rbegin(), nodes.rend(),
                                 [](const Node& node) { return node.type == NodeType::switch_node; });
  if (last == nodes.rend())
    return Unexpected{std::string("there is no switch for a cable to another fabric")};
  const auto free = static_cast<std::size_t>(
      std::count_if(last->ports.begin() + 1, last->ports.end(), [](const Port& port) { return !port.peer; }));
  const std::size_t missing = count - std::min(count, free);
  Port spare = last->ports.back();
  spare.peer.reset();
  last->ports.resize(std::min(last->ports.size() + missing, Topology::kMaxNodePorts + 1), spare);
  return build(std::move(nodes), topology.cables());
}

Expected<Topology, std::string> as_joined(const Topology& topology, std::uint8_t index) {
  std::vector<Node> nodes = nodes_of(topology);
  for (Node& node : nodes) {
    const std::string name = std::string(1, static_cast<char>('a' + index)) + "-" + node.name;
    if (node.description == node.name) node.description = name;
    node.name = name;
    mark(node.guid, index);
    mark(node.system_image_guid, index);
    for (Port& port : node.ports) mark(port.guid, index);
  }
  return build(std::move(nodes), topology.cables());
}

}  // namespace softrnic::fabric
