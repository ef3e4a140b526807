// Links that stand in the way.
#pragma once

#include "fabricd/obstacles.h"

namespace softrnic::fabricd {

/// Why the link of a port carries no data: no cable, pulled, disabled, or a state below active at one of its
/// ends.
void find_link_obstacles(const FabricState& state, fabric::PortAddress at, Obstacles& found);

/// Whether no way of links that are up leads from one node to the other. If so tells the links that would
/// help, and that they are apart, where nothing else has been found that says so.
bool find_separation(const FabricState& state, fabric::PortAddress from, fabric::PortAddress to,
                     Obstacles& found);

}  // namespace softrnic::fabricd
