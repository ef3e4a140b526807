// Completion counters of a queue pair.
#include <algorithm>
#include <cerrno>
#include <mutex>

#include "rnic/completion_counter.h"
#include "rnic/queue_pair.h"
#include "rnic/refusal.h"

namespace softrnic::rnic {

Expected<void, Failure> QueuePair::attach_counter(CompletionCounter& counter, std::uint8_t operations) {
  const std::lock_guard lock(lane_.mutex());
  if (&counter.context() != &context()) return refused_here(refuse(EINVAL, ReasonId::foreign_counter));
  if (state_ != IBV_QPS_RESET && state_ != IBV_QPS_INIT)
    return refused_here(refuse(EINVAL, ReasonId::counter_too_late, state_));
  const unsigned overlap = counted() & operations;
  if (overlap != 0) return refused_here(refuse(EBUSY, ReasonId::counted_already, overlap));
  if (counters_attached_ == nullptr) counters_attached_ = std::make_unique<AttachedCounters>();
  AttachedCounters& attached = *counters_attached_;
  if (std::find(attached.begin(), attached.end(), &counter) == attached.end()) counter.uses.add();
  for (std::size_t i = 0; i < attached.size(); ++i)
    if ((operations & bit_of(static_cast<ib::Counted>(i))) != 0) attached[i] = &counter;
  count_ends_of(operations);
  return {};
}

void QueuePair::add_ended(ib::Counted operation, bool success, std::uint64_t bytes) {
  (*counters_attached_)[static_cast<std::size_t>(operation)]->ended(success, bytes);
}

void QueuePair::release_counters() {
  if (counters_attached_ == nullptr) return;
  const AttachedCounters& attached = *counters_attached_;
  for (auto at = attached.begin(); at != attached.end(); ++at)
    if (*at != nullptr && std::find(attached.begin(), at, *at) == at) (*at)->uses.release();
}

}  // namespace softrnic::rnic
