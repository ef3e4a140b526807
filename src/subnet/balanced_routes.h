// The second half of a routing engine: of the ports that lead on towards a LID, each switch takes the one
// that has the fewest LIDs so far. The first half, which ports these are, is the engine's own.
//
// What is balanced is what OpenSM balances: routes to adapters and routers are counted, those to switches are
// not, as hardly anything is sent to them. The LIDs of one port (LMC) go to different systems where they can,
// or else to different switches, so that one failure leaves some of them (OpenSM, doc/current-routing.txt).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "subnet/forwarding_tables.h"
#include "subnet/graph.h"
#include "subnet/hop_matrix.h"

namespace softrnic::subnet {

struct RoutingOptions {
  /// Routes to keep wherever they are as good as any: what changes in a fabric then changes few routes. Of
  /// the same graph. Without it all routes are chosen anew.
  const ForwardingTables* keep = nullptr;
};

struct Routing {
  ForwardingTables tables;
  HopMatrix hops;           ///< links that the routes pass from switch to switch
  std::uint64_t steps = 0;  ///< ports looked at: the work that was done
};

/// Appends the ports of `from` that lead on towards `to`, another switch, in order.
using NextPorts = std::function<void(SwitchId from, SwitchId to, std::vector<std::uint8_t>& ports)>;

/// Fills the linear tables of `routing` for all LIDs of the graph. A LID that `next_ports` has no port for,
/// or whose port is not attached, gets no route. The same graph always gets the same tables, in whatever
/// order it was found if its ports have their GUIDs and LIDs.
void balance_routes(const Graph& graph, const NextPorts& next_ports, const RoutingOptions& options,
                    Routing& routing);

}  // namespace softrnic::subnet
