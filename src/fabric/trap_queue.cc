#include "fabric/trap_queue.h"

#include <algorithm>

namespace softrnic::fabric {

bool TrapQueue::push(const mad::Notice& notice, std::uint64_t transaction) {
  if (waiting_.size() >= kCapacity) return false;
  const auto first_unsent = waiting_.begin() + (first_is_sent_ ? 1 : 0);
  const auto bytes = mad::encoded(notice);
  const bool waits = std::any_of(first_unsent, waiting_.end(), [&bytes](const PendingTrap& trap) {
    return mad::encoded(trap.notice) == bytes;
  });
  if (!waits) waiting_.push_back({notice, transaction});
  return !waits;
}

std::optional<PendingTrap> TrapQueue::take_due(TimePoint now, Duration interval) {
  if (empty() || now < not_before_) return std::nullopt;
  not_before_ = now + interval;
  first_is_sent_ = true;
  return waiting_.front();
}

bool TrapQueue::repress(std::uint64_t transaction) {
  if (!first_is_sent_ || waiting_.front().transaction != transaction) return false;
  waiting_.pop_front();
  first_is_sent_ = false;
  return true;
}

}  // namespace softrnic::fabric
