// Whether two sides take turns: one speaks, the other answers soon, and the first speaks again.
//
// Programs that wait for a WRITE by looking at memory often post as soon as it is there. What else the
// WRITE causes (its ACK, its completion) may then wait for the answer, if one has come soon each of the last
// times. An answer that does not come costs whoever waits his patience; who has waited in vain asks for twice
// the proof until one comes, so that it is less than a hundredth of turns that cost it.
//
// Pure: figures in, decision out.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace softrnic {

class TurnPredictor {
 public:
  /// An answer within this time counts, unless another is chosen.
  static constexpr Duration kSoon = std::chrono::microseconds(100);
  /// After so many answers in a row one is expected; after so many at most, where that was wrong before.
  static constexpr unsigned kProof = 8;
  static constexpr unsigned kMostProof = 128;

  TurnPredictor() = default;
  explicit TurnPredictor(Duration soon) : soon_(soon) {}

  /// The first side has spoken. True: an answer is expected.
  bool spoke(TimePoint now) {
    interrupted();  // more than once at a time: nobody takes turns
    spoke_at_ = now;
    return answers_ >= proof_;
  }
  /// The other side has.
  void answered(TimePoint now) {
    if (spoke_at_ == kNever) return;
    const bool soon = now - spoke_at_ <= soon_;
    if (soon && answers_ >= proof_) proof_ = kProof;
    answers_ = soon ? std::min(answers_ + 1, kMostProof) : 0;
    spoke_at_ = kNever;
  }
  /// The first side does something else, for which the other may have waited: what follows is no answer.
  void interrupted() {
    if (spoke_at_ == kNever) return;
    answers_ = 0;
    spoke_at_ = kNever;
  }
  /// Nobody waits any longer for the answer that was expected.
  void gave_up() {
    answers_ = 0;
    proof_ = std::min(proof_ * 2, kMostProof);
  }

 private:
  Duration soon_ = kSoon;
  TimePoint spoke_at_ = kNever;  ///< and was not answered
  unsigned answers_ = 0;         ///< in a row
  unsigned proof_ = kProof;
};

}  // namespace softrnic
