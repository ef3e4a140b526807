#include "engine/watcher.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"
#include "engine/engine_thread.h"

namespace softrnic::engine {

Watcher::Watcher(control::Client& daemon, OnChange on_change, OnEnd on_end)
    : daemon_(daemon),
      on_change_(std::move(on_change)),
      on_end_(std::move(on_end)),
      stop_fd_(above_stdio(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))) {
  if (stop_fd_ >= 0)
    thread_ = start_quiet_thread(
        "softrnic-watch", [](void* self) { static_cast<Watcher*>(self)->run(); }, this);
  if (!thread_.joinable()) error_ = errno;
}

Watcher::~Watcher() {
  if (stop_fd_ < 0) return;
  eventfd_write(stop_fd_, 1);
  if (thread_.joinable()) thread_.join();
  close(stop_fd_);
}

bool Watcher::read_all() {
  for (;;) {
    const auto notification = daemon_.read_notification();
    if (!notification) {
      on_end_();
      return false;
    }
    if (!notification->has_value()) return true;
    on_change_(**notification);
  }
}

void Watcher::run() {
  pollfd fds[] = {{stop_fd_, POLLIN, 0}, {daemon_.notification_fd(), POLLIN, 0}};
  do {
    ppoll(fds, 2, nullptr, nullptr);
    if ((fds[0].revents & POLLIN) != 0) return;
  } while (fds[1].revents == 0 || read_all());
}

}  // namespace softrnic::engine
