// The timers of the endpoints.
#include <algorithm>

#include "tests/sim/world.h"

namespace softrnic::sim {

void World::expire(Node& node) {
  if (node.timer_at != ground_.now) return;  // an older appointment
  node.timer_at = kNever;
  if (node.dead) return;
  const TimePoint due = node.endpoint->deadline();
  if (due <= ground_.now) {
    ground_.log(What::expired, node.index);
    node.endpoint->expire(ground_.now);
    if (++node.idle_expiries > 10'000) ground_.fail(format("node %u: its timer runs in circles", node.index));
  }
  touched(node);
}

void World::arm(Node& node) {
  const TimePoint due = node.endpoint->deadline();
  if (due == kNever) return;
  if (node.timer_at <= std::max(due, ground_.now)) return;
  node.timer_at = std::max(due, ground_.now);
  schedule(node.timer_at, Kind::timer, node.index);
}

}  // namespace softrnic::sim
