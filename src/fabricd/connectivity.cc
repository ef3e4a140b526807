#include "fabricd/connectivity.h"

#include <algorithm>

#include "fabricd/link_obstacles.h"
#include "fabricd/path_obstacles.h"

namespace softrnic::fabricd {
namespace {

void check_endport(const FabricState& state, const Endport& endport, Obstacles& found) {
  if (endport.lid.is_reserved()) {
    // Without a manager no port is active either.
    found.add({.kind = ObstacleKind::no_lid, .at = endport.address});
    const fabric::EnginePort* const port = state.port(endport.address);
    if (port->link == nullptr || port->link->up) return;
  }
  find_link_obstacles(state, endport.address, found);
}

bool leads_nowhere(const std::optional<PathTrace>& trace) { return !trace || trace->end != PathEnd::reached; }

/// Circles are no matter of one way alone: what waits for such a buffer waits for ever, too.
void check_deadlock(const FabricState& state, Obstacles& found) {
  const auto& list = found.list();
  const bool waits = std::ranges::any_of(list, [](const Obstacle& each) {
    return each.kind == ObstacleKind::credits_stuck || each.kind == ObstacleKind::congestion;
  });
  if (!waits) return;
  auto cycle = fabric::find_credit_cycle(state.engine);
  if (cycle.empty()) return;
  const fabric::EnginePort* const first = state.engine.port(cycle[0].node, cycle[0].output_port);
  found.add_first({.kind = ObstacleKind::credit_deadlock,
                   .at = state.address_of(*first),
                   .vl = cycle[0].output_vl,
                   .cycle = std::move(cycle)});
}

}  // namespace

Connectivity examine(const FabricState& state, const Question& question) {
  Connectivity answer;
  const Endport &a = question.a, &b = question.b;
  for (const Endport* const endport : {&a, &b}) check_endport(state, *endport, answer.obstacles);
  answer.partition = find_shared_partition(state, a.address, b.address, question.p_key, answer.obstacles);
  if (!b.lid.is_reserved()) answer.there = trace_path(state, a.address, b.lid, question.sl);
  if (!a.lid.is_reserved()) answer.back = trace_path(state, b.address, a.lid, question.sl);
  // Where they are apart, that no table leads there follows from it.
  const bool apart = (leads_nowhere(answer.there) || leads_nowhere(answer.back)) &&
                     find_separation(state, a.address, b.address, answer.obstacles);
  const auto check = [&](const std::optional<PathTrace>& trace, wire::Lid to, std::uint16_t p_key) {
    if (!trace || (apart && trace->end != PathEnd::reached)) return;
    PathTraffic traffic{.to = to, .sl = question.sl, .now = question.now};
    if (answer.partition) traffic.p_key = p_key;
    find_path_obstacles(state, *trace, traffic, answer.obstacles);
  };
  check(answer.there, b.lid, answer.partition.value_or(SharedPartition{}).of_a);
  check(answer.back, a.lid, answer.partition.value_or(SharedPartition{}).of_b);
  check_deadlock(state, answer.obstacles);
  return answer;
}

}  // namespace softrnic::fabricd
