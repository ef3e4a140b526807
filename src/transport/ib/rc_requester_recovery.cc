// How the RC requester starts, stops, goes back and fails.
#include "transport/ib/outbound.h"
#include "transport/ib/rc_requester.h"

namespace softrnic::ib {

void RcRequester::start() {
  una_ = next_ = top_ = assigned_ = Psn::first(seam_.attributes.send_psn);
  timer_.reset(seam_.attributes);
}

void RcRequester::reset() {
  uncharge();
  queue_.clear();
  cursor_ = begun_ = 0;
  una_ = next_ = assigned_ = top_;
  gather_cursor_ = scatter_cursor_ = {};
  unasked_bytes_ = unasked_packets_ = 0;
  direct_bytes_ = direct_doubts_ = 0;
  timer_ = {};
  silent_ = trickle_ = probing_ = probe_due_ = timing_ = recovering_ = draining_ = drained_ = failed_ = false;
}

void RcRequester::flush() {
  uncharge();
  timer_.stop();
  probe_due_ = false;
  direct_bytes_ = 0;
  flush_all(seam_.host, queue_);
  cursor_ = begun_ = queue_.head();
  una_ = next_ = assigned_ = top_;
  failed_ = true;
}

void RcRequester::uncharge() {
  leave_window();
  reads_out_ = 0;
}

// After a long silence nothing is under way any more, whether it was lost or the peer is gone: the window
// belongs to the other QPs of the path.
void RcRequester::leave_window() {
  if (seam_.window != nullptr) seam_.window->forgotten(charged_);
  charged_ = 0;
}

void RcRequester::go_back() {
  uncharge();
  timer_.stop();
  next_ = una_;
  cursor_ = queue_.head();
  gather_cursor_ = {};
  timing_ = probing_ = probe_due_ = silent_ = trickle_ = false;
  unasked_bytes_ = unasked_packets_ = 0;
}

void RcRequester::lost(TimePoint now) {
  if (seam_.window != nullptr) seam_.window->lost(now);
  go_back();
  recovering_ = true;
  went_back_ = now;
}

TimePoint RcRequester::deadline() const { return failed_ ? kNever : timer_.deadline(); }

void RcRequester::expire(TimePoint now) {
  if (failed_) return;
  switch (timer_.expire(now)) {
    case RetryTimer::Due::timeout:
      return timed_out(now);
    case RetryTimer::Due::probe:
      probe_due_ = true;
      silent_ = timer_.silent();
      if (silent_) leave_window();
      return;
    case RetryTimer::Due::silence:  // no probe asks the peer what it lacks, but the next packet may
      silent_ = trickle_ = true;
      return leave_window();
    case RetryTimer::Due::rnr_over:
    case RetryTimer::Due::nothing:
      return;
  }
}

void RcRequester::timed_out(TimePoint now) {
  seam_.host.count(Counter::timeouts);
  if (!timer_.use_retry()) {
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(timer_.local_timeout()).count();
    const std::uint32_t bytes = offset_of(queue_.front(), una_ + 1) - offset_of(queue_.front(), una_);
    return fail_front(Status::retry_exceeded, because(ReasonId::retry_exceeded, una_.wire(),
                                                      seam_.attributes.retry_count, us, bytes));
  }
  lost(now);
  recovering_ = false;
}

void RcRequester::finish_front() {
  if (cursor_ == queue_.head()) {
    ++cursor_;
    gather_cursor_ = {};
  }
  scatter_cursor_ = {};
  complete_front(seam_.host, queue_, Status::success);
}

void RcRequester::fail_front(Status status, const Reason& reason) {
  failed_ = true;
  uncharge();
  complete_front(seam_.host, queue_, status, reason);
}

void RcRequester::drain() {
  draining_ = true;
  drained_ = false;
  check_drained();
}

void RcRequester::check_drained() {
  if (!draining_ || drained_ || failed_ || queue_.head() != begun_ || direct_bytes_ > 0) return;
  drained_ = true;
  seam_.host.event(QpEvent::send_queue_drained);
}

}  // namespace softrnic::ib
