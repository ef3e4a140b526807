// What a queue pair may send (ibv_modify_qp_rate_limit(3)): the requests of its send queue, as packets.
// Answers to its peer's requests are neither held back nor counted: an adapter's limit is one of send queues.
#pragma once

#include <cstdint>

#include "base/expected.h"
#include "base/reason.h"
#include "base/time.h"
#include "transport/ib/pacer.h"

namespace softrnic::rnic {

/// Not thread-safe: the lane's lock guards it.
class RateLimit {
 public:
  struct Settings {
    std::uint32_t kilobits_per_second = 0;  ///< 0: no limit
    std::uint32_t burst_bytes = 0;          ///< at once after a pause; 0: what is due in kUsualBurst
    std::uint16_t packet_bytes = 0;         ///< a typical packet; a burst holds one
  };
  /// EINVAL: more than limits::kMaxRateLimit, or a burst or a packet size without a rate.
  static Expected<void, Failure> check(const Settings& settings);

  /// Settings with a rate.
  explicit RateLimit(const Settings& settings);

  /// Whether the next request may go.
  bool open(TimePoint now) const { return resume_at_ <= now; }
  /// A request of so many bytes went. What it is beyond the burst, those behind it wait for.
  void sent(std::uint32_t bytes, TimePoint now) { resume_at_ = pacer_.take(bytes, now); }
  /// A request waits: deadline() says when to ask again.
  void wait() { waits_ = true; }
  TimePoint deadline() const { return waits_ ? resume_at_ : kNever; }
  void expire(TimePoint now) { waits_ = waits_ && !open(now); }

 private:
  ib::Pacer pacer_;
  TimePoint resume_at_ = TimePoint::min();
  bool waits_ = false;
};

}  // namespace softrnic::rnic
