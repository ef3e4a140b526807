#include "transport/ib/gauge.h"

namespace softrnic::ib {

GaugedRoom::Answer GaugedRoom::take(std::uint32_t bytes, TimePoint now) {
  if (gauge_ == nullptr || !gauge_->knows(now)) return Answer::unknown;
  const std::uint32_t cost = datagram_cost(bytes);
  if (room_ < cost || !gauge_->reserves()) room_ = gauge_->room(now);
  if (room_ >= cost) {
    room_ -= cost;
    full_since_ = kNever;
    return Answer::granted;
  }
  if (full_since_ == kNever) full_since_ = now;
  return now - full_since_ < kPatience ? Answer::full : Answer::unknown;
}

const char* GaugedRoom::broken_invariant() const {
  const bool asked = room_ != 0 || full_since_ != kNever;
  return gauge_ == nullptr && asked ? "there is room in a buffer that nobody looks at" : nullptr;
}

}  // namespace softrnic::ib
