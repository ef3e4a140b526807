#include "rnic/extended_poll.h"

#include <cerrno>

#include "base/hot_path.h"
#include "rnic/completion_queue.h"

namespace softrnic::rnic {

SOFTRNIC_HOT_PATH int ExtendedPoll::start() {
  if (locks_) mutex_.lock();
  cq_.begin_batch();
  at_ = end_ = 0;
  const int none = advance();
  if (none != 0) end();
  return none;
}

SOFTRNIC_HOT_PATH int ExtendedPoll::next() {
  if (at_ != end_) ++at_;
  return advance();
}

// Its queue pair may have been destroyed since it was taken.
SOFTRNIC_HOT_PATH int ExtendedPoll::advance() {
  do {
    for (; at_ != end_; ++at_) {
      if (!cq_.purged_in_batch(taken_[at_])) return 0;
    }
    at_ = end_ = 0;
    const int taken = cq_.poll(static_cast<int>(kBatch), taken_.data(), times_.data());
    if (taken <= 0) return taken == 0 ? ENOENT : -taken;
    end_ = static_cast<std::uint32_t>(taken);
  } while (true);
}

void ExtendedPoll::end() {
  const std::uint32_t begin = at_ == end_ ? at_ : at_ + 1;
  cq_.end_batch({taken_.data() + begin, end_ - begin}, times_.data() + begin);
  at_ = end_ = 0;
  if (locks_) mutex_.unlock();
}

}  // namespace softrnic::rnic
