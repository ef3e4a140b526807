// The locks that make atomic operations atomic on one host, whoever executes them: a responder for packets, or a neighbour
// that does it by itself.
//
// One table for a host, made by the daemon, as a word may be in the memory of several processes. Its place within its page
// is the same in all of them and chooses the lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/robust_mutex.h"
#include "base/unique_fd.h"

namespace softrnic::control {

inline constexpr std::size_t kDirectLocks = 512;  ///< words of 8 bytes in a page of 4096

struct alignas(64) DirectLock {
  RobustMutex mutex;
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
  RobustMutex& of(std::uint64_t address) const { return locks_[address / 8 % kDirectLocks].mutex; }
  /// In a forked child, which has none.
  void forget() { locks_ = nullptr; }

 private:
  DirectLock* locks_ = nullptr;
};

}  // namespace softrnic::control
