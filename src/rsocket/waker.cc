#include "rsocket/waker.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cstdint>

namespace softrnic::rsocket {

Waker::Waker() : fd_(above_stdio(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC))) {}

Waker& Waker::mine() {
  thread_local Waker waker;
  return waker;
}

void Waker::wake() {
  const std::uint64_t one = 1;
  static_cast<void>(!write(fd_.get(), &one, sizeof one));
}

void Waker::clear() {
  std::uint64_t count = 0;
  static_cast<void>(!read(fd_.get(), &count, sizeof count));
}

void Sleepers::remove(Waker& waker) {
  const auto found = std::find(wakers_.begin(), wakers_.end(), &waker);
  if (found != wakers_.end()) wakers_.erase(found);
}

}  // namespace softrnic::rsocket
