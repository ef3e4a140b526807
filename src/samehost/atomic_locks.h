// The locks that make atomic operations atomic on one host, whoever executes them: a responder for packets,
// or a local peer that does it by itself.
//
// One table for a host, made by the daemon, as a word may be in the memory of several processes. Its place
// within its page is the same in all of them and chooses the lock.
//
// All processes can write the table, so nothing stands there but who has a lock: no pointers, as a robust
// futex has. Whatever a process writes there, others wait for a bounded time. What the dead have left is
// taken over by who comes upon it, or freed by the daemon.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/unique_fd.h"

namespace softrnic::samehost {

inline constexpr std::size_t kDirectLocks = 512;  ///< words of 8 bytes in a page of 4096

/// In shared memory; zero is free.
class alignas(64) DirectLock {
 public:
  /// For the calling thread, on behalf of a lane. Waits for so long while somebody else has it who lives.
  bool try_lock_for(std::uint8_t lane, std::chrono::nanoseconds patience);
  /// By the thread that has it, unless it was taken away.
  void unlock(std::uint8_t lane);
  /// The number of the thread that has it, in its PID namespace; 0: nobody has.
  pid_t holder() const { return thread_of(word_.load(std::memory_order_relaxed)); }
  /// Frees it if that lane has it.
  void release(std::uint8_t lane);

 private:
  static constexpr unsigned kLaneBits = 8;  ///< and 22 for the thread: PID_MAX_LIMIT
  static std::uint32_t word_of(std::uint8_t lane);
  static pid_t thread_of(std::uint32_t word) { return static_cast<pid_t>(word >> kLaneBits); }
  bool take(std::uint32_t from, std::uint32_t own) {
    return word_.compare_exchange_strong(from, own, std::memory_order_acquire, std::memory_order_relaxed);
  }

  std::atomic<std::uint32_t> word_{0};
};

class DirectLocks {
 public:
  /// A memfd with a new table, sealed; no fd: there is no memory for it.
  static UniqueFd make();
  /// No table when `fd` is none.
  explicit DirectLocks(const UniqueFd& fd);
  DirectLocks() = default;
  ~DirectLocks();
  DirectLocks(DirectLocks&& other) noexcept : locks_(other.locks_) { other.locks_ = nullptr; }
  DirectLocks& operator=(DirectLocks&& other) noexcept;

  explicit operator bool() const { return locks_ != nullptr; }
  /// The lock of the word at this address in any process.
  DirectLock& of(std::uint64_t address) const { return locks_[address / 8 % kDirectLocks]; }
  /// By the daemon: frees what a lane has left, whose process is dead or has given it back.
  void release(std::uint8_t lane) const;
  /// In a forked child, which has none.
  void forget() { locks_ = nullptr; }

 private:
  DirectLock* locks_ = nullptr;
};

/// Has a lock as long as it lives, or has not got it.
class DirectLockHeld {
 public:
  DirectLockHeld(DirectLock& lock, std::uint8_t lane, std::chrono::nanoseconds patience)
      : lock_(lock), lane_(lane), held_(lock.try_lock_for(lane, patience)) {}
  ~DirectLockHeld() {
    if (held_) lock_.unlock(lane_);
  }
  DirectLockHeld(const DirectLockHeld&) = delete;
  DirectLockHeld& operator=(const DirectLockHeld&) = delete;
  explicit operator bool() const { return held_; }

 private:
  DirectLock& lock_;
  const std::uint8_t lane_;
  const bool held_;
};

}  // namespace softrnic::samehost
