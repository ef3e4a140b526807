#include "rnic/attached_counters.h"

#include <algorithm>

#include "rnic/completion_counter.h"

namespace softrnic::rnic {

void AttachedCounters::attach(CompletionCounter& counter, std::uint8_t operations) {
  if (counters_ == nullptr) counters_ = std::make_unique<ByOperation>();
  ByOperation& by = *counters_;
  if (std::find(by.begin(), by.end(), &counter) == by.end()) counter.uses.add();
  for (std::size_t i = 0; i < by.size(); ++i)
    if ((operations & bit_of(static_cast<ib::Counted>(i))) != 0) by[i] = &counter;
}

void AttachedCounters::ended(ib::Counted operation, bool success, std::uint64_t bytes) {
  (*counters_)[static_cast<std::size_t>(operation)]->ended(success, bytes);
}

void AttachedCounters::release() {
  if (counters_ == nullptr) return;
  const ByOperation& by = *counters_;
  for (auto at = by.begin(); at != by.end(); ++at)
    if (*at != nullptr && std::find(by.begin(), at, *at) == at) (*at)->uses.release();
  counters_.reset();
}

}  // namespace softrnic::rnic
