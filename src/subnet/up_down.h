// Up/down routing, OpenSM's "updn": links point up, towards the roots, and no packet goes up again once it
// went down. Then no circle of links can wait for each other, whatever the topology, at the price of longer
// ways.
//
// All switches are ordered by rank, their distance from the nearest root, and among equals by GUID: up is
// towards the lower.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/expected.h"
#include "subnet/balanced_routes.h"
#include "subnet/graph.h"
#include "subnet/hop_matrix.h"
#include "subnet/up_down_ways.h"

namespace softrnic::subnet {

struct UpDownOptions {
  RoutingOptions routing;
  /// Node GUIDs of switches, or port GUIDs of what is attached to them. Unknown ones are passed over. None:
  /// see choose_roots.
  std::vector<Guid> roots;
  /// Two roots have nothing above them, so their own LIDs cannot reach each other. With this they do, as
  /// OpenSM's connect_roots: by ways that go up after down, and may so be part of a circle.
  bool connect_roots = false;
};

enum class UpDownError : std::uint8_t {
  no_root,  ///< roots are given, and none of them is in this subnet
};

/// The switches that OpenSM's histogram of distances shows as roots: nine tenths of all adapters are equally
/// far away, and at no other distance is more than a twentieth. Of those, the ones for which that distance is
/// smallest: in a tree of three levels and many leaves, every switch passes the test. May be none. `hops`:
/// min_hops of the graph.
std::vector<SwitchId> find_roots(const Graph& graph, const HopMatrix& hops);

/// find_roots, or if that finds none the switch from which the sum of distances to all adapters is smallest,
/// where OpenSM would give up.
std::vector<SwitchId> choose_roots(const Graph& graph, const HopMatrix& hops);

/// By rank, then by GUID. Where no root leads to, the lowest GUID is one.
UpDownOrder order_up_down(const Graph& graph, std::span<const SwitchId> roots);

/// Of roots that were found, all but the first are given up if with them two adapters could not reach each
/// other. Roots that were given are taken as they are; check_routes tells what they keep apart.
Expected<Routing, UpDownError> route_up_down(const Graph& graph, const UpDownOptions& options = {});

}  // namespace softrnic::subnet
