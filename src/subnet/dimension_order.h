// Dimension order routing, OpenSM's "dor": of the shortest ways, a packet takes the one by the first
// dimension that it still has to go along. Dimensions are told by cabling: on every switch, the links along
// the first have the lowest port numbers, and so on. Without a deadlock in meshes and hypercubes; in a torus
// the ways around still close circles.
#pragma once

#include "subnet/balanced_routes.h"
#include "subnet/graph.h"

namespace softrnic::subnet {

/// Several links between the same two switches are balanced.
Routing route_dimension_order(const Graph& graph, const RoutingOptions& options = {});

}  // namespace softrnic::subnet
