// When a lane looks at its link for packets: at once, where a queue pair may get some; now and then, where
// all messages come by streams (iWARP), as such a look is a system call before each message.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace softrnic::engine {

/// Thread-safe without a lock: each figure stands alone, and one that is lost costs a look.
class PacketLooks {
 public:
  /// Between two looks where nobody waits for packets.
  static constexpr Duration kApart = std::chrono::microseconds(25);

  /// Whether some queue pair may get packets.
  void set_awaited(bool awaited) { awaited_.store(awaited, std::memory_order_relaxed); }
  bool awaited() const { return awaited_.load(std::memory_order_relaxed); }
  bool due(TimePoint now) const {
    return awaited() || ns_of(now) >= next_ns_.load(std::memory_order_relaxed);
  }
  void looked(TimePoint now) {
    if (!awaited()) put_next(ns_of(now) + kApart.count());
  }
  /// The next look is due, whoever waits.
  void look_next() { put_next(0); }

 private:
  void put_next(std::int64_t ns) { next_ns_.store(ns, std::memory_order_relaxed); }

  std::atomic<bool> awaited_{true};
  std::atomic<std::int64_t> next_ns_{0};
};

}  // namespace softrnic::engine
