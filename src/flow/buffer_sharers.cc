#include "flow/buffer_sharers.h"

#include <algorithm>

namespace softrnic::flow {

std::uint32_t BufferSharers::count(const Lane& lane, TimePoint now) {
  std::erase_if(sharers_, [&](const Sharer& sharer) { return now - sharer.asked > kLately; });
  const auto known = std::find_if(sharers_.begin(), sharers_.end(),
                                  [&](const Sharer& sharer) { return sharer.lane == lane; });
  if (known != sharers_.end()) {
    known->asked = now;
  } else if (sharers_.size() < kMost) {
    sharers_.push_back({lane, now});
  }
  return static_cast<std::uint32_t>(sharers_.size());
}

}  // namespace softrnic::flow
