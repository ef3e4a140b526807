#include "fabricd/obstacles.h"

#include <algorithm>
#include <utility>

namespace softrnic::fabricd {
namespace {

constexpr bool rows_are_in_order() {
  for (std::size_t i = 0; i < kObstacles.size(); ++i)
    if (kObstacles[i].kind != static_cast<ObstacleKind>(i)) return false;
  return true;
}
static_assert(rows_are_in_order());

bool same(const Obstacle& a, const Obstacle& b) {
  return a.kind == b.kind && a.at == b.at && a.vl == b.vl && a.lid == b.lid && a.in_port == b.in_port;
}

}  // namespace

void Obstacles::add(Obstacle obstacle) {
  const bool known = std::ranges::any_of(list_, [&](const Obstacle& other) { return same(other, obstacle); });
  if (!known) list_.push_back(std::move(obstacle));
}

void Obstacles::add_of_cable(Obstacle obstacle) {
  if (obstacle.peer && *obstacle.peer < obstacle.at) std::swap(*obstacle.peer, obstacle.at);
  add(std::move(obstacle));
}

bool Obstacles::any_blocks() const { return std::ranges::any_of(list_, &Obstacle::blocks); }

bool Obstacles::has(ObstacleKind kind) const {
  return std::ranges::any_of(list_, [kind](const Obstacle& each) { return each.kind == kind; });
}

}  // namespace softrnic::fabricd
