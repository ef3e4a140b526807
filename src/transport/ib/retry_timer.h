// When the requester loses patience: local ACK timeout, early probes, RNR delay, and the counters that bound
// them (IBTA 9.7.6.1.3, 9.7.5.2.8).
//
// A probe re-sends the oldest packet long before the ACK timeout, as a lost tail leaves no other sign; it
// does not count as a retry. Probes wait max(4 · smoothed RTT, 2 ms), doubled at each one without progress.
// Without an ACK timeout (code 0) nothing is re-sent; when as much time has passed as until backs_off(), that
// is told once.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "transport/ib/types.h"

namespace softrnic::ib {

class RetryTimer {
 public:
  enum class Due : std::uint8_t { nothing, probe, back_off, timeout, rnr_over };

  /// Forgets everything; counters are full.
  void reset(const Attributes& attributes);
  /// The path is another one, and nothing is in flight: retries and round trips begin anew. An RNR delay is
  /// the peer's, and goes on.
  void change_path(const Attributes& attributes);
  /// Something was sent while nothing was in flight.
  void start(TimePoint now, std::uint8_t timeout_code);
  /// Something was sent after Due::back_off: it is told again after a while.
  void rearm(TimePoint now) { probe_at_ = now + probe_interval(); }
  /// Nothing is in flight any more.
  void stop();
  /// Answers came: counters are full again.
  void progress(TimePoint now, const Attributes& attributes, bool in_flight);

  /// Waits for the peer to post a receive. False: rnr_retry is used up.
  bool wait_rnr(TimePoint now, std::uint8_t code, const Attributes& attributes);
  bool waiting_rnr() const { return rnr_until_ != kNever; }
  /// Uses up one of retry_count. False: none was left.
  bool use_retry();

  /// Several probes in a row went unanswered: the peer is more than just late.
  bool backs_off() const { return probes_ >= kProbesToBackOff; }

  TimePoint deadline() const;
  /// What is due at `now`; a probe is re-armed, a timeout stops the timer, an RNR delay ends.
  Due expire(TimePoint now);

  /// An RTT sample: a packet that was sent once was answered after `rtt`.
  void sample(Duration rtt);
  /// Of a packet that a probe has repeated: the round trip takes no longer than that. Believed when nothing
  /// is known, or after two probes: two losses in a row are rarer than a path that has become slow, where
  /// else no sample could ever be had.
  void sample_at_most(Duration rtt);
  void time_packet(TimePoint now) { timed_at_ = now; }
  TimePoint timed_at() const { return timed_at_; }

  Duration local_timeout() const { return timeout_; }

 private:
  static constexpr std::uint8_t kProbesToBackOff = 3;
  Duration probe_interval() const;
  void smooth(Duration rtt);
  TimePoint first_probe(TimePoint now) const;

  TimePoint timeout_at_ = kNever;
  TimePoint probe_at_ = kNever;
  TimePoint rnr_until_ = kNever;
  TimePoint timed_at_{};
  Duration timeout_ = Duration::max();
  Duration srtt_{};
  bool is_bound_ = false;  ///< srtt_ is of no true sample, which takes its place
  std::uint8_t probes_ = 0;
  std::uint8_t retries_left_ = 0;
  std::uint8_t rnr_left_ = 0;
};

/// How long the requester really waits for an ACK: between 1 and 4 times the attribute's time (IBTA 9.7.6).
/// Once, as far as that is enough for software, which is not always on the processor. Duration::max():
/// for ever.
Duration local_ack_timeout(std::uint8_t code);

}  // namespace softrnic::ib
