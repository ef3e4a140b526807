// The other lanes of this host, as far as they let this one see and do.
#include <fcntl.h>
#include <unistd.h>

#include <new>
#include <utility>

#include "engine/lane.h"

namespace softrnic::engine {

template <typename Use>
void Lane::for_each_path_to(std::uint8_t lane, Use use) {
  paths_.for_each([&](Path& path) {
    if (path.local && path.lane == lane) use(path);
  });
}

// A path to a lane of this host carries nothing until it is known which way: packets that took the socket might come after
// those that took the ring. One that was met before and lives no longer is asked for again: it may be another process's by now.
void Lane::look_for(Path& path, bool local) {
  path.local = local;
  if (local && path.lane == number_) meet_itself();
  if (!local || path.lane == 0 || !direct_.expect(path.lane)) return;
  const DirectPeer* const peer = direct_.peer(path.lane);
  if (peer != nullptr && peer->lives() && (inbox_->connected(path.lane) || inbox_->is_refused_by(*peer))) {
    if (!path.settled) settle(path);
    return;
  }
  forget(path.lane);
}

// Needs no help from the daemon: then a program that sends datagrams to itself finds them sent when ibv_post_send returns.
void Lane::meet_itself() {
  if (direct_.peer(number_) != nullptr) return;
  attempt([&] {
    UniqueFd bell(inbox_ != nullptr ? fcntl(inbox_->bell_fd(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1);
    auto met = bell ? direct_.look_at_itself() : nullptr;
    if (met != nullptr) settle(number_, std::move(met), std::move(bell));
  });
}

void Lane::forget(std::uint8_t lane) {
  inbox_->disconnect(lane);
  for_each_path_to(lane, [](Path& path) {
    path.set_undecided(true);
    path.settled = false;
  });
  if (!in_batch_) arm(Duration::zero());
}

void Lane::look_after_stuck() {
  const int lane = inbox_ != nullptr ? inbox_->take_stuck() : -1;
  if (lane < 0) return;
  const auto number = static_cast<std::uint8_t>(lane);
  const DirectPeer& peer = *direct_.peer(number);
  if (peer.lives() && inbox_->is_refused_by(peer)) return leave_ring(number);
  if (peer.lives()) return;
  direct_.expect(number);
  forget(number);
}

// By packets from now on. What was in the ring is lost.
void Lane::leave_ring(std::uint8_t lane) {
  explain({.reason = because(ReasonId::ring_refused, lane, direct_.peer(lane)->pid())});
  inbox_->disconnect(lane);
  for_each_path_to(lane, [this](Path& path) { settle(path); });
}

// With the ring of the peer, or without; for UC and UD then by a look at its socket.
void Lane::settle(Path& path) {
  const bool ring = inbox_->connected(path.lane);
  path.set_memory(ring ? InboxLink::kLongestPacket : 0, InboxLink::kWindow);
  path.set_undecided(false);
  path.settled = true;
  if (ring) {
    path.observe(inbox_->gauge(path.lane));
  } else if (path.watched) {
    attempt([&] { peers_.watch(path.lane, path); });
  }
}

void Lane::settle(std::uint8_t lane, std::unique_ptr<DirectPeer> met, UniqueFd bell) {
  if (!direct_.knows(lane, met.get())) inbox_->disconnect(lane);
  direct_.meet(lane, std::move(met));
  DirectPeer* const peer = direct_.peer(lane);
  if (peer != nullptr && !inbox_->connected(lane))
    attempt([&] { inbox_->connect(lane, *peer, std::move(bell)); });
  for_each_path_to(lane, [this](Path& path) {
    if (!path.settled) settle(path);
  });
}

bool Lane::may_go_direct(const rnic::QueuePair& qp) { return direct_state(qp) == DirectState::direct; }

DirectState Lane::direct_state(const rnic::QueuePair& qp) const {
  const auto* path = static_cast<const Path*>(qp.window());
  if (path == nullptr || !path->local || qp.type() == IBV_QPT_UD) return DirectState::other_host;
  return direct_.state(qp.transport_attributes().remote.lane());
}

// A lane that cannot be met for want of memory is one that shows nothing: packets reach it all the same.
void Lane::meet_socket(std::uint8_t lane) {
  try {
    UniqueFd socket = show_.socket(lane);
    const std::lock_guard lock(mutex_);
    peers_.meet(lane, std::move(socket));
  } catch (const std::bad_alloc&) {
    const std::lock_guard lock(mutex_);
    peers_.meet(lane, UniqueFd());
  }
}

void Lane::meet_memory(std::uint8_t lane) {
  std::unique_ptr<DirectPeer> met;
  UniqueFd bell;
  try {
    met = direct_.look_at(lane, show_.memory(lane));
    if (met != nullptr) bell = show_.bell(lane);
    if (!bell) met = nullptr;  // nobody could wake it
  } catch (const std::bad_alloc&) {
    met = nullptr;
  }
  const std::lock_guard lock(mutex_);
  settle(lane, std::move(met), std::move(bell));
}

bool Lane::meet_peers() {
  const bool any = !strangers_.empty() || neighbours_.any();
  for (const std::uint8_t lane : strangers_) meet_socket(lane);
  strangers_.clear();
  for (std::size_t lane = 0; neighbours_.any() && lane < neighbours_.size(); ++lane)
    if (neighbours_[lane]) meet_memory(static_cast<std::uint8_t>(lane));
  neighbours_.reset();
  map_segments();
  return any;
}

// Mapping and unmapping take a while, and so are done without the lock.
void Lane::map_segments() {
  SegmentCache::Mappings old;
  try {
    for (const DirectPath::Wish& wish : wishes_.all()) {
      link::MappedRange mapped = direct_.map(wish);
      const std::lock_guard lock(mutex_);
      direct_.install(wish, std::move(mapped), monotonic_now(), old);
    }
    const std::lock_guard lock(mutex_);
    direct_.sweep(monotonic_now(), old);
  } catch (const std::bad_alloc&) {
    // what could not be mapped is reached without
  }
  wishes_ = {};
}

}  // namespace softrnic::engine
