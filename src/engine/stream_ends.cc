#include "engine/stream_ends.h"

#include <sys/eventfd.h>

#include <algorithm>

namespace softrnic::engine {

bool StreamEnds::open() {
  if (!event_) event_.reset(above_stdio(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
  return static_cast<bool>(event_);
}

void StreamEnds::expect() {
  const std::lock_guard lock(mutex_);
  const std::size_t most = tokens_.size() + expected_ + 1;
  if (tokens_.capacity() < most) tokens_.reserve(2 * most);
  ++expected_;
}

void StreamEnds::unexpect() {
  const std::lock_guard lock(mutex_);
  --expected_;
}

void StreamEnds::add(std::uint64_t token) {
  const std::lock_guard lock(mutex_);
  --expected_;
  tokens_.push_back(token);
  static_cast<void>(eventfd_write(event_.get(), 1));
}

std::size_t StreamEnds::take(std::span<std::uint64_t> out) {
  const std::lock_guard lock(mutex_);
  const std::size_t count = std::min(out.size(), tokens_.size());
  std::copy_n(tokens_.begin(), count, out.begin());
  tokens_.erase(tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(count));
  eventfd_t news = 0;
  if (tokens_.empty()) static_cast<void>(eventfd_read(event_.get(), &news));
  return count;
}

}  // namespace softrnic::engine
