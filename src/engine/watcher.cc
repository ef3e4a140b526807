#include "engine/watcher.h"

#include <poll.h>

#include <utility>

namespace softrnic::engine {

Watcher::Watcher(std::shared_ptr<control::Client> daemon, std::shared_ptr<LaneHandover> lanes,
                 control::DaemonCommand command, Callbacks callbacks)
    : daemon_(std::move(daemon)),
      lanes_(std::move(lanes)),
      command_(std::move(command)),
      callbacks_(std::move(callbacks)),
      thread_(
          "softrnic-watch", [](void* self) { static_cast<Watcher*>(self)->run(); }, this) {}

bool Watcher::read_all() {
  for (;;) {
    const auto notification = daemon_->read_notification();
    if (!notification) return false;
    if (!notification->has_value()) return true;
    callbacks_.change(**notification);
  }
}

bool Watcher::watch() {
  pollfd fds[] = {{thread_.stop_fd(), POLLIN, 0}, {daemon_->notification_fd(), POLLIN, 0}};
  do {
    ppoll(fds, 2, nullptr, nullptr);
    if ((fds[0].revents & POLLIN) != 0) return false;
  } while (fds[1].revents == 0 || read_all());
  return true;
}

bool Watcher::change_over(NextDaemon& next) {
  if (daemon_->took_leave()) return false;
  for (;;) {
    const std::shared_ptr<control::Client> found = next.find();
    if (found == nullptr) return false;
    if (!callbacks_.returned(daemon_, found)) continue;
    daemon_ = found;
    return true;
  }
}

void Watcher::run() {
  NextDaemon next(command_, *lanes_, thread_.stop_fd());
  do {
    if (!watch()) return;
  } while (change_over(next));
  callbacks_.ended(daemon_);
  lanes_->serve(thread_.stop_fd());
}

}  // namespace softrnic::engine
