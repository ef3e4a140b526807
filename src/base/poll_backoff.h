// How a thread that polls in vain gives way to others: whoever polls for ever keeps a processor that its own
// peer may need.
#pragma once

#include <atomic>
#include <cstdint>

namespace softrnic {

/// What to do after a poll that has found nothing.
enum class Rest : std::uint8_t {
  pause,  ///< a few cycles
  yield,  ///< sched_yield()
  nap,    ///< some 50 us
};

/// For threads that poll one thing together. Thread-safe; what several count at once may be counted once.
class PollBackoff {
 public:
  /// An effort is counted in the cheapest polls; that of a system call is worth so many.
  static constexpr std::uint32_t kSystemCall = 256;

  void found() {
    effort_.store(0, std::memory_order_relaxed);
    rests_.store(0, std::memory_order_relaxed);
  }
  /// After a poll of so much effort, at least 1.
  Rest in_vain(std::uint32_t effort);

 private:
  std::atomic<std::uint32_t> effort_{0};  ///< since the last rest
  std::atomic<std::uint32_t> rests_{0};   ///< since something was found
};

void take_rest(Rest rest);

}  // namespace softrnic
