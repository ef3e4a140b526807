#include "transport/ib/rc_loss_recovery.h"

namespace softrnic::ib {

void LossRecovery::stop() {
  timer_.stop();
  probe_due_ = false;
}

void LossRecovery::probe_sent(Psn una) {
  probed_ = una;
  timed_twice_ = timed_twice_ || timed_ == una;
}

void LossRecovery::went_back(Cause cause, TimePoint now) {
  timer_.stop();
  timed_.reset();
  probed_.reset();
  probe_due_ = false;
  back_off_ = cause == Cause::receiver_not_ready ? BackOff::one_request : BackOff::none;
  if (cause == Cause::receiver_not_ready) return;  // which says nothing of losses
  phase_ = cause == Cause::loss ? Phase::recovering : Phase::open;
  last_go_back_ = now;
}

void LossRecovery::changed_path(const Attributes& attributes) {
  timer_.change_path(attributes);
  timed_.reset();
  probed_.reset();
  probe_due_ = false;
  phase_ = Phase::open;
  if (back_off_ != BackOff::one_request) back_off_ = BackOff::none;
}

LossRecovery::Due LossRecovery::expire(TimePoint now) {
  switch (timer_.expire(now)) {
    case RetryTimer::Due::timeout:
      return Due::timeout;
    case RetryTimer::Due::probe:
      probe_due_ = true;
      if (!timer_.backs_off()) return Due::nothing;
      back_off_ = BackOff::full;
      return Due::back_off;
    case RetryTimer::Due::back_off:  // no probe asks the peer what it lacks, but the next packet may
      back_off_ = BackOff::one_packet;
      return Due::back_off;
    case RetryTimer::Due::rnr_over:
    case RetryTimer::Due::nothing:
      break;
  }
  return Due::nothing;
}

const char* LossRecovery::broken_invariant(Psn una, Psn next, Psn top) const {
  const bool in_flight = una < next;
  if (probed_ && (*probed_ != una || !in_flight)) return "a probe is out for a packet that is not the oldest";
  if (timed_ && (*timed_ < una || *timed_ >= next)) return "a packet is timed that is not in flight";
  if (back_off_ == BackOff::one_request && in_flight) return "asks for a receive behind other packets";
  const bool waits = back_off_ == BackOff::full || back_off_ == BackOff::one_packet;
  if (waits && !in_flight) return "backed off with nothing in flight";
  if (phase_ == Phase::recovering && una == top) return "recovering with nothing to recover";
  if (in_flight && back_off_ != BackOff::one_packet && timer_.deadline() == kNever)
    return "packets are in flight and no timer runs";
  if (in_flight && timer_.waiting_rnr()) return "packets are in flight during an RNR delay";
  return nullptr;
}

}  // namespace softrnic::ib
