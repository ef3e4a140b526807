#include "subnet/min_hop.h"

#include <algorithm>
#include <span>
#include <vector>

namespace softrnic::subnet {
namespace {

// Breadth first from `to`. `queue` is only there so that its memory serves many searches.
void search(const Graph& graph, SwitchId to, std::span<std::uint8_t> hops, std::vector<SwitchId>& queue,
            std::uint64_t& steps) {
  hops[to.value] = 0;
  queue.assign(1, to);
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const SwitchId sw = queue[next];
    const int farther = hops[sw.value] + 1;
    steps += graph.at(sw).ports;
    if (farther == kUnreachable) continue;
    graph.for_each_neighbour(sw, [&](std::uint8_t, SwitchPort peer) {
      if (hops[peer.sw.value] != kUnreachable) return;
      hops[peer.sw.value] = static_cast<std::uint8_t>(farther);
      queue.push_back(peer.sw);
    });
  }
}

}  // namespace

HopMatrix min_hops(const Graph& graph, std::uint64_t& steps) {
  HopMatrix hops(graph.switches().size());
  std::vector<SwitchId> queue;
  queue.reserve(graph.switches().size());
  for (std::uint32_t to = 0; to < graph.switches().size(); ++to) {
    search(graph, SwitchId(to), hops.to(SwitchId(to)), queue, steps);
  }
  return hops;
}

Routing route_min_hop(const Graph& graph, const RoutingOptions& options) {
  Routing routing;
  routing.tables = ForwardingTables(graph);
  routing.hops = min_hops(graph, routing.steps);
  const auto next_ports = [&](SwitchId from, SwitchId to, std::vector<std::uint8_t>& ports) {
    const std::span<const std::uint8_t> hops = std::as_const(routing.hops).to(to);
    if (hops[from.value] == kUnreachable) return;
    graph.for_each_neighbour(from, [&](std::uint8_t port, SwitchPort peer) {
      if (hops[peer.sw.value] + 1 == hops[from.value]) ports.push_back(port);
    });
  };
  balance_routes(graph, next_ports, options, routing);
  return routing;
}

}  // namespace softrnic::subnet
