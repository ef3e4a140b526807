#include "rnic/completion_channel.h"

#include <algorithm>
#include <cerrno>
#include <new>

#include "base/reason_id.h"
#include "base/reason_words.h"
#include "rnic/completion_queue.h"
#include "rnic/context.h"
#include "rnic/refusal.h"

namespace softrnic::rnic {

Expected<std::unique_ptr<CompletionChannel>, Failure> CompletionChannel::create() {
  std::unique_ptr<CompletionChannel> channel(new CompletionChannel);
  if (!channel->events_.valid()) return refused(errno, ReasonId::out_of_fds, errno);
  return channel;
}

Expected<void, Failure> CompletionChannel::destroy() {
  const std::lock_guard lock(mutex_);
  if (!queues_.empty()) return refused(EBUSY, ReasonId::object_busy, queues_.size(), ObjectKind::channel);
  return {};
}

Expected<CompletionQueue*, int> CompletionChannel::get() {
  if (events_.would_wait()) explain_missed();
  return events_.get(mutex_, [](CompletionQueue* cq) { ++cq->fetched_events_; });
}

// A program that waits while completions lie in a queue that is not armed waits for ever: the classic
// mistake. Who asks without waiting only empties the channel before it arms the queue, as UCX does.
void CompletionChannel::explain_missed() {
  const std::lock_guard lock(mutex_);
  for (CompletionQueue* cq : queues_) {
    const std::uint32_t waiting = cq->ring_.size();
    const std::uint32_t missed = std::min(waiting, cq->missed_.exchange(0, std::memory_order_relaxed));
    if (missed != 0) explain({.reason = because(ReasonId::cq_not_rearmed, missed, fd())});
  }
}

void CompletionChannel::add(CompletionQueue& cq) {
  const std::lock_guard lock(mutex_);
  queues_.push_back(&cq);
}

void CompletionChannel::retire(CompletionQueue& cq) {
  std::unique_lock lock(mutex_);
  std::erase(queues_, &cq);
  events_.remove([&cq](const CompletionQueue* of) { return of == &cq; });
  // Some programs acknowledge more events than they fetched.
  const auto done = [&] { return cq.acked_events_ >= cq.fetched_events_; };
  if (acked_.wait_for(lock, kPatienceWithAcks, done)) return;
  explain(
      {.reason = because(ReasonId::waiting_for_acks, cq.fetched_events_ - cq.acked_events_, ObjectKind::cq)});
  acked_.wait(lock, done);
}

bool CompletionChannel::notify(CompletionQueue& cq) {
  try {
    const std::lock_guard lock(mutex_);
    events_.put(&cq);
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

void CompletionChannel::acknowledge(CompletionQueue& cq, unsigned events) {
  const std::lock_guard lock(mutex_);
  cq.acked_events_ += events;
  acked_.notify_all();
}

}  // namespace softrnic::rnic
