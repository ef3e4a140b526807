// Topologies of fabrics that are joined by cables: spare ports for these, and names and GUIDs of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/expected.h"
#include "fabric/topology.h"

namespace softrnic::fabric {

/// Which of the joined fabrics one is: 0 is the one that has the subnet manager.
inline constexpr std::uint8_t kMostJoinedFabrics = 15;

/// Ports of switches without a cable, at most `most`; those of the last switch first.
std::vector<PortAddress> free_switch_ports(const Topology& topology, std::size_t most);

/// The same, with so many ports without a cable at its last switch, or as many as that can have. A sentence:
/// it has no switch.
Expected<Topology, std::string> with_spare_ports(const Topology& topology, std::size_t count);

/// The same, as fabric `index`: names begin with "b-" for 1, "c-" for 2 and so on; the index is in a byte of
/// the GUIDs that those of shapes leave at 0. A sentence: a name gets too long.
Expected<Topology, std::string> as_joined(const Topology& topology, std::uint8_t index);

}  // namespace softrnic::fabric
