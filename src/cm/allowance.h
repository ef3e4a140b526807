// So many a second, and some at once: a token bucket, kept as the time at which it will be full again.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace softrnic::cm {

class Allowance {
 public:
  /// `at_once` at any time when none were taken lately, and `a_second` (not 0) in the long run.
  Allowance(std::uint32_t at_once, std::uint32_t a_second)
      : each_(Duration(std::chrono::seconds(1)) / a_second), most_(each_ * at_once) {}

  /// One more, if it is allowed. `now` never runs backwards.
  bool take(TimePoint now) {
    const TimePoint full = std::max(full_at_, now) + each_;
    if (full - now > most_) return false;
    full_at_ = full;
    return true;
  }

 private:
  Duration each_, most_;
  TimePoint full_at_{};
};

}  // namespace softrnic::cm
