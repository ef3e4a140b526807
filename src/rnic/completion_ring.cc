#include "rnic/completion_ring.h"

#include <algorithm>

#include "base/hot_path.h"

namespace softrnic::rnic {
namespace {

/// `count` of `ring` from `first` on, around its end. Mostly one or few: a call of memcpy would cost more.
template <typename T>
void copy_out(T* to, const T* ring, std::uint32_t first, std::uint32_t count, std::uint32_t slots) {
  const std::uint32_t unwrapped = std::min(count, slots - first);
  for (std::uint32_t i = 0; i < unwrapped; ++i) to[i] = ring[first + i];
  for (std::uint32_t i = unwrapped; i < count; ++i) to[i] = ring[i - unwrapped];
}

}  // namespace

CompletionRing& CompletionRing::operator=(CompletionRing&& other) noexcept {
  memory_ = std::move(other.memory_);
  ring_ = other.ring_;
  times_ = other.times_;
  slots_ = other.slots_;
  head_ = other.head_;
  size_.store(other.size(), std::memory_order_relaxed);
  return *this;
}

bool CompletionRing::allocate(std::uint32_t capacity, bool keeps_times, MemorySource* source) {
  static_assert(sizeof(ibv_wc) % alignof(std::uint64_t) == 0);
  slots_ = capacity + kRoomForReturned;
  const std::size_t entries = std::size_t{slots_} * sizeof(ibv_wc);
  const std::size_t times = keeps_times ? std::size_t{slots_} * sizeof(std::uint64_t) : 0;
  memory_ = QueueMemory(entries + times, source, QueueKind::completion);
  if (memory_.get() == nullptr) return false;
  ring_ = reinterpret_cast<ibv_wc*>(memory_.get());
  if (keeps_times) times_ = reinterpret_cast<std::uint64_t*>(memory_.get() + entries);
  return true;
}

SOFTRNIC_HOT_PATH void CompletionRing::push(const ibv_wc& wc, std::uint64_t time) {
  const std::uint32_t size = size_.load(std::memory_order_relaxed);
  set(slot(size), wc, time);
  size_.store(size + 1, std::memory_order_release);
}

void CompletionRing::drop_oldest() {
  head_ = slot(1);
  size_.store(size() - 1, std::memory_order_relaxed);
}

SOFTRNIC_HOT_PATH std::uint32_t CompletionRing::take(std::uint32_t count, ibv_wc* out, std::uint64_t* times) {
  const std::uint32_t size = size_.load(std::memory_order_relaxed);
  const std::uint32_t taken = std::min(size, count);
  copy_out(out, ring_, head_, taken, slots_);
  if (times != nullptr && times_ != nullptr) copy_out(times, times_, head_, taken, slots_);
  head_ = slot(taken);
  size_.store(size - taken, std::memory_order_relaxed);
  return taken;
}

void CompletionRing::put_back(const ibv_wc& wc, std::uint64_t time) {
  head_ = slot(slots_ - 1);
  set(head_, wc, time);
  size_.store(size() + 1, std::memory_order_release);
}

void CompletionRing::purge(std::uint32_t qpn) {
  const std::uint32_t size = this->size();
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    const std::uint32_t from = slot(i);
    if (!goes_with(ring_[from], qpn)) set(slot(kept++), ring_[from], time_at(from));
  }
  size_.store(kept, std::memory_order_relaxed);
}

void CompletionRing::move_to(CompletionRing& other) {
  for (std::uint32_t i = 0; i < size(); ++i) other.push(ring_[slot(i)], time_at(slot(i)));
}

}  // namespace softrnic::rnic
