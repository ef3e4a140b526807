// The adapter's time: CLOCK_MONOTONIC.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>

#include "base/time.h"

namespace softrnic::engine {

inline TimePoint monotonic_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return TimePoint(Duration(std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec));
}

/// A time that is not before now, and at most some milliseconds after it. Costs a fifth of monotonic_now().
inline TimePoint soon() {
  static const Duration tick = [] {
    timespec resolution{};
    clock_getres(CLOCK_MONOTONIC_COARSE, &resolution);
    return Duration(resolution.tv_nsec);
  }();
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return TimePoint(Duration(std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec)) + tick;
}

/// Nanoseconds of a time point, for atomics.
inline std::int64_t ns_of(TimePoint time) { return time.time_since_epoch().count(); }

/// `when` for timerfd_settime(TFD_TIMER_ABSTIME); never zero, which would disarm.
inline timespec to_timespec(TimePoint when) {
  const auto ns = std::max<std::int64_t>(when.time_since_epoch().count(), 1);
  return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

}  // namespace softrnic::engine
