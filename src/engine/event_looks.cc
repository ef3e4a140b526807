#include "engine/event_looks.h"

#include <algorithm>
#include <new>

#include "rnic/completion_queue.h"

namespace softrnic::engine {

void EventLooks::enter(rnic::CompletionQueue& cq) {
  const TimePoint when = cq.next_look();
  if (when == kNever) return;
  try {
    heap_.push_back({when, &cq});
  } catch (const std::bad_alloc&) {
    cq.tell_when_due(when, kNever);
    return;
  }
  std::push_heap(heap_.begin(), heap_.end(), later);
  timers_.bring_forward(when);
}

void EventLooks::look(TimePoint now) {
  while (due() <= now) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    Look& look = heap_.back();
    look.when = look.cq->tell_when_due(look.when, now);
    if (look.when == kNever) {
      heap_.pop_back();
    } else {
      std::push_heap(heap_.begin(), heap_.end(), later);
    }
  }
}

void EventLooks::forget(const rnic::CompletionQueue& cq) {
  if (std::erase_if(heap_, [&](const Look& look) { return look.cq == &cq; }) != 0)
    std::make_heap(heap_.begin(), heap_.end(), later);
}

}  // namespace softrnic::engine
