// Counters of flows (ibv_create_counters(3)): what its flows have met, shown at the places that the program
// has chosen.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "base/expected.h"
#include "base/reason.h"
#include "rnic/object.h"

namespace softrnic::rnic {

class Context;

/// Thread-safe.
class FlowCounters {
 public:
  explicit FlowCounters(Context& context) : context_(context) {}

  /// `what`: of enum ibv_counter_description.
  /// EINVAL: the index; EBUSY: a flow uses it already; EOPNOTSUPP: nothing of the kind is counted.
  Expected<void, Failure> attach_point(std::uint32_t what, std::uint32_t index);
  /// EINVAL: there is no room for all points.
  Expected<void, Failure> read(std::span<std::uint64_t> values) const;
  /// EBUSY: flows use it.
  Expected<void, Failure> destroy() const;

  void count(std::size_t bytes) {
    frames_.fetch_add(1, std::memory_order_relaxed);
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  Context& context() const { return context_; }

  UseCount uses;  ///< by flows

 private:
  static constexpr std::uint32_t kMaxPoints = 64;
  struct Point {
    std::uint32_t what;
    std::uint32_t index;
  };

  Context& context_;
  mutable std::mutex mutex_;
  std::vector<Point> points_;  ///< guarded by the mutex
  std::atomic<std::uint64_t> frames_{0};
  std::atomic<std::uint64_t> bytes_{0};
};

}  // namespace softrnic::rnic
