// How a node of a topology is made: what of its description becomes its first attributes.
#pragma once

#include "fabric/managed_node.h"
#include "fabric/topology.h"

namespace softrnic::fabric {

/// Widths and speeds are those of the port's rate and all below; the node's name describes it where nothing
/// else does.
NodeProfile profile_of(const Node& node);

}  // namespace softrnic::fabric
