#include "engine/deadlines.h"

namespace softrnic::engine {

void Deadlines::place(std::size_t at, const Entry& entry) {
  heap_[at] = entry;
  entry.endpoint->hook.timer = at + 1;
}

void Deadlines::sift_up(std::size_t at) {
  const Entry moving = heap_[at];
  while (at > 0) {
    const std::size_t parent = (at - 1) / 2;
    if (heap_[parent].when <= moving.when) break;
    place(at, heap_[parent]);
    at = parent;
  }
  place(at, moving);
}

void Deadlines::sift_down(std::size_t at) {
  const Entry moving = heap_[at];
  for (;;) {
    std::size_t child = 2 * at + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1].when < heap_[child].when) ++child;
    if (moving.when <= heap_[child].when) break;
    place(at, heap_[child]);
    at = child;
  }
  place(at, moving);
}

void Deadlines::update(ib::Endpoint& endpoint) {
  const TimePoint when = endpoint.deadline();
  if (when == kNever) return;
  if (endpoint.hook.timer == 0) {
    heap_.push_back({when, &endpoint});
    sift_up(heap_.size() - 1);
    return;
  }
  const std::size_t at = endpoint.hook.timer - 1;
  if (when >= heap_[at].when) return;
  heap_[at].when = when;
  sift_up(at);
}

void Deadlines::remove_at(std::size_t at) {
  heap_[at].endpoint->hook.timer = 0;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (at == heap_.size()) return;
  place(at, last);
  sift_up(at);
  sift_down(last.endpoint->hook.timer - 1);
}

void Deadlines::remove(ib::Endpoint& endpoint) {
  if (endpoint.hook.timer != 0) remove_at(endpoint.hook.timer - 1);
}

ib::Endpoint* Deadlines::pop_due(TimePoint now) {
  while (!heap_.empty() && heap_.front().when <= now) {
    ib::Endpoint& endpoint = *heap_.front().endpoint;
    const TimePoint when = endpoint.deadline();
    if (when <= now) {
      remove_at(0);
      return &endpoint;
    }
    if (when == kNever) {
      remove_at(0);
    } else {
      heap_.front().when = when;
      sift_down(0);
    }
  }
  return nullptr;
}

}  // namespace softrnic::engine
