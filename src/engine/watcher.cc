#include "engine/watcher.h"

#include <poll.h>

#include <utility>

namespace softrnic::engine {

Watcher::Watcher(control::Client& daemon, std::shared_ptr<LaneHandover> lanes, OnChange on_change,
                 OnEnd on_end)
    : daemon_(daemon),
      lanes_(std::move(lanes)),
      on_change_(std::move(on_change)),
      on_end_(std::move(on_end)),
      thread_(
          "softrnic-watch", [](void* self) { static_cast<Watcher*>(self)->run(); }, this) {}

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
  pollfd fds[] = {{thread_.stop_fd(), POLLIN, 0}, {daemon_.notification_fd(), POLLIN, 0}};
  do {
    ppoll(fds, 2, nullptr, nullptr);
    if ((fds[0].revents & POLLIN) != 0) return;
  } while (fds[1].revents == 0 || read_all());
  lanes_->serve(thread_.stop_fd());
}

}  // namespace softrnic::engine
