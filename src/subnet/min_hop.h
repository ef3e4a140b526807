// Min-hop routing, OpenSM's default: every packet takes as few links as there can be, and equally short ways
// are balanced. Its routes may wait for each other in a circle (deadlock_check.h) where the links form one.
#pragma once

#include <cstdint>

#include "subnet/balanced_routes.h"
#include "subnet/graph.h"
#include "subnet/hop_matrix.h"

namespace softrnic::subnet {

/// The least links between each two switches. Adds the ports looked at to `steps`: those of all switches,
/// once for each switch.
HopMatrix min_hops(const Graph& graph, std::uint64_t& steps);

Routing route_min_hop(const Graph& graph, const RoutingOptions& options = {});

}  // namespace softrnic::subnet
