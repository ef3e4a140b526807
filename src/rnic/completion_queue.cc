#include "rnic/completion_queue.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <mutex>
#include <new>

#include "base/clock.h"
#include "base/hot_path.h"
#include "base/reason_id.h"
#include "base/reason_words.h"
#include "rnic/completion_channel.h"
#include "rnic/context.h"
#include "rnic/lane_port.h"
#include "rnic/limits.h"
#include "rnic/protection_domain.h"
#include "rnic/refusal.h"

namespace softrnic::rnic {
namespace {

constexpr std::uint32_t kEfforts[] = {0, 1, PollBackoff::kSystemCall};  ///< by Effort

constexpr std::uint32_t kFoundPerLook = 16;  ///< completions

Unexpected<Failure> out_of_memory(std::uint32_t entries) {
  return refused(ENOMEM, ReasonId::out_of_memory, std::uint64_t{entries} * sizeof(ibv_wc));
}

// As drivers do, and programs have come to rely on.
std::uint32_t rounded(int entries) { return std::bit_ceil(static_cast<std::uint32_t>(entries)); }

bool valid_size(int entries) { return entries >= 1 && static_cast<unsigned>(entries) <= limits::kMaxCqes; }

}  // namespace

CompletionQueue::CompletionQueue(Context& context, const CompletionQueueInit& init)
    : EventTarget(Kind::completion_queue),
      context_(context),
      channel_(init.channel),
      ignores_overrun_(init.ignores_overrun),
      parent_(init.parent) {}

CompletionQueue::~CompletionQueue() = default;

MemorySource* CompletionQueue::memory_source() const {
  return parent_ != nullptr ? parent_->memory_source() : nullptr;
}

Expected<std::unique_ptr<CompletionQueue>, Failure> CompletionQueue::create(Context& context,
                                                                            const CompletionQueueInit& init) {
  if (!valid_size(init.entries)) return refused(EINVAL, ReasonId::bad_cqe, init.entries, limits::kMaxCqes);
  if (init.vector < 0 || init.vector >= limits::kCompletionVectors) {
    return refused(EINVAL, ReasonId::bad_comp_vector, init.vector, limits::kCompletionVectors);
  }
  if (context.counts.cqs.users() >= limits::kMaxCqs) {
    return refused(ENOMEM, ReasonId::too_many_objects, limits::kMaxCqs, ObjectKind::cq);
  }
  std::unique_ptr<CompletionQueue> cq(new CompletionQueue(context, init));
  const std::uint32_t entries = rounded(init.entries);
  if (!cq->ring_.allocate(entries, init.keeps_times, cq->memory_source())) return out_of_memory(entries);
  cq->capacity_ = entries;
  if (init.parent != nullptr) init.parent->uses.add();
  if (init.channel != nullptr) init.channel->add(*cq);
  context.counts.cqs.add();
  return cq;
}

Expected<void, Failure> CompletionQueue::destroy() {
  if (uses_.users() != 0) return refused(EBUSY, ReasonId::object_busy, uses_.users(), ObjectKind::cq);
  if (was_moderated_) forget_looks();
  if (channel_ != nullptr) channel_->retire(*this);
  context_.events().retire(*this);
  ring_ = CompletionRing();
  if (parent_ != nullptr) parent_->uses.release();
  context_.counts.cqs.release();
  return {};
}

std::uint64_t CompletionQueue::arrival_time() const {
  return static_cast<std::uint64_t>(ns_of(monotonic_now()));
}

int CompletionQueue::take(int count, ibv_wc* out, std::uint64_t* times) {
  if (ring_.size() == 0) return 0;
  const std::lock_guard lock(mutex_);
  return static_cast<int>(ring_.take(static_cast<std::uint32_t>(count), out, times));
}

SOFTRNIC_HOT_PATH int CompletionQueue::poll(int count, ibv_wc* out, std::uint64_t* times) {
  if (count < 0) return -EINVAL;
  if (count == 0) return 0;
  const bool broken = overrun_.load(std::memory_order_acquire);  // first: nothing is added after it
  if (const int taken = take(count, out, times); taken != 0) {
    look_after_lanes(static_cast<std::uint32_t>(taken));
    return taken;
  }
  if (broken) return -EIO;
  CompletionSink sink{this, out, out + count};
  const std::uint32_t effort = drive_lanes(sink);
  const int passed = static_cast<int>(sink.next - out);
  if (times != nullptr && passed != 0 && ring_.keeps_times()) {
    std::fill_n(times, passed, arrival_time());
    times += passed;
  }
  const int taken = passed + (passed < count ? take(count - passed, sink.next, times) : 0);
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
  missed_.store(solicited_only ? 0 : ring_.size(), std::memory_order_relaxed);
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
  const std::uint32_t wanted = rounded(entries);
  CompletionRing ring;
  if (!ring.allocate(wanted, ring_.keeps_times(), memory_source())) return out_of_memory(wanted);
  std::unique_lock lock(mutex_);
  const std::uint32_t size = ring_.size();
  if (size > wanted) {
    lock.unlock();
    return refused(EINVAL, ReasonId::cq_resize_too_small, entries, size);
  }
  ring_.move_to(ring);
  std::swap(ring_, ring);  // what was there goes when no lock is held
  capacity_.store(wanted, std::memory_order_relaxed);
  return static_cast<int>(wanted);
}

Pushed CompletionQueue::push(const ibv_wc& wc, bool solicited) {
  const std::lock_guard lock(mutex_);
  return add(wc, solicited, true);
}

void CompletionQueue::push_at_once(const ibv_wc& wc) {
  const std::lock_guard lock(mutex_);
  add(wc, false, false);
}

Pushed CompletionQueue::add(const ibv_wc& wc, bool solicited, bool may_wait) {
  if (overrun_.load(std::memory_order_relaxed)) return Pushed::lost;
  if (ring_.size() >= ring_.capacity()) {
    if (!ignores_overrun_) {
      overrun_.store(true, std::memory_order_release);
      context_.events().raise(IBV_EVENT_CQ_ERR, *this);
      return Pushed::lost;
    }
    ring_.drop_oldest();
  }
  ring_.push(wc, ring_.keeps_times() ? arrival_time() : 0);
  if (channel_ == nullptr) return Pushed::added;
  const Armed armed = armed_.load(std::memory_order_relaxed);
  const bool due =
      armed == Armed::next || (armed == Armed::solicited && (solicited || wc.status != IBV_WC_SUCCESS));
  if (due) return bring_event(may_wait);
  if (armed == Armed::no) missed_.fetch_add(1, std::memory_order_relaxed);
  return Pushed::added;
}

Pushed CompletionQueue::bring_event(bool may_wait) {
  if (may_wait && moderation_.on() && !moderation_.completed())
    return moderation_.is_unwatched() ? Pushed::event_waits : Pushed::added;
  tell();
  return Pushed::added;
}

// If memory for it runs out, the next completion brings the event.
void CompletionQueue::tell() {
  moderation_.told();
  if (channel_->notify(*this)) armed_.store(Armed::no, std::memory_order_relaxed);
}

Expected<void, Failure> CompletionQueue::moderate(std::uint16_t count, std::uint16_t period) {
  if (period > limits::kMaxModerationPeriod)
    return refused(EINVAL, ReasonId::bad_cq_period, period, limits::kMaxModerationPeriod);
  const std::lock_guard lock(mutex_);
  if (moderation_.waits()) tell();
  moderation_.set({count, std::chrono::microseconds(period)});
  was_moderated_.store(true, std::memory_order_relaxed);
  return {};
}

TimePoint CompletionQueue::next_look() {
  const std::lock_guard lock(mutex_);
  return moderation_.take_look();
}

TimePoint CompletionQueue::tell_when_due(TimePoint look, TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (moderation_.overdue(now)) tell();
  return moderation_.look_again(look);
}

void CompletionQueue::forget_looks() {
  for (const auto& lane : lanes_) {
    if (LanePort* const port = lane.load(std::memory_order_acquire); port != nullptr) port->forget(*this);
  }
}

void CompletionQueue::purge(std::uint32_t qpn) {
  const std::lock_guard lock(mutex_);
  ring_.purge(qpn);
  if (!batch_.load(std::memory_order_relaxed)) return;
  try {
    purged_.push_back(qpn);
    any_purged_.store(true, std::memory_order_relaxed);
  } catch (const std::bad_alloc&) {  // then the program sees what it would have seen a moment ago
  }
}

bool CompletionQueue::was_purged(const ibv_wc& wc) {
  const std::lock_guard lock(mutex_);
  return is_purged(wc);
}

bool CompletionQueue::is_purged(const ibv_wc& wc) const {
  return std::any_of(purged_.begin(), purged_.end(), [&](std::uint32_t qpn) { return goes_with(wc, qpn); });
}

void CompletionQueue::end_batch(std::span<const ibv_wc> unused, const std::uint64_t* times) {
  batch_.store(false, std::memory_order_relaxed);
  if (unused.empty() && !any_purged_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = unused.size(); i-- > 0;) {
    if (!is_purged(unused[i])) ring_.put_back(unused[i], times[i]);
  }
  purged_.clear();
  any_purged_.store(false, std::memory_order_relaxed);
}

void CompletionQueue::add_lane(LanePort& lane) {
  for (auto& place : lanes_) {
    LanePort* expected = nullptr;
    if (place.compare_exchange_strong(expected, &lane, std::memory_order_acq_rel) || expected == &lane)
      return;
  }
}

}  // namespace softrnic::rnic
