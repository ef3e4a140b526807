#include "daemon/event_loop.h"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <ctime>
#include <span>

#include "base/clock.h"

namespace softrnic::daemon {
namespace {

Duration left_until(TimePoint due) { return std::max(due - monotonic_now(), Duration::zero()); }

int milliseconds_until(TimePoint due) {
  if (due == kNever) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(left_until(due)).count();
  return static_cast<int>(std::min<std::int64_t>(left, INT_MAX));
}

// A packet of an emulated link takes less than a millisecond, the unit of epoll_wait(). The finer call has
// a function since glibc 2.35 only, and is not there before Linux 5.11 or behind a filter that does not know
// it.
long wait_for(int epoll, std::span<epoll_event> events, TimePoint due) {
  const Duration left = due == kNever ? Duration::zero() : left_until(due);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
  const timespec fine{.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
  const int most = static_cast<int>(events.size());
  const long count =
      syscall(SYS_epoll_pwait2, epoll, events.data(), most, due == kNever ? nullptr : &fine, nullptr, 0);
  if (count >= 0 || (errno != ENOSYS && errno != EPERM)) return count;
  return epoll_wait(epoll, events.data(), most, milliseconds_until(due));
}

}  // namespace

int EventLoop::open() {
  epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
  return epoll_ ? 0 : errno;
}

bool EventLoop::watch(int fd, std::uint32_t events, Handler handler) {
  const std::uint32_t turn = next_turn_++;
  epoll_event event{};
  event.events = events;
  event.data.u64 = (std::uint64_t{turn} << 32) | static_cast<std::uint32_t>(fd);
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0 &&
      (errno != EEXIST || epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) != 0))
    return false;
  watched_[fd] = {turn, std::make_shared<Handler>(std::move(handler))};
  return true;
}

void EventLoop::forget(int fd) {
  if (watched_.erase(fd) != 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

int EventLoop::wait(TimePoint due) {
  std::array<epoll_event, 64> events;
  const long count = wait_for(epoll_.get(), events, due);
  if (count < 0) return errno == EINTR ? 0 : errno;
  woken();
  for (long i = 0; i < count; ++i) call(events[static_cast<std::size_t>(i)].data.u64);
  return 0;
}

// An earlier handler of the same batch may have forgotten it; this one may forget itself.
void EventLoop::call(std::uint64_t key) {
  const auto it = watched_.find(static_cast<int>(static_cast<std::uint32_t>(key)));
  if (it == watched_.end() || it->second.turn != key >> 32) return;
  const std::shared_ptr<Handler> handler = it->second.handler;
  (*handler)();
}

}  // namespace softrnic::daemon
