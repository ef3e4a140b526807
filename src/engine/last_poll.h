// When the threads of the program were last at a lane, and how often they poll. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/time.h"

namespace softrnic::engine {

class LastPoll {
 public:
  struct Age {
    Duration since_call;  ///< a thread polled or posted
    Duration since_look;  ///< and looked at what had come
  };

  /// A thread polls. Returns how often one has; wraps, and may count too few where several poll at once.
  std::uint32_t polled() { return count(polls_); }
  /// A poll took eager sends.
  void took_eagers() { count(eager_polls_); }
  std::uint32_t eager_polls() const { return eager_polls_.load(std::memory_order_relaxed); }

  void called(TimePoint now) { put(called_ns_, now); }
  void looked(TimePoint now) {
    put(called_ns_, now);
    put(looked_ns_, now);
  }
  bool called_after(TimePoint time) const {
    return called_ns_.load(std::memory_order_relaxed) > time.time_since_epoch().count();
  }
  Age age(TimePoint now) const { return {now - get(called_ns_), now - get(looked_ns_)}; }

 private:
  using Count = std::atomic<std::uint32_t>;
  using Stamp = std::atomic<std::int64_t>;

  static std::uint32_t count(Count& count) {
    const std::uint32_t more = count.load(std::memory_order_relaxed) + 1;
    count.store(more, std::memory_order_relaxed);
    return more;
  }
  static void put(Stamp& stamp, TimePoint time) {
    stamp.store(time.time_since_epoch().count(), std::memory_order_relaxed);
  }
  static TimePoint get(const Stamp& stamp) {
    return TimePoint(Duration(stamp.load(std::memory_order_relaxed)));
  }

  Count polls_{0};
  Count eager_polls_{0};
  Stamp called_ns_{0};
  Stamp looked_ns_{0};
};

}  // namespace softrnic::engine
