#include "engine/lane_handover.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/attempt.h"
#include "control/handover.h"
#include "control/local_name.h"
#include "control/messages.h"

namespace softrnic::engine {

void LaneHandover::add(std::uint8_t lane, UniqueFd socket) {
  if (!socket) return;
  const std::lock_guard lock(mutex_);
  if (!listener_) {
    auto listener = control::listen_as(control::lane_name(lane), 4);
    if (!listener) return;
    listener_ = std::move(*listener);
  }
  lanes_.push_back({lane, std::move(socket)});
}

int LaneHandover::listener() {
  const std::lock_guard lock(mutex_);
  return listener_.get();
}

void LaneHandover::serve(int stop_fd) {
  pollfd fds[] = {{stop_fd, POLLIN, 0}, {listener(), POLLIN, 0}};
  for (;;) {
    ppoll(fds, 2, nullptr, nullptr);
    if ((fds[0].revents & POLLIN) != 0) return;
    if (fds[1].revents != 0) attempt([this] { answer(); });
  }
}

void LaneHandover::answer() {
  const std::lock_guard lock(mutex_);
  UniqueFd heir(above_stdio(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)));
  if (!heir) return;
  const auto peer = control::peer_credentials(heir.get());
  if (!peer || peer->uid != geteuid()) return;
  heirs_.reserve(heirs_.size() + 1);
  auto left = static_cast<std::uint32_t>(lanes_.size());
  for (const Kept& kept : lanes_) {
    const control::HandedLane note{.lane = kept.lane, .left = --left};
    if (control::send_datagram(heir.get(), control::bytes_of(note), kept.socket.get()) != 0) return;
  }
  heirs_.push_back(std::move(heir));
}

bool LaneHandover::reclaim(control::Client& daemon) {
  const std::lock_guard lock(mutex_);
  for (const Kept& kept : lanes_)
    if (!daemon.reclaim_lane(kept.lane, kept.socket.get())) return false;
  heirs_.clear();
  return true;
}

void LaneHandover::abandon() {
  listener_.reset();
  lanes_.clear();
  heirs_.clear();
}

}  // namespace softrnic::engine
