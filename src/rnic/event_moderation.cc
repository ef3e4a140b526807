#include "rnic/event_moderation.h"

#include "base/clock.h"

namespace softrnic::rnic {

bool EventModeration::completed() {
  ++completions_;
  if (settings_.count != 0 && completions_ >= settings_.count) return true;
  if (completions_ == 1 && settings_.period > Duration::zero()) due_ = monotonic_now() + settings_.period;
  return false;
}

void EventModeration::told() {
  completions_ = 0;
  due_ = kNever;
}

TimePoint EventModeration::take_look() {
  if (!is_unwatched()) return kNever;
  look_ = due_;
  return look_;
}

// Where a shorter period has brought an earlier look, the later one has nothing to say.
TimePoint EventModeration::look_again(TimePoint look) {
  if (look != look_) return kNever;
  look_ = due_;
  return look_;
}

}  // namespace softrnic::rnic
