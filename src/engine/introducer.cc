#include "engine/introducer.h"

#include <poll.h>

namespace softrnic::engine {

Introducer::Introducer(Lane& lane)
    : lane_(lane),
      thread_(
          "softrnic-meet", [](void* self) { static_cast<Introducer*>(self)->run(); }, this) {}

bool Introducer::is_to_stop() const {
  pollfd stop{thread_.stop_fd(), POLLIN, 0};
  return poll(&stop, 1, 0) != 0;
}

void Introducer::run() {
  pollfd fds[] = {{thread_.stop_fd(), POLLIN, 0}, {lane_.strangers_fd(), POLLIN, 0}};
  while ((fds[0].revents & POLLIN) == 0) {
    ppoll(fds, 2, nullptr, nullptr);
    while (!is_to_stop() && lane_.meet_peers()) continue;
  }
}

}  // namespace softrnic::engine
