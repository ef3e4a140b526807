// Time as the adapter knows it: nanoseconds since an arbitrary start, given to every layer from outside.
#pragma once

#include <chrono>

namespace softrnic {

using Duration = std::chrono::nanoseconds;

/// A clock type with no now(): time comes from the engine or from the simulator, never from here.
struct AdapterClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<AdapterClock>;
  static constexpr bool is_steady = true;
};
using TimePoint = AdapterClock::time_point;

inline constexpr TimePoint kNever = TimePoint::max();

}  // namespace softrnic
