// The ring of a completion queue, with the time of each completion where that is wanted.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/queue_memory.h"

namespace softrnic::rnic {

/// Whether a completion goes when this queue pair is destroyed or reset. Those of tag matching stay: they are
/// the SRQ's, and tell of tagged buffers, or have to be counted.
constexpr bool goes_with(const ibv_wc& wc, std::uint32_t qpn) {
  return wc.qp_num == qpn && (wc.opcode < IBV_WC_TM_ADD || wc.opcode > IBV_WC_TM_NO_TAG);
}

/// Not thread-safe but for size().
class CompletionRing {
 public:
  /// Entries, beyond its capacity, for what a program takes and gives back (put_back)
  static constexpr std::uint32_t kRoomForReturned = 16;

  CompletionRing() = default;
  CompletionRing(CompletionRing&& other) noexcept { *this = std::move(other); }
  CompletionRing& operator=(CompletionRing&& other) noexcept;

  /// False: no memory.
  bool allocate(std::uint32_t capacity, bool keeps_times, MemorySource* source);

  std::uint32_t capacity() const { return slots_ - kRoomForReturned; }
  std::uint32_t size() const { return size_.load(std::memory_order_acquire); }
  bool keeps_times() const { return times_ != nullptr; }

  /// There has to be room. `time`: nanoseconds, kept if times are.
  void push(const ibv_wc& wc, std::uint64_t time);
  /// There has to be one.
  void drop_oldest();
  /// Removes the oldest, at most `count`, and returns how many. `times` may be nullptr.
  std::uint32_t take(std::uint32_t count, ibv_wc* out, std::uint64_t* times);
  /// Makes this one the oldest: the last that was taken, at most kRoomForReturned of them.
  void put_back(const ibv_wc& wc, std::uint64_t time);
  /// Removes the completions that go with a queue pair.
  void purge(std::uint32_t qpn);
  /// To an empty ring, which has room for them.
  void move_to(CompletionRing& other);

 private:
  std::uint32_t slot(std::uint32_t index) const { return (head_ + index) % slots_; }
  std::uint64_t time_at(std::uint32_t slot) const { return times_ != nullptr ? times_[slot] : 0; }
  void set(std::uint32_t slot, const ibv_wc& wc, std::uint64_t time) {
    ring_[slot] = wc;
    if (times_ != nullptr) times_[slot] = time;
  }

  QueueMemory memory_;
  ibv_wc* ring_ = nullptr;
  std::uint64_t* times_ = nullptr;
  std::uint32_t slots_ = 0;
  std::uint32_t head_ = 0;
  std::atomic<std::uint32_t> size_{0};
};

}  // namespace softrnic::rnic
