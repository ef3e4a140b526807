// What the requester of a reliable connection knows of losses: whether a sign of loss tells something new,
// and when the lack of any sign is one (IBTA 9.7.5.2, 9.7.6). To send again is the requester's (go-back-N).
//
//   Phase     open ── went_back(loss) ──▶ recovering ── progress(), went_back(timeout) ──▶ open
//   BackOff   none ── expire(): probes go unanswered ──▶ full
//             none ── expire(): the same without an ACK timeout ──▶ one_packet ── packet_sent() ──▶ full
//             any ── went_back(receiver_not_ready), ask_for_receive() ──▶ one_request
//             one_request ── packet_sent() ──▶ full
//             any ── progress(), went_back(loss or timeout) ──▶ none
//
// The two are independent: what was sent again may stay unanswered, too. Probes (as RFC 8985, 7 has them) and
// RTT samples (RFC 6298) are of one packet each, which may be none.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "transport/ib/psn.h"
#include "transport/ib/retry_timer.h"

namespace softrnic::ib {

class LossRecovery {
 public:
  /// Why the requester goes back.
  enum class Cause : std::uint8_t { loss, timeout, receiver_not_ready };
  /// What expire() asks for. Of a probe transmit() learns by take_probe().
  enum class Due : std::uint8_t {
    nothing,
    back_off,  ///< nothing is in flight any more, whether it was lost or the peer is gone
    timeout,   ///< use_retry(), and go back
  };

  void start(const Attributes& attributes) { timer_.reset(attributes); }
  void reset() { *this = LossRecovery(); }
  /// Nothing will be sent again.
  void stop();

  // ---- sending

  /// Whether new packets may be sent in spite of the silence.
  bool may_send() const { return back_off_ != BackOff::full; }
  /// Nothing at all is to be heeded when sending.
  bool idle() const { return back_off_ == BackOff::none && !probe_due_ && !timer_.waiting_rnr(); }
  bool waiting_rnr() const { return timer_.waiting_rnr(); }
  /// Whether a probe is to be sent, once.
  bool take_probe() { return std::exchange(probe_due_, false); }
  /// It was sent, for the packet `una`. The answer may be that to either packet, and is no sample of the
  /// round trip (RFC 6298, 3), but says how long that is at most.
  void probe_sent(Psn una);
  /// Something is sent while nothing is in flight.
  void flight_begins(TimePoint now, std::uint8_t timeout_code) { timer_.start(now, timeout_code); }
  /// True: it is to request an ACK.
  bool packet_sent(TimePoint now);
  /// `psn` was sent for the first time and asks for an ACK: it may become an RTT sample.
  void time_packet(Psn psn, TimePoint now);

  // ---- what comes

  /// Packets before `end` were answered some time ago: no sample.
  void answered_earlier(Psn end);
  /// All before `una` has been answered, `in_flight`: not all that was sent. `may_answer_probe`: the answer
  /// may be that to a probe. True: then what was sent after the probe is lost, as the peer answers with the
  /// newest PSN it has.
  bool progress(Psn una, bool in_flight, bool may_answer_probe, TimePoint now, const Attributes& attributes);
  /// Whether a response or ACK behind a missing response tells of a loss (IBTA 9.7.6, implied NAK).
  bool is_news() const { return phase_ == Phase::open; }
  /// Whether a sequence NAK for `una` does. When recovering, it is a twin of the first one, unless so much
  /// time has passed that the peer could not execute the packet yet (RcResponder::ask_later()).
  bool nak_is_news(TimePoint now) const { return is_news() || now - last_go_back_ >= kSameLoss; }
  /// The peer has no receive posted. False: rnr_retry is used up.
  bool wait_rnr(TimePoint now, std::uint8_t code, const Attributes& attributes) {
    return timer_.wait_rnr(now, code, attributes);
  }

  /// The peer may have no receive: the next packet, with nothing else in flight, is to find out.
  void ask_for_receive() { back_off_ = BackOff::one_request; }

  // ---- going back

  /// Everything from una on is to be sent again, nothing is in flight.
  void went_back(Cause cause, TimePoint now);
  /// The same, and what is sent goes by another path (IBTA 17.2.8).
  void changed_path(const Attributes& attributes);
  TimePoint deadline() const { return timer_.deadline(); }
  Due expire(TimePoint now);
  /// See RetryTimer.
  bool use_retry() { return timer_.use_retry(); }
  Duration local_timeout() const { return timer_.local_timeout(); }

  /// For tests: what does not hold of a requester with these PSNs; nullptr: all does.
  const char* broken_invariant(Psn una, Psn next, Psn top) const;

 private:
  enum class Phase : std::uint8_t {
    open,
    recovering,  ///< has gone back and heard nothing since; more signs of the same loss are ignored
  };
  enum class BackOff : std::uint8_t {
    none,
    full,        ///< nothing new is sent
    one_packet,  ///< but one, from which the peer may see what it lacks
    /// But one, whose ACK tells that the peer has a receive by now. Else the peer would drop a window of
    /// packets each time.
    one_request,
  };
  static constexpr Duration kSameLoss = std::chrono::milliseconds(1);

  RetryTimer timer_;
  TimePoint last_go_back_{};   ///< for a loss or a timeout
  std::optional<Psn> timed_;   ///< its answer will be an RTT sample
  bool timed_twice_ = false;   ///< a probe has repeated it
  std::optional<Psn> probed_;  ///< a probe for it is out and nothing has come since
  Phase phase_ = Phase::open;
  BackOff back_off_ = BackOff::none;
  bool probe_due_ = false;  ///< a probe is to be sent; another one may be out
};

// What each packet or answer goes through is inline.

inline bool LossRecovery::packet_sent(TimePoint now) {
  if (back_off_ == BackOff::none) return false;
  if (back_off_ == BackOff::one_packet) timer_.rearm(now);
  return std::exchange(back_off_, BackOff::full) == BackOff::one_request;
}

inline void LossRecovery::time_packet(Psn psn, TimePoint now) {
  if (timed_) return;
  timed_ = psn;
  timed_twice_ = false;
  timer_.time_packet(now);
}

inline void LossRecovery::answered_earlier(Psn end) {
  if (timed_ && end > *timed_) timed_.reset();
}

inline bool LossRecovery::progress(Psn una, bool in_flight, bool may_answer_probe, TimePoint now,
                                   const Attributes& attributes) {
  phase_ = Phase::open;
  back_off_ = BackOff::none;
  if (timed_ && una > *timed_) {
    timed_.reset();
    const Duration rtt = now - timer_.timed_at();
    timed_twice_ ? timer_.sample_at_most(rtt) : timer_.sample(rtt);
  }
  timer_.progress(now, attributes, in_flight);
  const bool tail_lost = probed_ && may_answer_probe && una == *probed_ + 1 && in_flight;
  probed_.reset();
  return tail_lost;
}

}  // namespace softrnic::ib
