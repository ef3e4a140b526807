// Whether two sides take turns: one speaks, the other answers soon, and the first speaks again.
//
// Programs that wait for a WRITE by looking at memory often post as soon as it is there. What else the
// WRITE causes (its ACK, its completion) may then wait for the answer, if one has come soon each of the last
// times. An answer that does not come costs whoever waits kSoon, once.
//
// Pure: figures in, decision out.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace softrnic {

class TurnPredictor {
 public:
  /// An answer is expected within this time.
  static constexpr Duration kSoon = std::chrono::microseconds(100);
  /// After so many answers in a row.
  static constexpr std::uint8_t kProof = 8;

  /// The first side has spoken. True: an answer is expected.
  bool spoke(TimePoint now) {
    if (spoke_at_ != kNever) answers_ = 0;  // more than once at a time: nobody takes turns
    spoke_at_ = now;
    return answers_ == kProof;
  }
  /// The other side has.
  void answered(TimePoint now) {
    if (spoke_at_ == kNever) return;
    answers_ = now - spoke_at_ <= kSoon ? std::min<std::uint8_t>(answers_ + 1, kProof) : 0;
    spoke_at_ = kNever;
  }

 private:
  TimePoint spoke_at_ = kNever;  ///< and was not answered
  std::uint8_t answers_ = 0;     ///< in a row
};

}  // namespace softrnic
