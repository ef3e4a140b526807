// How busy the rings of a lane are, and so when the link below them is to be looked at.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/clock.h"
#include "base/paced_looks.h"

namespace softrnic::samehost {

/// Whether something came through memory lately, and when the link below is due. Thread-safe without a lock:
/// each figure stands alone, and one that is lost costs a look.
class RingActivity {
 public:
  /// Something came or went through memory, by a ring or without.
  void note_traffic() {
    if (!traffic_.load(std::memory_order_relaxed)) traffic_.store(true, std::memory_order_relaxed);
  }
  /// Whether something has lately.
  bool recent() const { return active_.load(std::memory_order_relaxed); }
  /// A ring had packets at `now`.
  void had_packets(TimePoint now) {
    active_ns_.store(ns_of(now), std::memory_order_relaxed);
    active_.store(true, std::memory_order_relaxed);
  }
  /// Somebody polls, and the rings are empty. False: nothing moves through memory, and the link below is
  /// looked at as if there were no rings.
  bool polled(TimePoint now) {
    if (traffic_.load(std::memory_order_relaxed) && traffic_.exchange(false, std::memory_order_relaxed))
      had_packets(now);
    if (!recent()) return false;
    if (ns_of(now) - active_ns_.load(std::memory_order_relaxed) >= kActive.count())
      active_.store(false, std::memory_order_relaxed);
    return true;
  }

  // ---- the link below, which is read only now and then while rings are in use

  /// Whether it is to be looked at: always, unless something moves through memory.
  bool looks_below(TimePoint now) const { return !recent() || below_is_due(now); }
  bool below_is_due(TimePoint now) const { return below_.due(now); }
  /// The next time is at once.
  void poll_below_next() { below_.look_next(); }
  /// It was looked at.
  void polled_below(TimePoint now) { below_.looked(now); }

 private:
  static constexpr Duration kActive = std::chrono::milliseconds(1);

  std::atomic<bool> active_{false};         ///< a ring had packets lately
  std::atomic<std::int64_t> active_ns_{0};  ///< when
  std::atomic<bool> traffic_{false};        ///< with a local peer, and active_ns_ does not say so yet
  PacedLooks below_;                        ///< while messages go through memory
};

}  // namespace softrnic::samehost
