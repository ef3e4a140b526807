// Whether a program answers what its peer writes.
//
// Programs that wait for a WRITE by looking at memory often post as soon as it is there. The ACK of
// such a WRITE then costs both ends a packet and a wake-up that the answer could have spared: so it may
// wait for the answer, if the program has given one soon each of the last times. One that does not come
// costs the peer kSoon, once.
//
// Pure: figures in, decision out.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace softrnic::engine {

class DelayedAckPredictor {
 public:
  /// An answer is expected within this time.
  static constexpr Duration kSoon = std::chrono::microseconds(100);
  /// After so many answers in a row.
  static constexpr std::uint8_t kProof = 8;

  /// The peer has written a short message. True: its ACK may wait.
  bool written(TimePoint now) {
    if (written_at_ != kNever) answers_ = 0;  // more than one at a time: nobody takes turns
    written_at_ = now;
    return answers_ == kProof;
  }
  /// The program has posted.
  void posted(TimePoint now) {
    if (written_at_ == kNever) return;
    answers_ = now - written_at_ <= kSoon ? std::min<std::uint8_t>(answers_ + 1, kProof) : 0;
    written_at_ = kNever;
  }

 private:
  TimePoint written_at_ = kNever;  ///< and not answered
  std::uint8_t answers_ = 0;       ///< in a row
};

}  // namespace softrnic::engine
