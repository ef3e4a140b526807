// torus-2QoS.conf, in which opensm's routing engine torus-2QoS reads what torus or mesh it is to look for:
// the radix of each dimension, and a seed, the switches around a first one that say which way is which
// (torus-2QoS.conf(5)).
#pragma once

#include <optional>
#include <string>

#include "fabric/topology.h"
#include "fabric/topology_shapes.h"

namespace softrnic::fabric {

/// For the topology that make_topology() makes of this grid. Nothing: it has more than the three dimensions
/// that the engine knows.
std::optional<std::string> write_torus_2qos(const Grid& grid, const Topology& topology);

}  // namespace softrnic::fabric
