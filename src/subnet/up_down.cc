#include "subnet/up_down.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "subnet/min_hop.h"

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

// How a switch goes on towards another.
enum class Way : std::uint8_t {
  none,
  down,      // down only
  up,        // up first
  anywhere,  // outside the rules, see UpDownOptions::connect_roots
};

// Ways and hops of every switch to every other.
class Ways {
 public:
  Ways(const Graph& graph, const UpDownOrder& order, Routing& routing)
      : graph_(graph),
        order_(order),
        routing_(routing),
        switches_(graph.switches().size()),
        ways_(switches_ * switches_, Way::none) {}

  void find(SwitchId to) {
    find_down(to);
    find_up(to);
  }

  // Lets switches without a way go on to any that has one.
  void find_anywhere(SwitchId to) {
    const std::span<std::uint8_t> hops = routing_.hops.to(to);
    for (int level = 0; level + 1 < kUnreachable; ++level) {
      for (std::uint32_t i = 0; i < switches_; ++i) {
        if (hops[i] != level) continue;
        for_each_neighbour(SwitchId(i), [&](SwitchPort peer) {
          if (hops[peer.sw.value] == kUnreachable) {
            set(peer.sw, to, static_cast<std::uint8_t>(level + 1), Way::anywhere);
          }
        });
      }
    }
  }

  void next_ports(SwitchId from, SwitchId to, std::vector<std::uint8_t>& ports) const {
    const Way way = at(from, to);
    if (way == Way::none) return;
    const int hops = routing_.hops.hops(from, to);
    graph_.for_each_neighbour(from, [&](std::uint8_t port, SwitchPort peer) {
      if (routing_.hops.hops(peer.sw, to) + 1 == hops && may_follow(way, from, peer.sw, to)) {
        ports.push_back(port);
      }
    });
  }

 private:
  // Breadth first against the direction of packets, upwards only: every step of theirs goes down.
  void find_down(SwitchId to) {
    set(to, to, 0, Way::down);
    queue_.assign(1, to);
    for (std::size_t next = 0; next < queue_.size(); ++next) {
      const SwitchId sw = queue_[next];
      const int farther = routing_.hops.hops(sw, to) + 1;
      if (farther == kUnreachable) continue;
      for_each_neighbour(sw, [&](SwitchPort peer) {
        if (!order_.is_up(sw, peer.sw) || at(peer.sw, to) != Way::none) return;
        set(peer.sw, to, static_cast<std::uint8_t>(farther), Way::down);
        queue_.push_back(peer.sw);
      });
    }
  }

  // From the top, so that what is above a switch is known when its turn comes.
  void find_up(SwitchId to) {
    for (const SwitchId sw : order_.from_top) {
      if (at(sw, to) != Way::none) continue;
      int nearest = kUnreachable;
      for_each_neighbour(sw, [&](SwitchPort peer) {
        if (order_.is_up(sw, peer.sw)) nearest = std::min<int>(nearest, routing_.hops.hops(peer.sw, to));
      });
      if (nearest + 1 < kUnreachable) set(sw, to, static_cast<std::uint8_t>(nearest + 1), Way::up);
    }
  }

  bool may_follow(Way way, SwitchId from, SwitchId next, SwitchId to) const {
    switch (way) {
      case Way::down:
        return !order_.is_up(from, next) && at(next, to) == Way::down;
      case Way::up:
        return order_.is_up(from, next);
      case Way::anywhere:
        return true;
      case Way::none:
        break;
    }
    return false;
  }

  template <typename Visit>
  void for_each_neighbour(SwitchId sw, Visit&& visit) {
    routing_.steps += graph_.at(sw).ports;
    graph_.for_each_neighbour(sw, [&](std::uint8_t, SwitchPort peer) { visit(peer); });
  }

  Way at(SwitchId from, SwitchId to) const { return ways_[to.value * switches_ + from.value]; }
  void set(SwitchId from, SwitchId to, std::uint8_t hops, Way way) {
    ways_[to.value * switches_ + from.value] = way;
    routing_.hops.to(to)[from.value] = hops;
  }

  const Graph& graph_;
  const UpDownOrder& order_;
  Routing& routing_;
  std::size_t switches_;
  std::vector<Way> ways_;  // by destination and switch
  std::vector<SwitchId> queue_;
};

Routing route(const Graph& graph, std::span<const SwitchId> roots, const UpDownOptions& options) {
  const UpDownOrder order = order_up_down(graph, roots);
  Routing routing;
  routing.tables = ForwardingTables(graph);
  routing.hops = HopMatrix(graph.switches().size());
  Ways ways(graph, order, routing);
  for (std::uint32_t to = 0; to < graph.switches().size(); ++to) ways.find(SwitchId(to));
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
  UpDownOrder order;
  order.from_top.reserve(switches);
  for (std::uint32_t i = 0; i < switches; ++i) order.from_top.push_back(SwitchId(i));
  std::ranges::sort(order.from_top, {}, [&](SwitchId sw) { return graph.at(sw).guid; });
  std::vector<std::uint32_t> ranks(switches, kUnranked);
  rank(graph, {roots.begin(), roots.end()}, ranks);
  for (const SwitchId sw : order.from_top) {
    if (ranks[sw.value] == kUnranked) rank(graph, {sw}, ranks);
  }
  std::ranges::stable_sort(order.from_top, {}, [&](SwitchId sw) { return ranks[sw.value]; });
  order.place.resize(switches);
  for (std::uint32_t i = 0; i < switches; ++i) order.place[order.from_top[i].value] = i;
  return order;
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
