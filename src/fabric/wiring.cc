#include "fabric/wiring.h"

#include <algorithm>

namespace softrnic::fabric {
namespace {

constexpr std::uint32_t kNanosecondsOfMegabit = 8000;  ///< of 1 Mb/s: a byte takes so many

Expected<NodeId, BuildError> add(Engine& engine, const Node& node, const BufferSizes& sizes) {
  const auto ports = static_cast<std::uint8_t>(node.port_count());
  return node.type == NodeType::switch_node ? engine.add_switch(ports, sizes)
                                            : engine.add_adapter(ports, sizes);
}

PortId id_of(const Engine& engine, const Wiring& wiring, PortAddress address) {
  return engine.port(wiring.nodes[address.node.value], address.port)->id;
}

}  // namespace

Rate LinkPace::of(LinkRate rate) const {
  if (scale <= 0) return {};
  constexpr double kMost = 4e9;
  const double megabits = std::clamp(megabits_per_second(rate) * scale, 1.0, kMost);
  return {static_cast<std::uint32_t>(megabits), kNanosecondsOfMegabit};
}

Expected<Wiring, std::string> place_nodes(Engine& engine, const Topology& topology,
                                          const BufferSizes& sizes) {
  Wiring wiring;
  for (const Node& node : topology.nodes()) {
    const auto id = add(engine, node, sizes);
    if (!id) return Unexpected{"there is no room for the ports of " + node.name};
    wiring.nodes.push_back(*id);
  }
  return wiring;
}

Expected<void, std::string> connect_cables(Engine& engine, const Topology& topology, const LinkPace& pace,
                                           Wiring& wiring) {
  for (const Cable& cable : topology.cables()) {
    const auto link = engine.connect(id_of(engine, wiring, cable.a), id_of(engine, wiring, cable.b),
                                     pace.of(topology.link_rate(cable.a).value_or(LinkRate{})), Duration(0));
    if (!link) return Unexpected{"a cable of " + topology.node(cable.a.node).name + " cannot be connected"};
    wiring.links.push_back(*link);
  }
  return {};
}

}  // namespace softrnic::fabric
