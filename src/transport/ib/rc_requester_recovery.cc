// How the RC requester goes back and fails work requests.
#include <algorithm>

#include "base/reason_id.h"
#include "transport/ib/outbound.h"
#include "transport/ib/rc_requester.h"

namespace softrnic::ib {

void RcRequester::uncharge() {
  charge_.leave();
  reads_out_ = 0;
}

void RcRequester::go_back(LossRecovery::Cause cause, TimePoint now) {
  const bool congested = cause != LossRecovery::Cause::receiver_not_ready;
  if (congested && context_.window != nullptr) context_.window->lost(now);
  uncharge();
  sequence_.go_back();
  ack_requests_.requested();
  recovery_.went_back(cause, now);
}

// Something behind una came: the response that is due there was lost (IBTA 9.7.6).
void RcRequester::implied_nak(TimePoint now) {
  if (recovery_.is_news() && sequence_.in_flight()) go_back(LossRecovery::Cause::loss, now);
}

TimePoint RcRequester::deadline() const {
  return failed() ? kNever : std::min(recovery_.deadline(), credit_.deadline());
}

bool RcRequester::expire(TimePoint now) {
  if (failed()) return false;
  if (credit_.expire(now)) recovery_.ask_for_receive();
  switch (recovery_.expire(now)) {
    case LossRecovery::Due::timeout:
      return timed_out(now);
    case LossRecovery::Due::back_off:
      charge_.leave();
      return false;
    case LossRecovery::Due::nothing:
      return false;
  }
  return false;
}

bool RcRequester::timed_out(TimePoint now) {
  context_.host.count(Counter::timeouts);
  if (recovery_.use_retry()) {
    go_back(LossRecovery::Cause::timeout, now);
    return false;
  }
  if (context_.attributes.migration == Migration::armed) return true;
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(recovery_.local_timeout()).count();
  const Psn una = sequence_.una();
  const SendEntry& entry = queue().front();
  const std::uint32_t bytes = offset_of(entry, una + 1, mtu()) - offset_of(entry, una, mtu());
  fail_front(Status::retry_exceeded,
             because(ReasonId::retry_exceeded, una.wire(), context_.attributes.retry_count, us, bytes));
  return false;
}

// What is in flight may never arrive, and is sent again by the other path.
void RcRequester::leave_path() {
  if (failed()) return;
  uncharge();
  sequence_.go_back();
  ack_requests_.requested();
}

void RcRequester::enter_path() {
  if (!failed()) recovery_.changed_path(context_.attributes);
}

void RcRequester::fail_front(Status status, const Reason& reason) {
  run_ = Run::failed;
  uncharge();
  complete_front(context_.host, queue(), status, reason);
}

}  // namespace softrnic::ib
