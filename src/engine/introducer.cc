#include "engine/introducer.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>

#include "base/unique_fd.h"
#include "engine/engine_thread.h"

namespace softrnic::engine {

Introducer::Introducer(Lane& lane)
    : lane_(lane), stop_fd_(above_stdio(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))) {
  if (stop_fd_)
    thread_ = start_quiet_thread(
        "softrnic-meet", [](void* self) { static_cast<Introducer*>(self)->run(); }, this);
  if (!thread_.joinable()) error_ = errno;
}

Introducer::~Introducer() {
  if (!stop_fd_) return;
  eventfd_write(stop_fd_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

bool Introducer::is_to_stop() const {
  pollfd stop{stop_fd_.get(), POLLIN, 0};
  return poll(&stop, 1, 0) != 0;
}

void Introducer::run() {
  pollfd fds[] = {{stop_fd_.get(), POLLIN, 0}, {lane_.strangers_fd(), POLLIN, 0}};
  while ((fds[0].revents & POLLIN) == 0) {
    ppoll(fds, 2, nullptr, nullptr);
    while (!is_to_stop() && lane_.meet_peers()) continue;
  }
}

}  // namespace softrnic::engine
