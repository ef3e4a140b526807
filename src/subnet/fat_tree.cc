#include "subnet/fat_tree.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "subnet/up_down_ways.h"

namespace softrnic::subnet {
namespace {

constexpr std::uint32_t kNoLevel = ~0U;

std::vector<SwitchId> all_switches(const Graph& graph) {
  std::vector<SwitchId> all;
  for (std::uint32_t i = 0; i < graph.switches().size(); ++i) all.push_back(SwitchId(i));
  return all;
}

bool is_adapter(const Graph& graph, EndPortId id) {
  return graph.at(id).type != NodeType::switch_node && graph.is_attached(id);
}

// By switch: its distance from the nearest one with adapters.
std::vector<std::uint32_t> find_levels(const Graph& graph) {
  std::vector<std::uint32_t> levels(graph.switches().size(), kNoLevel);
  std::vector<SwitchId> queue;
  for (std::uint32_t i = 0; i < graph.end_ports().size(); ++i) {
    if (!is_adapter(graph, EndPortId(i))) continue;
    const SwitchId leaf = graph.at(EndPortId(i)).attached.sw;
    if (levels[leaf.value] == kNoLevel) queue.push_back(leaf);
    levels[leaf.value] = 0;
  }
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const SwitchId sw = queue[next];
    graph.for_each_neighbour(sw, [&](std::uint8_t, SwitchPort peer) {
      if (levels[peer.sw.value] != kNoLevel) return;
      levels[peer.sw.value] = levels[sw.value] + 1;
      queue.push_back(peer.sw);
    });
  }
  return levels;
}

bool has_mixed_levels(const Graph& graph, std::span<const std::uint32_t> levels) {
  bool mixed = false;
  for (const SwitchId sw : all_switches(graph)) {
    graph.for_each_neighbour(sw, [&](std::uint8_t, SwitchPort peer) {
      mixed |= levels[sw.value] != kNoLevel && levels[sw.value] == levels[peer.sw.value];
    });
  }
  return mixed;
}

// Gives all switches that are connected with `start` below level `top` the same number, in `group`.
void fill_group(const Graph& graph, std::span<const std::uint32_t> levels, std::uint32_t top, SwitchId start,
                std::uint32_t number, std::vector<std::uint32_t>& group) {
  std::vector<SwitchId> queue{start};
  group[start.value] = number;
  for (std::size_t next = 0; next < queue.size(); ++next) {
    graph.for_each_neighbour(queue[next], [&](std::uint8_t, SwitchPort peer) {
      if (levels[peer.sw.value] >= top || group[peer.sw.value] != kNoLevel) return;
      group[peer.sw.value] = number;
      queue.push_back(peer.sw);
    });
  }
}

// Leaves so that those of one subtree stand together, at each level; among equals by GUID.
std::vector<SwitchId> order_leaves(const Graph& graph, std::span<const std::uint32_t> levels) {
  std::vector<SwitchId> leaves = all_switches(graph);
  std::erase_if(leaves, [&](SwitchId sw) { return levels[sw.value] != 0; });
  std::ranges::sort(leaves, {}, [&](SwitchId sw) { return graph.at(sw).guid; });
  std::uint32_t height = 0;
  for (const std::uint32_t level : levels) {
    if (level != kNoLevel) height = std::max(height, level);
  }
  // From small subtrees to large ones: a stable sort keeps the smaller together within the larger.
  for (std::uint32_t top = 2; top <= height + 1; ++top) {
    std::vector<std::uint32_t> group(levels.size(), kNoLevel);
    for (std::uint32_t i = 0; i < leaves.size(); ++i) {
      if (group[leaves[i].value] == kNoLevel) fill_group(graph, levels, top, leaves[i], i, group);
    }
    std::ranges::stable_sort(leaves, {}, [&](SwitchId leaf) { return group[leaf.value]; });
  }
  return leaves;
}

// By end port: its number. Each leaf has as many as the fullest, so that all begin with the same digit. Ports
// of switches have the number of their place.
std::vector<std::uint64_t> number_ports(const Graph& graph, std::span<const SwitchId> leaves) {
  std::vector<std::vector<EndPortId>> attached(leaves.size());
  std::vector<std::uint64_t> numbers(graph.end_ports().size());
  std::size_t fullest = 0;
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    for (const Port& port : graph.ports(leaves[leaf]).subspan(1)) {
      const bool is_wanted = port.end_port != kNoEndPort && is_adapter(graph, port.end_port);
      if (is_wanted) attached[leaf].push_back(port.end_port);
    }
    fullest = std::max(fullest, attached[leaf].size());
  }
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    for (std::size_t i = 0; i < attached[leaf].size(); ++i)
      numbers[attached[leaf][i].value] = leaf * fullest + i;
  }
  for (const SwitchId sw : all_switches(graph)) numbers[graph.at(sw).port0.value] = sw.value;
  return numbers;
}

