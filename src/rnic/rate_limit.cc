#include "rnic/rate_limit.h"

#include <algorithm>
#include <cerrno>

#include "base/reason_id.h"
#include "rnic/limits.h"

namespace softrnic::rnic {
namespace {

constexpr std::uint64_t kBytesPerKilobit = 125;
/// A thread that is woken by a timer comes late by less, as a rule; what it has missed may go at once.
constexpr std::uint64_t kUsualBurstsPerSecond = 500;
constexpr std::uint64_t kLeastUsualBurst = 16 * 1024;

ib::Pacer::Limits limits_of(const RateLimit::Settings& settings) {
  const std::uint64_t rate = settings.kilobits_per_second * kBytesPerKilobit;
  const std::uint64_t usual = std::max(rate / kUsualBurstsPerSecond, kLeastUsualBurst);
  const std::uint64_t burst = settings.burst_bytes != 0 ? settings.burst_bytes : usual;
  return {rate, static_cast<std::uint32_t>(std::max<std::uint64_t>(burst, settings.packet_bytes))};
}

}  // namespace

Expected<void, Failure> RateLimit::check(const Settings& settings) {
  const std::uint32_t rate = settings.kilobits_per_second;
  const bool bare = rate == 0 && (settings.burst_bytes != 0 || settings.packet_bytes != 0);
  if (bare || rate > limits::kMaxRateLimit)
    return Unexpected{refuse(EINVAL, ReasonId::bad_rate_limit, rate, limits::kMaxRateLimit,
                             settings.burst_bytes, settings.packet_bytes)};
  return {};
}

RateLimit::RateLimit(const Settings& settings) : pacer_(limits_of(settings)) {}

}  // namespace softrnic::rnic
