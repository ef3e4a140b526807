// What the kernel of this host drops while peers are silent. An explanation names it, as hardly anybody looks
// at these counters.
#pragma once

#include <optional>

#include "base/kernel_drop.h"
#include "base/time.h"

namespace softrnic::engine {

class KernelDropWatch {
 public:
  using Read = KernelDropCounts (*)();
  /// Three files of /proc are read at most that often.
  static constexpr Duration kPause{1'000'000'000};
  /// What was read less than so long ago tells nothing yet: the shortest silence that ends a connection by
  /// the usual settings (retry_cnt 7, timeout 14) lasts half a second.
  static constexpr Duration kShort{100'000'000};

  struct Growth {
    KernelDropCounts counts{};
    Duration within{};
  };

  explicit KernelDropWatch(Read read) : read_(read) {}

  /// An ACK timeout has passed, and something is sent again.
  void timed_out(TimePoint now) {
    if (latest_ && now - latest_->when < kPause) return;
    before_ = latest_;
    latest_ = Look{now, read_()};
  }

  /// What was dropped since a peer has been silent; nothing when that was never noticed. Many queue pairs may
  /// give up a peer in one batch, of which all share a look.
  Growth growth(TimePoint now) {
    const std::optional<Look>& since = latest_ && now - latest_->when < kShort ? before_ : latest_;
    if (!since) return {};
    if (!present_ || present_->when != now) present_ = Look{now, read_()};
    Growth growth{present_->counts, now - since->when};
    for (std::size_t i = 0; i < growth.counts.size(); ++i) growth.counts[i] -= since->counts[i];
    return growth;
  }

 private:
  struct Look {
    TimePoint when{};
    KernelDropCounts counts{};
  };
  Read read_;
  std::optional<Look> before_, latest_;  ///< at timeouts
  std::optional<Look> present_;
};

}  // namespace softrnic::engine