// By level: what to divide a number by for the digit that counts on the way up from there: the product of the
// links up of all levels below.
std::vector<std::uint64_t> find_divisors(const Graph& graph, std::span<const std::uint32_t> levels) {
  std::vector<std::uint64_t> links_up;
  for (const SwitchId sw : all_switches(graph)) {
    const std::uint32_t level = levels[sw.value];
    if (level == kNoLevel) continue;
    std::uint64_t up = 0;
    graph.for_each_neighbour(sw, [&](std::uint8_t, SwitchPort peer) { up += levels[peer.sw.value] > level; });
    if (links_up.size() <= level) links_up.resize(level + std::size_t{1}, 1);
    links_up[level] = std::max(links_up[level], up);
  }
  // Beyond any number of a port, the digit is 0 anyway.
  constexpr std::uint64_t kMost = 1U << 20;
  std::vector<std::uint64_t> divisors{1};
  for (const std::uint64_t up : links_up) divisors.push_back(std::min(divisors.back() * up, kMost));
  return divisors;
}

class Router {
 public:
  Router(const Graph& graph, std::span<const std::uint32_t> levels)
      : graph_(graph),
        levels_(levels),
        numbers_(number_ports(graph, order_leaves(graph, levels))),
        divisors_(find_divisors(graph, levels)) {}

  void fill(SwitchId sw, const UpDownWays& ways, Routing& routing) const {
    LinearForwardingTable& table = routing.tables.at(sw).linear;
    std::vector<std::vector<std::uint8_t>> towards(graph_.switches().size());
    for (std::uint32_t i = 0; i < graph_.end_ports().size(); ++i) {
      const EndPort& destination = graph_.end_ports()[i];
      if (!graph_.is_attached(EndPortId(i))) continue;
      const SwitchId to = destination.attached.sw;
      std::vector<std::uint8_t>& ports = towards[to.value];
      if (to != sw && ports.empty()) find_ports(sw, to, ways, ports, routing.steps);
      for (unsigned offset = 0; offset < destination.lids(); ++offset) {
        const std::uint8_t port =
            to == sw ? destination.attached.port : choose(sw, numbers_[i] + offset, ports);
        table.set(destination.lid(offset), port);
      }
    }
  }

 private:
  // In the order of the switches that they lead to, whatever the cabling.
  void find_ports(SwitchId sw, SwitchId to, const UpDownWays& ways, std::vector<std::uint8_t>& ports,
                  std::uint64_t& steps) const {
    ways.next_ports(sw, to, ports);
    steps += graph_.at(sw).ports;
    const auto key = [&](std::uint8_t port) {
      return std::tuple(graph_.at(graph_.at(SwitchPort{sw, port}).peer.sw).guid, port);
    };
    std::ranges::sort(ports, {}, key);
  }

  std::uint8_t choose(SwitchId sw, std::uint64_t number, std::span<const std::uint8_t> ports) const {
    if (ports.empty()) return kNoRoute;
    const SwitchId next = graph_.at(SwitchPort{sw, ports[0]}).peer.sw;
    // Of the two ends of the link, the lower one's digit.
    const std::uint32_t level = std::min(levels_[sw.value], levels_[next.value]);
    const std::uint64_t divisor = level < divisors_.size() ? divisors_[level] : 1;  // no adapters, no level
    return ports[number / divisor % ports.size()];
  }

  const Graph& graph_;
  std::span<const std::uint32_t> levels_;
  std::vector<std::uint64_t> numbers_;
  std::vector<std::uint64_t> divisors_;
};

}  // namespace

Expected<Routing, FatTreeError> route_fat_tree(const Graph& graph) {
  const std::vector<std::uint32_t> levels = find_levels(graph);
  if (std::ranges::find(levels, 0U) == levels.end()) return Unexpected{FatTreeError::no_adapters};
  if (has_mixed_levels(graph, levels)) return Unexpected{FatTreeError::mixed_levels};
  std::vector<SwitchId> from_top = all_switches(graph);
  std::ranges::sort(from_top, {},
                    [&](SwitchId sw) { return std::tuple(~levels[sw.value], graph.at(sw).guid); });
  const UpDownOrder order(std::move(from_top));
  Routing routing;
  routing.tables = ForwardingTables(graph);
  const UpDownWays ways(graph, order, routing.hops, routing.steps);
  const Router router(graph, levels);
  for (const SwitchId sw : all_switches(graph)) router.fill(sw, ways, routing);
  return routing;
}

}  // namespace softrnic::subnet
