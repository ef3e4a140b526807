// The rate that UC and UD keep to where nothing is known of the receiver's buffer: a token bucket of bytes.
// Pure: time is given.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace softrnic::ib {

class Pacer {
 public:
  struct Limits {
    std::uint64_t bytes_per_second = 0;
    std::uint32_t burst_bytes = 0;
  };

  /// The bucket is full at first.
  explicit Pacer(const Limits& limits) : limits_(limits), tokens_(limits.burst_bytes) {}

  /// Returns `now` when a packet of `bytes` may go, which takes its tokens, or when to try again (a time
  /// point after `now`). A packet larger than the burst goes once the bucket has filled up to it.
  TimePoint take(std::uint32_t bytes, TimePoint now);

  /// For tests: what of its promises to itself does not hold; nullptr: all does.
  const char* broken_invariant() const { return tokens_ < 0 ? "the pacer has lent tokens" : nullptr; }

 private:
  Limits limits_;
  std::int64_t tokens_ = 0;
  TimePoint refilled_{};
};

}  // namespace softrnic::ib
