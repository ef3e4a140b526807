// When a lane looks at its link for packets: at once, where a queue pair may get some; now and then, where
// all messages come by streams (iWARP), as such a look is a system call before each message.
#pragma once

#include <atomic>

#include "base/paced_looks.h"

namespace softrnic::engine {

/// Thread-safe without a lock, as PacedLooks is.
class PacketLooks {
 public:
  /// Whether some queue pair may get packets.
  void set_awaited(bool awaited) { awaited_.store(awaited, std::memory_order_relaxed); }
  bool awaited() const { return awaited_.load(std::memory_order_relaxed); }
  bool due(TimePoint now) const { return awaited() || unawaited_.due(now); }
  void looked(TimePoint now) {
    if (!awaited()) unawaited_.looked(now);
  }
  /// The next look is due, whoever waits.
  void look_next() { unawaited_.look_next(); }

 private:
  std::atomic<bool> awaited_{true};
  PacedLooks unawaited_;
};

}  // namespace softrnic::engine
