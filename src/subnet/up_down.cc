#include "subnet/up_down.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "subnet/min_hop.h"
#include "subnet/up_down_ways.h"

namespace softrnic::subnet {
namespace {

// Adapters attached, by switch.
std::vector<std::uint32_t> count_adapters(const Graph& graph) {
  std::vector<std::uint32_t> adapters(graph.switches().size());
  for (std::uint32_t i = 0; i < graph.end_ports().size(); ++i) {
    const EndPort& port = graph.end_ports()[i];
    if (port.type == NodeType::switch_node || !graph.is_attached(EndPortId(i))) continue;
    ++adapters[port.attached.sw.value];
  }
  return adapters;
}

// The distance at which the histogram of `sw` has its one bar, if it looks like a root's.
std::optional<std::uint8_t> root_distance(const HopMatrix& hops, SwitchId sw,
                                          std::span<const std::uint32_t> adapters, std::uint64_t all) {
  std::array<std::uint64_t, kUnreachable> histogram{};
  for (std::uint32_t to = 0; to < adapters.size(); ++to) {
    const std::uint8_t distance = hops.hops(sw, SwitchId(to));
    if (distance != kUnreachable) histogram[distance] += adapters[to];
  }
  const auto tallest = std::ranges::max_element(histogram);
  const auto bars = std::ranges::count_if(histogram, [&](std::uint64_t bar) { return bar * 20 > all; });
  if (*tallest * 10 <= all * 9 || bars != 1) return std::nullopt;
  return static_cast<std::uint8_t>(tallest - histogram.begin());
}

SwitchId central_switch(const Graph& graph, const HopMatrix& hops) {
  const std::vector<std::uint32_t> adapters = count_adapters(graph);
  SwitchId best = kNoSwitch;
  std::uint64_t best_sum = 0;
  for (std::uint32_t i = 0; i < graph.switches().size(); ++i) {
    std::uint64_t sum = 0;
    for (std::uint32_t to = 0; to < adapters.size(); ++to) {
      sum += std::uint64_t{hops.hops(SwitchId(i), SwitchId(to))} * adapters[to];
    }
    const bool better = best == kNoSwitch ||
                        std::tuple(sum, graph.switches()[i].guid) < std::tuple(best_sum, graph.at(best).guid);
    if (!better) continue;
    best = SwitchId(i);
    best_sum = sum;
  }
  return best;
}

constexpr std::uint32_t kUnranked = ~0U;

// Breadth first from all switches in `queue`, which have rank 0.
void rank(const Graph& graph, std::vector<SwitchId> queue, std::vector<std::uint32_t>& ranks) {
  for (const SwitchId root : queue) ranks[root.value] = 0;
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const SwitchId sw = queue[next];
    graph.for_each_neighbour(sw, [&](std::uint8_t, SwitchPort peer) {
      std::uint32_t& theirs = ranks[peer.sw.value];
      if (theirs != kUnranked) return;
      theirs = ranks[sw.value] + 1;
      queue.push_back(peer.sw);
    });
  }
}

Routing route(const Graph& graph, std::span<const SwitchId> roots, const UpDownOptions& options) {
  const UpDownOrder order = order_up_down(graph, roots);
  Routing routing;
  routing.tables = ForwardingTables(graph);
  UpDownWays ways(graph, order, routing.hops, routing.steps);
  if (options.connect_roots) {
    for (const SwitchId root : roots) ways.find_anywhere(root);
  }
  const auto next_ports = [&](SwitchId from, SwitchId to, std::vector<std::uint8_t>& ports) {
    ways.next_ports(from, to, ports);
  };
  balance_routes(graph, next_ports, options.routing, routing);
  return routing;
}

// Whether adapters that are connected at all have a route.
bool keeps_adapters_apart(const Graph& graph, const HopMatrix& routed, const HopMatrix& least) {
  const std::vector<std::uint32_t> adapters = count_adapters(graph);
  for (std::uint32_t to = 0; to < adapters.size(); ++to) {
    for (std::uint32_t from = 0; from < adapters.size(); ++from) {
      if (adapters[to] == 0 || adapters[from] == 0) continue;
      const bool connected = least.hops(SwitchId(from), SwitchId(to)) != kUnreachable;
      if (connected && routed.hops(SwitchId(from), SwitchId(to)) == kUnreachable) return true;
    }
  }
  return false;
}

std::vector<SwitchId> known_roots(const Graph& graph, std::span<const Guid> guids) {
  std::vector<SwitchId> roots;
  for (const Guid guid : guids) {
    SwitchId root = graph.find_switch(guid);
    const EndPortId port = graph.find_end_port(guid);
    if (root == kNoSwitch && port != kNoEndPort) root = graph.at(port).attached.sw;
    if (root != kNoSwitch) roots.push_back(root);
  }
  return roots;
}

}  // namespace

std::vector<SwitchId> find_roots(const Graph& graph, const HopMatrix& hops) {
  const std::vector<std::uint32_t> adapters = count_adapters(graph);
  std::uint64_t all = 0;
  for (const std::uint32_t count : adapters) all += count;
  std::vector<SwitchId> roots;
  std::uint8_t least = kUnreachable;
  for (std::uint32_t i = 0; i < adapters.size(); ++i) {
    const auto distance = root_distance(hops, SwitchId(i), adapters, all);
    if (!distance || *distance > least) continue;
    if (*distance < least) roots.clear();
    least = *distance;
    roots.push_back(SwitchId(i));
  }
  return roots;
}

std::vector<SwitchId> choose_roots(const Graph& graph, const HopMatrix& hops) {
  std::vector<SwitchId> roots = find_roots(graph, hops);
  if (roots.empty() && !graph.switches().empty()) roots.push_back(central_switch(graph, hops));
  return roots;
}

UpDownOrder order_up_down(const Graph& graph, std::span<const SwitchId> roots) {
  const std::size_t switches = graph.switches().size();
  std::vector<SwitchId> from_top;
  from_top.reserve(switches);
  for (std::uint32_t i = 0; i < switches; ++i) from_top.push_back(SwitchId(i));
  std::ranges::sort(from_top, {}, [&](SwitchId sw) { return graph.at(sw).guid; });
  std::vector<std::uint32_t> ranks(switches, kUnranked);
  rank(graph, {roots.begin(), roots.end()}, ranks);
  for (const SwitchId sw : from_top) {
    if (ranks[sw.value] == kUnranked) rank(graph, {sw}, ranks);
  }
  std::ranges::stable_sort(from_top, {}, [&](SwitchId sw) { return ranks[sw.value]; });
  return UpDownOrder(std::move(from_top));
}

Expected<Routing, UpDownError> route_up_down(const Graph& graph, const UpDownOptions& options) {
  if (!options.roots.empty()) {
    const std::vector<SwitchId> roots = known_roots(graph, options.roots);
    if (roots.empty()) return Unexpected{UpDownError::no_root};
    return route(graph, roots, options);
  }
  std::uint64_t steps = 0;
  const HopMatrix least = min_hops(graph, steps);
  const std::vector<SwitchId> roots = choose_roots(graph, least);
  Routing routing = route(graph, roots, options);
  if (roots.size() > 1 && keeps_adapters_apart(graph, routing.hops, least)) {
    routing = route(graph, std::span(roots).first(1), options);
  }
  routing.steps += steps;
  return routing;
}

}  // namespace softrnic::subnet
