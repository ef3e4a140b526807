#include "rnic/completion_queue.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "base/hot_path.h"
#include "base/reason_words.h"
#include "rnic/completion_channel.h"
#include "rnic/context.h"
#include "rnic/lane_port.h"
#include "rnic/limits.h"
#include "rnic/refusal.h"

namespace softrnic::rnic {
namespace {

constexpr std::uint32_t kEfforts[] = {0, 1, PollBackoff::kSystemCall};  ///< by Effort

constexpr std::uint32_t kFoundPerLook = 16;  ///< completions

bool valid_size(int entries) { return entries >= 1 && static_cast<unsigned>(entries) <= limits::kMaxCqes; }

}  // namespace

void CompletionQueue::FreeRing::operator()(ibv_wc* ring) const { std::free(ring); }

// malloc takes big rings from the kernel as pages that are there only once they are used.
CompletionQueue::Ring CompletionQueue::allocate(std::uint32_t entries) {
  return Ring(static_cast<ibv_wc*>(std::malloc(entries * sizeof(ibv_wc))));
}

CompletionQueue::CompletionQueue(Context& context, CompletionChannel* channel)
    : EventTarget(Kind::completion_queue), context_(context), channel_(channel) {}

CompletionQueue::~CompletionQueue() = default;

Expected<std::unique_ptr<CompletionQueue>, Failure> CompletionQueue::create(Context& context, int entries,
                                                                            CompletionChannel* channel,
                                                                            int vector) {
  if (!valid_size(entries)) return refused(EINVAL, ReasonId::bad_cqe, entries, limits::kMaxCqes);
  if (vector < 0 || vector >= limits::kCompletionVectors) {
    return refused(EINVAL, ReasonId::bad_comp_vector, vector, limits::kCompletionVectors);
  }
  if (context.counts.cqs.users() >= limits::kMaxCqs) {
    return refused(ENOMEM, ReasonId::too_many_objects, limits::kMaxCqs, ObjectKind::cq);
  }
  std::unique_ptr<CompletionQueue> cq(new CompletionQueue(context, channel));
  cq->ring_ = allocate(static_cast<std::uint32_t>(entries));
  if (!cq->ring_) return refused(ENOMEM, ReasonId::out_of_memory, std::uint64_t(entries) * sizeof(ibv_wc));
  cq->capacity_ = static_cast<std::uint32_t>(entries);
  if (channel != nullptr) channel->add(*cq);
  context.counts.cqs.add();
  return cq;
}

Expected<void, Failure> CompletionQueue::destroy() {
  if (uses_.users() != 0) return refused(EBUSY, ReasonId::object_busy, uses_.users(), ObjectKind::cq);
  if (channel_ != nullptr) channel_->retire(*this);
  context_.events().retire(*this);
  context_.counts.cqs.release();
  return {};
}

int CompletionQueue::take(int count, ibv_wc* out) {
  if (size_.load(std::memory_order_acquire) == 0) return 0;
  const std::lock_guard lock(mutex_);
  const std::uint32_t size = size_.load(std::memory_order_relaxed);
  const std::uint32_t taken = std::min(size, static_cast<std::uint32_t>(count));
  const std::uint32_t capacity = capacity_.load(std::memory_order_relaxed);
  const std::uint32_t unwrapped = std::min(taken, capacity - head_);
  std::memcpy(out, ring_.get() + head_, unwrapped * sizeof *out);
  std::memcpy(out + unwrapped, ring_.get(), (taken - unwrapped) * sizeof *out);
  head_ = (head_ + taken) % capacity;
  size_.store(size - taken, std::memory_order_relaxed);
  return static_cast<int>(taken);
}

SOFTRNIC_HOT_PATH int CompletionQueue::poll(int count, ibv_wc* out) {
  if (count < 0) return -EINVAL;
  if (count == 0) return 0;
  const bool broken = overrun_.load(std::memory_order_acquire);  // first: nothing is added after it
  if (const int taken = take(count, out); taken != 0) {
    look_after_lanes(static_cast<std::uint32_t>(taken));
    return taken;
  }
  if (broken) return -EIO;
  CompletionSink sink{this, out, out + count};
  const std::uint32_t effort = drive_lanes(sink);
  int taken = static_cast<int>(sink.next - out);
  if (taken < count) taken += take(count - taken, sink.next);
  if (taken != 0 || effort == 0) {
    backoff_.found();
  } else {
    take_rest(backoff_.in_vain(effort));
  }
  return taken;
}

// A program whose requests complete at once always finds something. If it looked at nothing else, the engine
// threads would have to, and wait for the lock that it holds nearly all the time.
void CompletionQueue::look_after_lanes(std::uint32_t found) {
  const std::uint32_t so_far = found_.load(std::memory_order_relaxed) + found;
  const bool due = so_far >= kFoundPerLook;
  found_.store(due ? 0 : so_far, std::memory_order_relaxed);
  if (!due) return;
  CompletionSink none;
  drive_lanes(none);
}

// 0: it was not in vain.
std::uint32_t CompletionQueue::drive_lanes(CompletionSink& sink) {
  std::uint32_t effort = 0;
  bool useful = false;
  for (const auto& lane : lanes_) {
    LanePort* const port = lane.load(std::memory_order_acquire);
    if (port == nullptr) break;
    const Effort spent = port->progress(sink);
    effort += kEfforts[static_cast<std::size_t>(spent)];
    useful |= spent == Effort::useful;
  }
  return useful ? 0 : std::max(effort, 1U);
}

// IBTA 11.4.2.2: a pending request for any completion is not weakened by one for solicited completions.
Expected<void, Failure> CompletionQueue::request_notification(bool solicited_only) {
  if (overrun_.load(std::memory_order_acquire)) return refused_as_broken();
  const std::lock_guard lock(mutex_);
  if (armed_.load(std::memory_order_relaxed) != Armed::next)
    armed_.store(solicited_only ? Armed::solicited : Armed::next, std::memory_order_relaxed);
  // What lies there already brings no event; who waits only for solicited completions may mean that.
  missed_.store(solicited_only ? 0 : size_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  return {};
}

Unexpected<Failure> CompletionQueue::refused_as_broken() const {
  return refused(EIO, ReasonId::cq_overrun, capacity());
}

void CompletionQueue::acknowledge(unsigned events) {
  if (channel_ != nullptr) channel_->acknowledge(*this, events);
}

Expected<int, Failure> CompletionQueue::resize(int entries) {
  if (!valid_size(entries)) return refused(EINVAL, ReasonId::bad_cqe, entries, limits::kMaxCqes);
  if (overrun_.load(std::memory_order_acquire)) return refused_as_broken();
  Ring ring = allocate(static_cast<std::uint32_t>(entries));
  if (!ring) return refused(ENOMEM, ReasonId::out_of_memory, std::uint64_t(entries) * sizeof(ibv_wc));
  std::unique_lock lock(mutex_);
  const std::uint32_t size = size_.load(std::memory_order_relaxed);
  if (size > static_cast<std::uint32_t>(entries)) {
    lock.unlock();
    return refused(EINVAL, ReasonId::cq_resize_too_small, entries, size);
  }
  const std::uint32_t capacity = capacity_.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < size; ++i) ring[i] = ring_[(head_ + i) % capacity];
  ring_ = std::move(ring);
  head_ = 0;
  capacity_.store(static_cast<std::uint32_t>(entries), std::memory_order_relaxed);
  return entries;
}

bool CompletionQueue::push(const ibv_wc& wc, bool solicited) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t capacity = capacity_.load(std::memory_order_relaxed);
  const std::uint32_t size = size_.load(std::memory_order_relaxed);
  if (overrun_.load(std::memory_order_relaxed)) return false;
  if (size == capacity) {
    overrun_.store(true, std::memory_order_release);
    context_.events().raise(IBV_EVENT_CQ_ERR, *this);
    return false;
  }
  ring_[(head_ + size) % capacity] = wc;
  size_.store(size + 1, std::memory_order_release);
  if (channel_ == nullptr) return true;
  const Armed armed = armed_.load(std::memory_order_relaxed);
  const bool due =
      armed == Armed::next || (armed == Armed::solicited && (solicited || wc.status != IBV_WC_SUCCESS));
  if (due) {  // if it cannot be told, the next completion brings the event
    if (channel_->notify(*this)) armed_.store(Armed::no, std::memory_order_relaxed);
  } else if (armed == Armed::no) {
    missed_.fetch_add(1, std::memory_order_relaxed);
  }
  return true;
}

void CompletionQueue::purge(std::uint32_t qpn) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t capacity = capacity_.load(std::memory_order_relaxed);
  const std::uint32_t size = size_.load(std::memory_order_relaxed);
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    const ibv_wc& wc = ring_[(head_ + i) % capacity];
    if (wc.qp_num != qpn) ring_[(head_ + kept++) % capacity] = wc;
  }
  size_.store(kept, std::memory_order_relaxed);
}

void CompletionQueue::add_user(LanePort& lane) {
  uses_.add();
  for (auto& place : lanes_) {
    LanePort* expected = nullptr;
    if (place.compare_exchange_strong(expected, &lane, std::memory_order_acq_rel) || expected == &lane)
      return;
  }
}

}  // namespace softrnic::rnic
