#include "daemon/lane_pool.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/lane_limits.h"
#include "base/reason_id.h"
#include "daemon/lane_socket.h"
#include "daemon/port_holder.h"
#include "daemon/takeover.h"

namespace softrnic::daemon {
namespace {

constexpr std::size_t kMostWaiting = 1 << 16;  ///< packets; more than any buffer holds

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

/// SO_REUSEPORT would join a group of sockets that some other program of this user has left
/// behind. 0 or a positive errno.
int probe_port() {
  const auto probe = open_lane_socket(false);
  return probe ? 0 : probe.error();
}

/// All that is known of lanes of an earlier daemon; none: the port is free.
Expected<std::vector<KeptLane>, Failure> lanes_without_keeper() {
  const int error = probe_port();
  if (error == EADDRINUSE) return take_over_survivors();
  if (error != 0) return Unexpected{port_failure(error)};
  return std::vector<KeptLane>();
}

}  // namespace

Expected<LanePool, Failure> LanePool::open(Users users) {
  std::vector<KeptLane> kept;
  auto keeper = Keeper::inherit(kept);
  if (!keeper && keeper.error().error != ECONNREFUSED) return Unexpected{keeper.error()};
  const bool has_keeper = keeper.has_value();
  if (!has_keeper) {
    auto found = lanes_without_keeper();
    if (!found) return Unexpected{found.error()};
    kept = std::move(*found);
    keeper = Keeper::start();
    if (!keeper) return Unexpected{keeper.error()};
  }
  LanePool pool(std::move(*keeper), users);
  for (KeptLane& lane : kept) pool.adopt(std::move(lane));
  if (!has_keeper) pool.tell_keeper();
  if (const int error = pool.see_to_own_lane()) return Unexpected{port_failure(error)};
  return pool;
}

/// Lane 0, and steering for all that there are.
int LanePool::see_to_own_lane() {
  if (lanes_.empty()) {
    lanes_.emplace_back();
    if (const int error = make_socket(0)) return error;
    lanes_[0].taken = true;
    return 0;
  }
  for (std::uint32_t lane = 1; lane < made(); ++lane)
    if (!lanes_[lane].taken) free_.push_back(lane);
  // what waits for a daemon that is dead is not for this one; its senders try again
  drain(socket_of(0), kMostWaiting);
  return steer();
}

void LanePool::tell_keeper() {
  for (const KeptLane& lane : retired_) keeper_.lane_retired(lane.place, lane.socket.get());
  for (std::uint32_t lane = 0; lane < made(); ++lane) {
    const LaneState& state = lanes_[lane];
    if (state.socket) keeper_.lane_made(lane, state.place, state.socket.get());
    if (state.holder) keeper_.lane_taken(lane, state.holder.get());
  }
  keeper_.told_all();
}

bool LanePool::renew_keeper() {
  auto keeper = Keeper::start();
  if (!keeper) return false;
  keeper_ = std::move(*keeper);
  tell_keeper();
  return true;
}

int LanePool::steer() const {
  Places places;
  for (const LaneState& state : lanes_) places.push_back(state.place);
  return attach_steering(socket_of(0), places);
}

bool LanePool::is_shared() const {
  uid_t first = kNoUser;
  for (const LaneState& lane : lanes_) {
    if (!lane.taken || lane.user == kNoUser) continue;
    if (first != kNoUser && lane.user != first) return true;
    first = lane.user;
  }
  return false;
}

int LanePool::make_socket(std::uint32_t lane) {
  auto socket = open_lane_socket(true);
  if (!socket) return socket.error();
  if (users_ == Users::all && lane != 0)
    if (const int error = confine_to_lane(socket->fd.get(), lane)) return error;
  LaneState& state = lanes_[lane];
  state.socket = std::move(socket->fd);
  state.place = sockets_++;
  dual_stack_ = socket->dual_stack;
  keeper_.lane_made(lane, state.place, state.socket.get());
  return steer();
}

bool LanePool::retire(std::uint32_t lane) {
  if (retired_.size() >= kMostRetired) return false;
  LaneState& state = lanes_[lane];
  keeper_.lane_retired(state.place, state.socket.get());
  retired_.push_back({kNoLane, state.place, std::move(state.socket), {}});
  state.place = kNoPlace;
  return true;
}

void LanePool::adopt(KeptLane kept) {
  if (kept.lane == kNoLane) {
    ++sockets_;
    retired_.push_back(std::move(kept));
    return;
  }
  if (kept.lane >= lanes_.size()) lanes_.resize(kept.lane + 1);
  LaneState& state = lanes_[kept.lane];
  state = {std::move(kept.socket), kept.place, std::move(kept.holder), kept.lane == 0};
  ++sockets_;
  dual_stack_ = is_ipv6(state.socket.get());
  if (!state.holder) return;
  state.taken = true;
  inherited_.push_back({kept.lane, state.holder.get()});
  ++used_;
}

Expected<std::uint32_t, Failure> LanePool::choose(uid_t user) {
  const auto is_fit = [&](std::uint32_t lane) {
    return users_ == Users::one || !lanes_[lane].socket || lanes_[lane].user == user;
  };
  auto found = std::find_if(free_.begin(), free_.end(), is_fit);
  if (found == free_.end() && made() < kMostLanes) {
    lanes_.emplace_back();
    return made() - 1;
  }
  if (found == free_.end()) found = free_.begin();
  if (found == free_.end() || (!is_fit(*found) && !retire(*found)))
    return Unexpected{refuse(ENOSPC, ReasonId::out_of_lanes, kMostLanes - 1)};
  const std::uint32_t lane = *found;
  free_.erase(found);
  return lane;
}

Expected<LaneGrant, Failure> LanePool::take(int pidfd, uid_t user) {
  const auto chosen = choose(user);
  if (!chosen) return Unexpected{chosen.error()};
  const std::uint32_t lane = *chosen;
  if (lanes_[lane].socket) {
    drain(socket_of(lane), kMostWaiting);
  } else if (const int error = make_socket(lane)) {
    free_.push_back(lane);
    return Unexpected{port_failure(error)};
  }
  LaneState& state = lanes_[lane];
  state.taken = true;
  state.user = user;
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

bool LanePool::may_reclaim(std::uint32_t lane, int socket) const {
  const auto is_it = [lane](const Inherited& inherited) { return inherited.lane == lane; };
  struct stat ours {
  }, theirs{};
  return std::any_of(inherited_.begin(), inherited_.end(), is_it) && fstat(socket, &theirs) == 0 &&
         fstat(socket_of(lane), &ours) == 0 && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

void LanePool::reclaim(std::uint32_t lane, int pidfd, uid_t user) {
  lanes_[lane].user = user;
  std::erase_if(inherited_, [lane](const Inherited& i) { return i.lane == lane; });
  if (pidfd < 0) return;
  lanes_[lane].holder.reset(fcntl(pidfd, F_DUPFD_CLOEXEC, 0));
  keeper_.lane_taken(lane, pidfd);
}

void LanePool::free_inherited(std::uint32_t lane) {
  std::erase_if(inherited_, [lane](const Inherited& i) { return i.lane == lane; });
  free(lane);
}

}  // namespace softrnic::daemon
