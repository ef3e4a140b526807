#include <string>
#include <vector>

#include "fabric/shape_drawings.h"

namespace softrnic::fabric {
namespace {

struct TwoLevels {
  std::uint32_t leaves = 0, spines = 0, hosts = 0, links = 1;
};

/// A full tree of switches with `radix` ports has radix²/2 hosts: half of a leaf's ports go up, and a
/// spine has a port for each leaf.
std::optional<TwoLevels> full_tree(std::uint32_t size) {
  for (std::uint32_t radix = 2; radix <= Topology::kMaxNodePorts; radix += 2) {
    if (radix * radix / 2 == size) return TwoLevels{radix, radix / 2, radix / 2, 1};
  }
  return std::nullopt;
}

std::string port_refusal(std::string_view which, std::uint64_t ports) {
  if (ports <= Topology::kMaxNodePorts) return {};
  return "each " + std::string(which) + " switch would need " + std::to_string(ports) +
         " ports; a switch has at most " + std::to_string(Topology::kMaxNodePorts);
}

std::string refusal(const TwoLevels& tree) {
  if (std::string why = port_refusal("leaf", tree.hosts + std::uint64_t{tree.spines} * tree.links);
      !why.empty())
    return why;
  if (std::string why = port_refusal("spine", std::uint64_t{tree.leaves} * tree.links); !why.empty())
    return why;
  return ShapePlan::refusal(tree.leaves + tree.spines, std::uint64_t{tree.leaves} * tree.hosts);
}

std::vector<std::size_t> add_switches(ShapePlan& plan, const std::string& prefix, std::uint32_t count) {
  std::vector<std::size_t> switches;
  for (std::uint32_t number = 1; number <= count; ++number)
    switches.push_back(plan.add_switch(prefix + std::to_string(number)));
  return switches;
}

Drawing draw_two_levels(const TwoLevels& tree) {
  if (std::string why = refusal(tree); !why.empty()) return Unexpected{std::move(why)};
  ShapePlan plan;
  const auto leaves = add_switches(plan, "leaf", tree.leaves);
  const auto spines = add_switches(plan, "spine", tree.spines);
  for (const std::size_t leaf : leaves) plan.add_hosts(leaf, tree.hosts);
  for (const std::size_t leaf : leaves) {
    for (const std::size_t spine : spines) {
      for (std::uint32_t link = 0; link < tree.links; ++link) plan.cable(leaf, spine);
    }
  }
  return plan;
}

void draw_pod(ShapePlan& plan, std::uint32_t pod, std::uint32_t hosts, const std::vector<std::size_t>& cores,
              std::uint32_t half) {
  const std::string number = std::to_string(pod);
  const auto edges = add_switches(plan, "edge-" + number + "-", half);
  const auto aggregations = add_switches(plan, "aggregation-" + number + "-", half);
  for (const std::size_t edge : edges) plan.add_hosts(edge, hosts);
  for (const std::size_t edge : edges) {
    for (const std::size_t aggregation : aggregations) plan.cable(edge, aggregation);
  }
  for (std::uint32_t i = 0; i < half; ++i) {
    for (std::uint32_t j = 0; j < half; ++j) plan.cable(aggregations[i], cores[i * half + j]);
  }
}

Drawing draw_three_levels(std::uint32_t k, std::uint32_t hosts) {
  const std::uint64_t half = k / 2;
  if (k % 2 != 0) return Unexpected{"k=" + std::to_string(k) + ": expected an even number"};
  if (hosts > half)
    return Unexpected{"hosts=" + std::to_string(hosts) + ": an edge switch has " + std::to_string(half) +
                      " ports for hosts"};
  if (std::string why = ShapePlan::refusal(half * half * 5, half * k * hosts); !why.empty())
    return Unexpected{std::move(why)};
  ShapePlan plan;
  const auto cores = add_switches(plan, "core", static_cast<std::uint32_t>(half * half));
  for (std::uint32_t pod = 1; pod <= k; ++pod)
    draw_pod(plan, pod, hosts, cores, static_cast<std::uint32_t>(half));
  return plan;
}

}  // namespace

Drawing draw_fat_tree(const ShapeArguments& arguments) {
  const bool has_counts = arguments.has("leaves") || arguments.has("spines") || arguments.has("links");
  const bool has_size = arguments.has("size"), has_hosts = arguments.has("hosts");
  if (has_counts + has_size + arguments.has("k") > 1)
    return Unexpected{
        std::string("expected k=, or a size, or leaves= and spines= (and links=), not several")};
  if (const std::uint32_t k = arguments["k"]; k != 0)
    return draw_three_levels(k, has_hosts ? arguments["hosts"] : k / 2);
  TwoLevels tree{arguments["leaves"], arguments["spines"], 2, arguments["links"]};
  if (has_size) {
    const auto full = full_tree(arguments["size"]);
    if (!full)
      return Unexpected{
          "size " + std::to_string(arguments["size"]) +
          ": expected half the square of an even number of ports: 8, 128, 288, 648, 800, 2048, …"};
    tree = *full;
  }
  if (has_hosts) tree.hosts = arguments["hosts"];
  return draw_two_levels(tree);
}

}  // namespace softrnic::fabric
