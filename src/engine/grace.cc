#include "engine/grace.h"

#include <algorithm>

namespace softrnic::engine {

void Grace::woke(bool found, Duration since_poll) {
  if (found && since_poll > kUnpolled) {
    grace_ = Duration::zero();
    fruitless_ = 0;
    return;
  }
  if (since_poll > kIdle) return;
  if (grace_ == Duration::zero() && ++fruitless_ < kPatience) return;
  grace_ = std::clamp(grace_ * 2, kShortest, kLongest);
}

}  // namespace softrnic::engine
