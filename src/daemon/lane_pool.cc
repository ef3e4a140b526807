#include "daemon/lane_pool.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "daemon/lane_socket.h"
#include "daemon/port_holder.h"

namespace softrnic::daemon {
namespace {

constexpr std::size_t kMostWaiting = 1 << 20;  ///< packets; more than any buffer holds

std::uint32_t random_index() {
  std::uint16_t index = 0;
  if (getrandom(&index, sizeof index, GRND_NONBLOCK) != sizeof index) index = 0;
  return std::max<std::uint32_t>(index, 1);
}

bool is_ipv6(int socket) {
  int family = AF_INET6;
  socklen_t length = sizeof family;
  getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &length);
  return family == AF_INET6;
}

Failure port_failure(int error) {
  if (error == EADDRINUSE) return {error, who_holds_the_port()};
  return refuse(error, ReasonId::daemon_unreachable, error);
}

/// SO_REUSEPORT would join a group of sockets that some other program of this user has left behind. 0 or a positive errno.
int probe_port() {
  const auto probe = open_lane_socket(false);
  return probe ? 0 : probe.error();
}

}  // namespace

Expected<LanePool, Failure> LanePool::open() {
  std::vector<KeptLane> kept;
  auto keeper = Keeper::inherit(kept);
  if (!keeper && keeper.error() != ECONNREFUSED) return Unexpected{port_failure(keeper.error())};
  if (!keeper) {
    if (const int error = probe_port()) return Unexpected{port_failure(error)};
    keeper = Keeper::start();
    if (!keeper) return Unexpected{port_failure(keeper.error())};
  }
  LanePool pool(std::move(*keeper));
  for (KeptLane& lane : kept) pool.adopt(std::move(lane));
  // what waits for a daemon that is dead is not for this one; its senders try again
  if (!pool.lanes_.empty()) drain(pool.socket_of(0), kMostWaiting);
  if (pool.lanes_.empty()) {
    if (const int error = pool.add_socket()) return Unexpected{port_failure(error)};
    pool.lanes_[0].taken = true;  // the daemon's own
  }
  return pool;
}

int LanePool::add_socket() {
  auto socket = open_lane_socket(true);
  if (!socket) return socket.error();
  const std::uint32_t lane = made();
  lanes_.push_back({std::move(socket->fd), {}, false});
  dual_stack_ = socket->dual_stack;
  keeper_.lane_made(lane, socket_of(lane));
  return attach_steering(socket_of(0), made());
}

void LanePool::adopt(KeptLane kept) {
  const std::uint32_t lane = made();
  const bool held = static_cast<bool>(kept.holder);
  lanes_.push_back({std::move(kept.socket), std::move(kept.holder), held || lane == 0});
  dual_stack_ = is_ipv6(socket_of(lane));
  if (held) {
    inherited_.push_back({lane, lanes_[lane].holder.get()});
    ++used_;
  } else if (lane != 0) {
    free_.push_back(lane);
  }
}

Expected<LaneGrant, Failure> LanePool::take(int pidfd) {
  std::uint32_t lane;
  if (!free_.empty()) {
    lane = free_.front();
    free_.pop_front();
    drain(socket_of(lane), kMostWaiting);
  } else {
    lane = made();
    if (lane >= kMaxLanes) return Unexpected{refuse(ENOSPC, ReasonId::out_of_lanes, kMaxLanes - 1)};
    if (const int error = add_socket()) {
      if (made() > lane) free_.push_back(lane);
      return Unexpected{port_failure(error)};
    }
  }
  LaneState& state = lanes_[lane];
  state.taken = true;
  if (pidfd >= 0) {
    state.holder.reset(fcntl(pidfd, F_DUPFD_CLOEXEC, 0));
    keeper_.lane_taken(lane, pidfd);
  }
  ++used_;
  return LaneGrant{lane, state.socket.get(), random_index(), dual_stack_};
}

void LanePool::free(std::uint32_t lane) {
  LaneState& state = lanes_[lane];
  leave_all_groups(state.socket.get(), dual_stack_);
  drain(state.socket.get(), kMostWaiting);
  state.holder.reset();
  state.taken = false;
  keeper_.lane_freed(lane);
  free_.push_back(lane);
  --used_;
}

std::uint32_t LanePool::receive_buffer() const { return receive_buffer_of(socket_of(0)); }

void LanePool::free_inherited(std::uint32_t lane) {
  std::erase_if(inherited_, [lane](const Inherited& i) { return i.lane == lane; });
  free(lane);
}

}  // namespace softrnic::daemon
