#include "subnet/dimension_order.h"

#include <span>
#include <utility>
#include <vector>

#include "subnet/min_hop.h"

namespace softrnic::subnet {

Routing route_dimension_order(const Graph& graph, const RoutingOptions& options) {
  Routing routing;
  routing.tables = ForwardingTables(graph);
  routing.hops = min_hops(graph, routing.steps);
  const auto next_ports = [&](SwitchId from, SwitchId to, std::vector<std::uint8_t>& ports) {
    const std::span<const std::uint8_t> hops = std::as_const(routing.hops).to(to);
    if (hops[from.value] == kUnreachable) return;
    SwitchId first = kNoSwitch;
    graph.for_each_neighbour(from, [&](std::uint8_t port, SwitchPort peer) {
      if (hops[peer.sw.value] + 1 != hops[from.value]) return;
      if (first == kNoSwitch) first = peer.sw;
      if (peer.sw == first) ports.push_back(port);
    });
  };
  balance_routes(graph, next_ports, options, routing);
  return routing;
}

}  // namespace softrnic::subnet
