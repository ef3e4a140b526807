// Looks at something that brings little, each of which costs a system call: now and then is enough.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace softrnic {

/// Thread-safe without a lock: the figure stands alone, and one that is lost costs a look.
class PacedLooks {
 public:
  /// Between two looks.
  static constexpr Duration kApart = std::chrono::microseconds(25);

  bool due(TimePoint now) const { return ns_of(now) >= next_ns_.load(std::memory_order_relaxed); }
  void looked(TimePoint now) { put_next(ns_of(now) + kApart.count()); }
  /// The next one is due at once.
  void look_next() { put_next(0); }

 private:
  void put_next(std::int64_t ns) { next_ns_.store(ns, std::memory_order_relaxed); }

  std::atomic<std::int64_t> next_ns_{0};
};

}  // namespace softrnic
