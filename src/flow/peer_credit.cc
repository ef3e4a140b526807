#include "flow/peer_credit.h"

#include <algorithm>
#include <utility>

namespace softrnic::flow {

bool PeerCredit::knows(TimePoint now) {
  if (answers_) return true;
  if (first_asked_ == kNever || now - first_asked_ < kMeeting) return true;
  if (now - last_asked_ >= patience_) {
    ask(now);
    patience_ = std::min(2 * patience_, kSeldom);
  }
  return false;
}

std::uint32_t PeerCredit::room(TimePoint now) {
  const std::uint32_t part = window_ / kParts;
  if (granted_ - taken_ + part > window_) {
    if (now - last_asked_ >= kAskAgain) ask(now);
    return 0;
  }
  ask(now);
  granted_ += part;
  return part;
}

// All that was granted so far has been sent: whoever asks for room has used it up.
void PeerCredit::ask(TimePoint now) {
  if (first_asked_ == kNever) first_asked_ = now;
  last_asked_ = now;
  asked_ = granted_;
  if (!std::exchange(asks_, true)) questions_.push_back(number_);
}

std::uint64_t PeerCredit::take_question() {
  asks_ = false;
  return asked_;
}

void PeerCredit::answered(std::uint64_t place, std::uint32_t buffer) {
  if (place > granted_) return;
  answers_ = true;
  taken_ = std::max(taken_, place);
  // The other half is for RC, and for what others send meanwhile.
  window_ = std::max(buffer / 2, kLeastWindow);
}

}  // namespace softrnic::flow
