// Fat-tree routing, in the sense of OpenSM's "ftree": where all adapters send to the one so many places after
// themselves (the shift of MPI's all-to-all), no link between switches carries two of the messages, if the
// tree has links enough.
//
// Adapters are numbered along the tree. On its way up to the adapter of number n, a packet takes at each
// level the port that the digits of n say, the lowest digit at the leaf, so that neighbours part at once
// (d-mod-k: Zahavi, "D-Mod-K routing providing non-blocking traffic for shift permutations on real life fat
// trees", 2010). Down there is one way, or several links between two switches, which are told apart by the
// same digit.
#pragma once

#include <cstdint>

#include "base/expected.h"
#include "subnet/balanced_routes.h"
#include "subnet/graph.h"

namespace softrnic::subnet {

enum class FatTreeError : std::uint8_t {
  no_adapters,
  mixed_levels,  ///< a link joins two switches that are equally far from adapters
};

/// Levels count from the switches that adapters are attached to. Where links are missing packets take others
/// that are legal in the tree, or have no route, as in up_down.h. LIDs of one port count on from its number.
Expected<Routing, FatTreeError> route_fat_tree(const Graph& graph);

}  // namespace softrnic::subnet
