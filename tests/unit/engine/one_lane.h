// The lanes of a context that has but one.
#pragma once

#include "engine/lane.h"
#include "rnic/context.h"

namespace softrnic::engine::test {

class OneLane final : public rnic::Lanes {
 public:
  explicit OneLane(Lane* only = nullptr) : lane(only) {}
  Expected<rnic::LanePort*, Failure> choose() override { return lane; }
  void quiesce_all() override { lane->quiesce(); }
  Lane* lane;
};

}  // namespace softrnic::engine::test
