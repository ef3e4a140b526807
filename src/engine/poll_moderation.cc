#include "engine/poll_moderation.h"

#include <algorithm>

namespace softrnic::engine {

Duration PollModeration::next(Duration since_poll, Duration longest) {
  longest_ = longest;
  period_ = std::min(period_, longest_);
  slept_ = period_ > Duration::zero() && since_poll <= kIdle;
  return slept_ ? period_ : Duration::zero();
}

void PollModeration::woke(bool found, Duration since_poll, std::uint32_t messages) {
  // nearly all the time: a program that polls may have been off the processor for a part of it
  if (slept_ && found && since_poll > std::max(kUnpolled, period_ * 4 / 5) && messages < kSpinning) {
    wakes_ = std::min(wakes_ * 2, kMostWakes);
    wakes_left_ = wakes_;
    period_ = Duration::zero();
  } else if (slept_) {
    if (period_ == longest_) wakes_ = std::max(wakes_ / 2, kFewestWakes);
    period_ = std::min(period_ * 2, longest_);
  } else if (since_poll <= kIdle && period_ == Duration::zero()) {
    woke_on_socket(since_poll);
  }
}

void PollModeration::woke_on_socket(Duration since_poll) {
  const bool attended = longest_ == kLongestOfStreams && since_poll <= kUnpolled;
  wakes_left_ -= std::min(wakes_left_, attended ? kAttendedWake : 1);
  if (wakes_left_ == 0) period_ = kShortest;
}

}  // namespace softrnic::engine
