// When the threads of the program were last at a lane. Thread-safe.
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
  using Stamp = std::atomic<std::int64_t>;

  static void put(Stamp& stamp, TimePoint time) {
    stamp.store(time.time_since_epoch().count(), std::memory_order_relaxed);
  }
  static TimePoint get(const Stamp& stamp) {
    return TimePoint(Duration(stamp.load(std::memory_order_relaxed)));
  }

  Stamp called_ns_{0};
  Stamp looked_ns_{0};
};

}  // namespace softrnic::engine
