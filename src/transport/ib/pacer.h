// The rate that UC and UD keep to where nothing is known of the receiver's buffer: a token bucket of bytes.
// Pure: time is given.
#pragma once

#include <algorithm>
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
  explicit Pacer(const Limits& limits) : limits_(limits) {}

  /// When a packet of `bytes` may go: `now`, or later. To be asked once for each packet: its tokens are
  /// taken, and who asks later goes later. Without that, somebody with small packets would take what another
  /// waits to have enough of, for ever. A packet larger than the burst waits until the bucket has filled up
  /// to it.
  TimePoint take(std::uint32_t bytes, TimePoint now) {
    free_at_ = std::max(free_at_, now - time_of(limits_.burst_bytes)) + time_of(bytes);
    return std::max(free_at_, now);
  }

 private:
  Duration time_of(std::uint64_t bytes) const {
    const std::uint64_t rate = std::max<std::uint64_t>(limits_.bytes_per_second, 1);
    return Duration(static_cast<std::int64_t>((bytes * 1'000'000'000 + rate - 1) / rate));
  }

  Limits limits_;
  TimePoint free_at_ = TimePoint::min();  ///< when all that was taken will have been refilled, less the burst
};

}  // namespace softrnic::ib
