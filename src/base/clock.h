// The adapter's time: CLOCK_MONOTONIC.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>

#include "base/time.h"

namespace softrnic {

inline TimePoint now_by(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return TimePoint(Duration(std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec));
}

inline TimePoint monotonic_now() { return now_by(CLOCK_MONOTONIC); }

/// A time that is not before now, and at most some milliseconds after it. Costs a fifth of monotonic_now().
inline TimePoint soon() {
  static const Duration tick = [] {
    timespec resolution{};
    clock_getres(CLOCK_MONOTONIC_COARSE, &resolution);
    return Duration(resolution.tv_nsec);
  }();
  return now_by(CLOCK_MONOTONIC_COARSE) + tick;
}

/// Nanoseconds of a time point, for atomics.
inline std::int64_t ns_of(TimePoint time) { return time.time_since_epoch().count(); }

/// `when` for timerfd_settime(TFD_TIMER_ABSTIME); never zero, which would disarm.
inline timespec to_timespec(TimePoint when) {
  const auto ns = std::max<std::int64_t>(when.time_since_epoch().count(), 1);
  return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

}  // namespace softrnic
