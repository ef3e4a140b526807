// A mutex for short sections that are rarely contended. It is given back with a plain store and not, as
// pthread's is, with a locked instruction, which makes a pair of calls cost half.
//
// So a sign of a waiter that comes in the very moment of that store may be missed; therefore who waits looks
// again by itself after a while.
#pragma once

#include <atomic>
#include <cstdint>

namespace softrnic {

/// Lockable. Not recursive.
class QuickMutex {
 public:
  QuickMutex() = default;
  QuickMutex(const QuickMutex&) = delete;
  QuickMutex& operator=(const QuickMutex&) = delete;

  void lock() {
    if (!take(kFree, kHeld)) wait();
  }
  bool try_lock() { return state_.load(std::memory_order_relaxed) == kFree && take(kFree, kHeld); }
  void unlock() {
    const bool awaited = state_.load(std::memory_order_relaxed) == kAwaited;
    state_.store(kFree, std::memory_order_release);
    if (awaited) wake();
  }

 private:
  enum State : std::uint32_t { kFree, kHeld, kAwaited };

  bool take(std::uint32_t from, State to) {
    return state_.compare_exchange_strong(from, to, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void wait();
  void wake();

  std::atomic<std::uint32_t> state_{kFree};
};

}  // namespace softrnic
