// The time of a batch, which is read once for all that is done in it.
#pragma once

#include "base/clock.h"

namespace softrnic {

/// Not thread-safe: the lane's lock guards it.
class BatchClock {
 public:
  /// A batch begins, or goes on at a later time.
  void begin(TimePoint now) {
    now_ = now;
    in_batch_ = true;
  }
  void end() { in_batch_ = false; }

  bool in_batch() const { return in_batch_; }
  /// Of the batch, or of the last one.
  TimePoint batch_time() const { return now_; }
  /// Of the batch; outside of one a look at the clock.
  TimePoint now() const { return in_batch_ ? now_ : monotonic_now(); }

 private:
  TimePoint now_{};
  bool in_batch_ = false;
};

}  // namespace softrnic
