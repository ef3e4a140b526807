#include "transport/ib/pacer.h"

#include <algorithm>

namespace softrnic::ib {
namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

}  // namespace

TimePoint Pacer::take(std::uint32_t bytes, TimePoint now) {
  const auto rate = static_cast<std::int64_t>(limits_.bytes_per_second);
  const std::int64_t burst = std::max<std::int64_t>(limits_.burst_bytes, bytes);
  const std::int64_t elapsed = std::min<std::int64_t>((now - refilled_).count(), kNanosecondsPerSecond);
  // The clock moves on only when something was credited, so that frequent calls do not lose fractions.
  const std::int64_t credit = elapsed * (rate / 1000) / (kNanosecondsPerSecond / 1000);
  if (credit > 0) {
    tokens_ = std::min(tokens_ + credit, burst);
    refilled_ = now;
  }
  if (tokens_ >= bytes) {
    tokens_ -= bytes;
    return now;
  }
  const std::int64_t wait = (bytes - tokens_) * kNanosecondsPerSecond / std::max<std::int64_t>(rate, 1) + 1;
  return now + Duration(wait);
}

}  // namespace softrnic::ib
