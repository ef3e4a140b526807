#include "engine/peer_resolver.h"

#include <poll.h>

namespace softrnic::engine {

PeerResolver::PeerResolver(Lane& lane)
    : lane_(lane),
      thread_(
          "softrnic-meet", [](void* self) { static_cast<PeerResolver*>(self)->run(); }, this) {}

bool PeerResolver::is_to_stop() const {
  pollfd stop{thread_.stop_fd(), POLLIN, 0};
  return poll(&stop, 1, 0) != 0;
}

void PeerResolver::run() {
  pollfd fds[] = {{thread_.stop_fd(), POLLIN, 0}, {lane_.pending_fd(), POLLIN, 0}};
  while ((fds[0].revents & POLLIN) == 0) {
    ppoll(fds, 2, nullptr, nullptr);
    while (!is_to_stop() && lane_.resolve_pending()) continue;
  }
}

}  // namespace softrnic::engine
