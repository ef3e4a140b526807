#include "fabricd/link_obstacles.h"

#include <numeric>

namespace softrnic::fabricd {
namespace {

using fabric::Cable;
using fabric::EnginePort;
using fabric::PortAddress;

constexpr std::size_t kMostLinks = 8;  ///< that are named as a help

bool is_up(const FabricState& state, PortAddress at) {
  const EnginePort* const port = state.port(at);
  return port != nullptr && port->link != nullptr && port->link->up;
}

/// Sets of nodes that links which are up hold together.
class Islands {
 public:
  explicit Islands(const FabricState& state) : parent_(state.topology.nodes().size()) {
    std::iota(parent_.begin(), parent_.end(), std::uint32_t{0});
    for (const Cable& cable : state.topology.cables())
      if (is_up(state, cable.a)) parent_[of(cable.a.node)] = of(cable.b.node);
  }

  std::uint32_t of(fabric::NodeIndex node) {
    std::uint32_t at = node.value;
    while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
    return at;
  }

 private:
  std::vector<std::uint32_t> parent_;
};

}  // namespace

void find_link_obstacles(const FabricState& state, PortAddress at, Obstacles& found) {
  const EnginePort* const port = state.port(at);
  if (!port->is_external()) return;
  if (port->peer == nullptr) return found.add({.kind = ObstacleKind::no_cable, .at = at});
  const PortAddress peer = state.address_of(*port->peer);
  if (!port->link->connected)
    return found.add_of_cable({.kind = ObstacleKind::cable_pulled, .at = at, .peer = peer});
  for (const EnginePort* const end : {port, static_cast<const EnginePort*>(port->peer)}) {
    const PortAddress address = state.address_of(*end);
    if (!end->enabled) {
      found.add({.kind = ObstacleKind::port_disabled, .at = address});
    } else if (port->link->up && end->state != fabric::PortState::active) {
      found.add({.kind = ObstacleKind::port_not_active, .at = address});
    }
  }
}

bool find_separation(const FabricState& state, PortAddress from, PortAddress to, Obstacles& found) {
  Islands islands(state);
  const std::uint32_t here = islands.of(from.node), there = islands.of(to.node);
  if (here == there) return false;
  if (!found.any_blocks()) found.add({.kind = ObstacleKind::no_way, .at = from, .peer = to});
  std::size_t named = 0;
  for (const Cable& cable : state.topology.cables()) {
    const std::uint32_t a = islands.of(cable.a.node), b = islands.of(cable.b.node);
    const bool touches = a == here || a == there || b == here || b == there;
    if (a == b || !touches || ++named > kMostLinks) continue;
    find_link_obstacles(state, cable.a, found);
  }
  return true;
}

}  // namespace softrnic::fabricd
