// How long something is waited for, without the time that this process was stopped, or the whole machine.
#pragma once

#include <algorithm>
#include <chrono>

namespace softrnic::robust {

/// What has shown nothing for so long hangs. Far above what a busy machine needs: no test fails on time.
constexpr int kHangSeconds = 100;

class Patience {
 public:
  explicit Patience(std::chrono::nanoseconds limit) : left_(limit) {}

  /// To be asked again and again, as the time between two questions counts for no more than a moment.
  bool over() {
    const auto now = Clock::now();
    left_ -= std::min<std::chrono::nanoseconds>(now - asked_, std::chrono::milliseconds(10));
    asked_ = now;
    return left_ < std::chrono::nanoseconds::zero();
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::chrono::nanoseconds left_;
  Clock::time_point asked_ = Clock::now();
};

}  // namespace softrnic::robust
