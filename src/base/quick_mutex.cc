#include "base/quick_mutex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

#include "base/cpu_relax.h"

namespace softrnic {
namespace {

constexpr unsigned kSpins = 64;  ///< about a microsecond
constexpr timespec kLookAgain{0, 1'000'000};

void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* timeout) {
  syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

}  // namespace

// Whoever had to wait takes the mutex as an awaited one: others may be waiting still.
void QuickMutex::wait() {
  for (unsigned i = 0; i < kSpins; ++i) {
    cpu_relax();
    if (try_lock()) return;
  }
  while (!take(kFree, kAwaited)) {
    if (state_.load(std::memory_order_relaxed) == kAwaited || take(kHeld, kAwaited))
      futex(state_, FUTEX_WAIT_PRIVATE, kAwaited, &kLookAgain);
  }
}

void QuickMutex::wake() { futex(state_, FUTEX_WAKE_PRIVATE, 1, nullptr); }

}  // namespace softrnic
