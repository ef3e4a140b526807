#include "transport/ib/retry_timer.h"

#include <algorithm>
#include <utility>

#include "transport/ib/timers.h"

namespace softrnic::ib {
namespace {

constexpr Duration kShortestProbe = std::chrono::milliseconds(2);
constexpr Duration kGenerous = std::chrono::milliseconds(50);
constexpr std::uint8_t kMaxProbeDoublings = 6;
constexpr std::uint8_t kRetryForEver = 7;  // rnr_retry (IBTA 9.7.5.2.8)

TimePoint after(TimePoint now, Duration wait) { return wait == Duration::max() ? kNever : now + wait; }

}  // namespace

Duration local_ack_timeout(std::uint8_t code) {
  const Duration t = ack_timeout(code);
  if (t == Duration::max()) return t;
  return std::max(t, std::min(4 * t, kGenerous));
}

void RetryTimer::reset(const Attributes& attributes) {
  *this = RetryTimer();
  timeout_ = local_ack_timeout(attributes.timeout);
  retries_left_ = attributes.retry_count;
  rnr_left_ = attributes.rnr_retry;
}

void RetryTimer::change_path(const Attributes& attributes) {
  stop();
  timeout_ = local_ack_timeout(attributes.timeout);
  retries_left_ = attributes.retry_count;
  srtt_ = {};
  is_bound_ = false;
  probes_ = 0;
}

Duration RetryTimer::probe_interval() const {
  return std::max(4 * srtt_, kShortestProbe) * (1 << std::min(probes_, kMaxProbeDoublings));
}

TimePoint RetryTimer::first_probe(TimePoint now) const {
  return now + probe_interval() * (timeout_ == Duration::max() ? (1 << kProbesToBackOff) - 1 : 1);
}

void RetryTimer::start(TimePoint now, std::uint8_t timeout_code) {
  timeout_ = local_ack_timeout(timeout_code);
  timeout_at_ = after(now, timeout_);
  probe_at_ = first_probe(now);
}

void RetryTimer::stop() { timeout_at_ = probe_at_ = kNever; }

void RetryTimer::progress(TimePoint now, const Attributes& attributes, bool in_flight) {
  retries_left_ = attributes.retry_count;
  rnr_left_ = attributes.rnr_retry;
  rnr_until_ = kNever;
  probes_ = 0;
  if (in_flight) {
    timeout_at_ = after(now, timeout_);
    probe_at_ = first_probe(now);
  } else {
    stop();
  }
}

bool RetryTimer::wait_rnr(TimePoint now, std::uint8_t code, const Attributes& attributes) {
  if (attributes.rnr_retry != kRetryForEver) {
    if (rnr_left_ == 0) return false;
    --rnr_left_;
  }
  stop();
  retries_left_ = attributes.retry_count;  // the peer is alive
  rnr_until_ = now + rnr_delay(code);
  return true;
}

bool RetryTimer::use_retry() {
  if (retries_left_ == 0) return false;
  --retries_left_;
  return true;
}

TimePoint RetryTimer::deadline() const { return std::min({rnr_until_, timeout_at_, probe_at_}); }

RetryTimer::Due RetryTimer::expire(TimePoint now) {
  if (now >= rnr_until_) {
    rnr_until_ = kNever;
    return Due::rnr_over;
  }
  if (now >= timeout_at_) {
    stop();
    return Due::timeout;
  }
  if (now < probe_at_) return Due::nothing;
  ++probes_;
  if (timeout_ == Duration::max()) {
    probe_at_ = kNever;
    return Due::back_off;
  }
  probe_at_ = now + probe_interval();
  return Due::probe;
}

void RetryTimer::sample_at_most(Duration rtt) {
  const bool is_first = srtt_ == Duration{};
  if (!is_first && probes_ < 2) return;
  smooth(rtt);
  is_bound_ = is_bound_ || is_first;
}

void RetryTimer::sample(Duration rtt) {
  if (std::exchange(is_bound_, false)) srtt_ = {};
  smooth(rtt);
}

void RetryTimer::smooth(Duration rtt) { srtt_ = srtt_ == Duration{} ? rtt : srtt_ + (rtt - srtt_) / 8; }

}  // namespace softrnic::ib
