#include "rnic/event_count.h"

namespace softrnic::rnic {

// While something is owed the fd counts nothing, and threads are on their way to the queue: one of them takes
// this event.
void EventCount::add() {
  if (owed_ > 0) {
    --owed_;
  } else {
    fd_.post();
  }
}

void EventCount::withdraw(std::size_t events) {
  owed_ += events;
  settle();
}

void EventCount::found_none(std::size_t withdrawn) {
  owed_ += withdrawn;
  if (owed_ > 0) --owed_;  // else somebody was woken
  settle();
}

void EventCount::restart(std::size_t events) {
  while (fd_.try_take()) {
  }
  owed_ = 0;
  for (; events > 0; --events) fd_.post();
}

void EventCount::settle() {
  while (owed_ > 0 && fd_.try_take()) --owed_;
}

}  // namespace softrnic::rnic
