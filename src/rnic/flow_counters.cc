#include "rnic/flow_counters.h"

#include <algorithm>
#include <cerrno>

#include "base/reason_id.h"
#include "rnic/refusal.h"

namespace softrnic::rnic {

Expected<void, Failure> FlowCounters::attach_point(std::uint32_t what, std::uint32_t index) {
  if (what != IBV_COUNTER_PACKETS && what != IBV_COUNTER_BYTES)
    return refused(EOPNOTSUPP, ReasonId::counter_description, what);
  if (index >= kMaxPoints) return refused(EINVAL, ReasonId::counter_index, index, kMaxPoints);
  if (uses.users() != 0) return refused(EBUSY, ReasonId::counters_bound, uses.users());
  const std::lock_guard lock(mutex_);
  points_.push_back({what, index});
  return {};
}

// Several points of one place add up there (ibv_attach_counters_point_flow(3)).
Expected<void, Failure> FlowCounters::read(std::span<std::uint64_t> values) const {
  const std::lock_guard lock(mutex_);
  for (const Point& point : points_)
    if (point.index >= values.size())
      return refused(EINVAL, ReasonId::counter_index, point.index, values.size());
  std::fill(values.begin(), values.end(), 0);
  for (const Point& point : points_)
    values[point.index] += point.what == IBV_COUNTER_PACKETS ? frames_.load(std::memory_order_relaxed)
                                                             : bytes_.load(std::memory_order_relaxed);
  return {};
}

Expected<void, Failure> FlowCounters::destroy() const {
  if (uses.users() != 0) return refused(EBUSY, ReasonId::counters_bound, uses.users());
  return {};
}

}  // namespace softrnic::rnic
