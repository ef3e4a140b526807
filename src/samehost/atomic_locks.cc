#include "samehost/atomic_locks.h"

#include <sched.h>
#include <sys/mman.h>

#include <utility>

#include "base/thread_number.h"
#include "control/shared_memory.h"
#include "samehost/proc_threads.h"

namespace softrnic::samehost {
namespace {

constexpr std::size_t kBytes = kDirectLocks * sizeof(DirectLock);
/// Who has a lock for longer may be dead. An atomic takes less, unless its thread is off the processor.
constexpr std::chrono::microseconds kAtomic{100};

}  // namespace

std::uint32_t DirectLock::word_of(std::uint8_t lane) {
  return static_cast<std::uint32_t>(thread_number()) << kLaneBits | lane;
}

// What stands there is looked at once a turn, as somebody may change it all the time.
bool DirectLock::try_lock_for(std::uint8_t lane, std::chrono::nanoseconds patience) {
  using Clock = std::chrono::steady_clock;
  const std::uint32_t own = word_of(lane);
  if (take(0, own)) return true;
  const auto begin = Clock::now();
  for (bool looked = false;;) {
    const std::uint32_t word = word_.load(std::memory_order_relaxed);
    if (word == 0 || word == own) {
      if (take(word, own)) return true;
    }
    const auto waited = Clock::now() - begin;
    if (waited >= kAtomic && !std::exchange(looked, true) && is_gone(thread_of(word)) && take(word, own))
      return true;
    if (waited >= patience) return false;
    sched_yield();
  }
}

void DirectLock::unlock(std::uint8_t lane) {
  std::uint32_t own = word_of(lane);
  word_.compare_exchange_strong(own, 0, std::memory_order_release, std::memory_order_relaxed);
}

void DirectLock::release(std::uint8_t lane) {
  std::uint32_t word = word_.load(std::memory_order_relaxed);
  if (word != 0 && static_cast<std::uint8_t>(word) == lane)
    word_.compare_exchange_strong(word, 0, std::memory_order_release, std::memory_order_relaxed);
}

UniqueFd DirectLocks::make() { return control::make_shared_memory("softrnic-locks", kBytes); }

DirectLocks::DirectLocks(const UniqueFd& fd)
    : locks_(fd ? static_cast<DirectLock*>(control::map_shared_memory(fd.get(), kBytes)) : nullptr) {}

DirectLocks::~DirectLocks() {
  if (locks_ != nullptr) munmap(locks_, kBytes);
}

DirectLocks& DirectLocks::operator=(DirectLocks&& other) noexcept {
  std::swap(locks_, other.locks_);
  return *this;
}

void DirectLocks::release(std::uint8_t lane) const {
  for (std::size_t i = 0; locks_ != nullptr && i < kDirectLocks; ++i) locks_[i].release(lane);
}

}  // namespace softrnic::samehost
