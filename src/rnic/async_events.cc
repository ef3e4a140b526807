#include "rnic/async_events.h"

#include <new>

#include "base/reason_id.h"
#include "base/reason_words.h"

namespace softrnic::rnic {
namespace {

/// In the order of EventTarget::Kind.
constexpr ObjectKind kObjects[] = {ObjectKind::qp, ObjectKind::cq, ObjectKind::srq};

}  // namespace

void AsyncEventQueue::push(const AsyncEvent& event) {
  try {
    const std::lock_guard lock(mutex_);
    events_.put(event);
  } catch (const std::bad_alloc&) {  // lost; what befell the object shows in its state
    explain({.reason = because(ReasonId::out_of_memory, sizeof event)});
  }
}

void AsyncEventQueue::raise(ibv_event_type type, EventTarget& target) { push({type, &target, 0}); }

void AsyncEventQueue::raise_port(ibv_event_type type, int port) { push({type, nullptr, port}); }

void AsyncEventQueue::raise_device(ibv_event_type type) { push({type, nullptr, 0}); }

Expected<AsyncEvent, int> AsyncEventQueue::get() {
  return events_.get(mutex_, [](const AsyncEvent& event) {
    if (event.target != nullptr) ++event.target->fetched_;
  });
}

void AsyncEventQueue::acknowledge(const AsyncEvent& event) {
  if (event.target == nullptr) return;
  const std::lock_guard lock(mutex_);
  ++event.target->acked_;
  acked_.notify_all();
}

void AsyncEventQueue::retire(EventTarget& target) {
  std::unique_lock lock(mutex_);
  events_.remove([&target](const AsyncEvent& event) { return event.target == &target; });
  const auto done = [&] { return target.acked_ >= target.fetched_; };
  if (acked_.wait_for(lock, kPatienceWithAcks, done)) return;
  explain({.qpn = target.number(),
           .reason = because(ReasonId::waiting_for_acks, target.fetched_ - target.acked_,
                             kObjects[static_cast<std::size_t>(target.kind())])});
  acked_.wait(lock, done);
}

}  // namespace softrnic::rnic
