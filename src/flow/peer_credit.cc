#include "flow/peer_credit.h"

#include <algorithm>
#include <utility>

namespace softrnic::flow {

bool PeerCredit::knows(TimePoint now) {
  if (reports_) return true;
  if (first_probed_ == kNever || now - first_probed_ < kFirstReport) return true;
  if (now - last_probed_ >= patience_) {
    probe(now);
    patience_ = std::min(2 * patience_, kLongestBackOff);
  }
  return false;
}

std::uint32_t PeerCredit::room(TimePoint now) {
  const std::uint32_t part = window_ / kParts;
  if (granted_ - taken_ + part > window_) {
    if (now - last_probed_ >= kProbeAgain) probe(now);
    return 0;
  }
  probe(now);
  granted_ += part;
  return part;
}

// All that was granted so far has been sent: whoever asks for room has used it up.
void PeerCredit::probe(TimePoint now) {
  if (first_probed_ == kNever) first_probed_ = now;
  last_probed_ = now;
  probed_ = granted_;
  if (!std::exchange(probes_pending_, true)) probes_.push_back(number_);
}

std::uint64_t PeerCredit::take_probe() {
  probes_pending_ = false;
  return probed_;
}

void PeerCredit::reported(std::uint64_t place, std::uint32_t buffer) {
  if (place > granted_) return;
  reports_ = true;
  taken_ = std::max(taken_, place);
  // The other half is for RC, and for what others send meanwhile.
  window_ = std::max(buffer / 2, kLeastWindow);
}

}  // namespace softrnic::flow
