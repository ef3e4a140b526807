// The other lanes of this host, as far as they let this one see and do.
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <new>
#include <utility>

#include "engine/lane.h"
#include "link/network_mtu.h"

namespace softrnic::engine {
namespace {

/// How long what is for a lane of this host waits for the daemon to introduce that.
constexpr Duration kDaemonPatience = std::chrono::milliseconds(100);
/// In such a time a lane has read what lies in its socket.
constexpr Duration kSilence = std::chrono::milliseconds(20);

}  // namespace

// ---- paths

ib::PathWindow& Lane::window(const ib::AddressVector& path, Qpn remote) {
  flow::Path& window = paths_.path(path.destination, remote.lane());
  reserve(qps_.size());
  look_for(window, addresses_.has(path.destination));
  return window;
}

// A path that goes through memory is told by its ring how much there is room for, every
// other one by the peer's lane.
ib::PathWindow* Lane::gauged_window(const ib::AddressVector& path, Qpn remote) {
  if (remote.lane() == 0 || path.destination.is_multicast()) return nullptr;  // lane 0 is the daemon's
  const bool local = addresses_.has(path.destination);
  flow::Path* found = paths_.find(path.destination, remote.lane());
  if (found != nullptr && found->watched) return found;
  if (!local && credit_.full()) return nullptr;
  const bool watched = attempt([&] {
    found = &paths_.path(path.destination, remote.lane());
    reserve(qps_.size());
    credit_.observe(*found, path, remote.lane(), local);
  });
  if (!watched) return nullptr;
  found->watched = true;
  look_for(*found, local);
  return found;
}

std::uint32_t Lane::network_mtu(const ib::AddressVector& path) {
  if (addresses_.has(path.destination)) return 0;
  return link::network_mtu(path.source, path.destination, path.interface_index);
}

template <typename Use>
void Lane::for_each_path_to(std::uint8_t lane, Use use) {
  paths_.for_each([&](flow::Path& path) {
    if (path.local && path.lane == lane) use(path);
  });
}

// A path to a lane of this host carries nothing until it is known which way: packets that took the socket
// might come after those that took the ring. One that was met before and lives no longer is asked for again:
// it may be another process's by now. Who showed nothing the last time is asked for too, but what goes to it
// by packets goes on meanwhile.
void Lane::look_for(flow::Path& path, bool local) {
  path.local = local;
  if (local && path.lane == number_) resolve_itself();
  if (!local || path.lane == 0 || !direct_.expect(path.lane)) return;
  const samehost::DirectPeer* const peer = direct_.peer(path.lane);
  if (peer != nullptr && peer->lives() && (inbox_->connected(path.lane) || inbox_->is_refused_by(*peer))) {
    if (!path.resolved) settle(path);
  } else if (inbox_->connected(path.lane)) {
    forget(path.lane);
  } else if (!path.resolved && !path.undecided()) {
    wait_for_decision(path, kDaemonPatience);
  }
  if (!clock_.in_batch()) arm(Duration::zero());
}

// Needs no help from the daemon: then a program that sends datagrams to itself finds them sent
// when ibv_post_send returns.
void Lane::resolve_itself() {
  if (direct_.peer(number_) != nullptr) return;
  attempt([&] {
    UniqueFd doorbell(inbox_ != nullptr ? fcntl(inbox_->doorbell_fd(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
                                        : -1);
    auto met = doorbell ? direct_.look_at_itself() : nullptr;
    if (met != nullptr) settle(number_, std::move(met), std::move(doorbell));
  });
}

void Lane::forget(std::uint8_t lane) {
  inbox_->disconnect(lane);
  for_each_path_to(lane, [this](flow::Path& path) { wait_for_decision(path, kDaemonPatience); });
}

void Lane::look_after_stuck() {
  const int lane = inbox_ != nullptr ? inbox_->take_stuck() : -1;
  if (lane < 0) return;
  const auto number = static_cast<std::uint8_t>(lane);
  const samehost::DirectPeer& peer = *direct_.peer(number);
  if (peer.lives() && inbox_->is_refused_by(peer)) return leave_ring(number);
  if (peer.lives()) return;
  direct_.expect(number);
  forget(number);
}

// By packets from now on. What was in the ring is lost.
void Lane::leave_ring(std::uint8_t lane) {
  explain({.reason = because(ReasonId::ring_refused, lane, direct_.peer(lane)->pid())});
  inbox_->disconnect(lane);
  for_each_path_to(lane, [this](flow::Path& path) { settle(path); });
}

// With the ring of the peer, or without; for UC and UD then by what the peer's lane answers.
void Lane::settle(flow::Path& path) {
  const bool ring = inbox_->connected(path.lane);
  path.set_memory(ring ? samehost::RingLink::kLongestPacket : 0, samehost::RingLink::kWindow);
  path.set_undecided(false);
  path.resolved = true;
  path.decide_at = kNever;
  if (ring) {
    path.observe(inbox_->gauge(path.lane));
  } else if (path.credit != nullptr) {
    path.observe(*path.credit);
  }
}

void Lane::settle(std::uint8_t lane, std::unique_ptr<samehost::DirectPeer> met, UniqueFd doorbell) {
  if (!direct_.knows(lane, met.get())) inbox_->disconnect(lane);
  direct_.meet(lane, std::move(met));
  samehost::DirectPeer* const peer = direct_.peer(lane);
  if (peer != nullptr && !inbox_->connected(lane))
    attempt([&] { inbox_->connect(lane, *peer, std::move(doorbell)); });
  for_each_path_to(lane, [this](flow::Path& path) {
    if (!path.resolved || path.has_mtu() == inbox_->connected(path.lane)) settle(path);
  });
  find_next_decision();
}

void Lane::wait_for_decision(flow::Path& path, Duration patience) {
  path.set_undecided(true);
  path.resolved = false;
  path.decide_at = clock_.now() + patience;
  decide_at_ = std::min(decide_at_, path.decide_at);
}

// Whom the daemon has not introduced in time is reached by packets until it does.
void Lane::decide() {
  std::vector<LatePeer> late_peers = std::exchange(late_peers_, {});
  for (LatePeer& late_peer : late_peers) {
    if (late_peer.due <= clock_.batch_time())
      settle(late_peer.lane, std::move(late_peer.peer), std::move(late_peer.doorbell));
    else
      attempt([&] { late_peers_.push_back(std::move(late_peer)); });
  }
  paths_.for_each([this](flow::Path& path) {
    if (path.decide_at <= clock_.batch_time()) settle(path);
  });
  find_next_decision();
}

void Lane::find_next_decision() {
  decide_at_ = kNever;
  paths_.for_each([this](const flow::Path& path) { decide_at_ = std::min(decide_at_, path.decide_at); });
}

// ---- by the thread that may wait for the daemon

void Lane::call_resolver() {
  if (called_ || abandoned_ || !direct_.any_pending()) return;
  called_ = true;
  eventfd_write(pending_fd_.get(), 1);
}

bool Lane::resolve_pending() {
  samehost::DirectPath::Lanes pending;
  {
    const std::lock_guard lock(mutex_);
    eventfd_t calls = 0;
    eventfd_read(pending_fd_.get(), &calls);
    called_ = false;
    pending = direct_.take_pending();
  }
  if (pending.none()) return false;
  for (std::size_t lane = 0; lane < pending.size(); ++lane)
    if (pending[lane]) meet(static_cast<std::uint8_t>(lane));
  const std::lock_guard lock(mutex_);
  batch(monotonic_now());
  disarm();
  finish(Duration::zero());
  return true;
}

// A lane that cannot be met for want of memory is one that shows nothing: packets reach it all the same.
void Lane::meet(std::uint8_t lane) {
  std::unique_ptr<samehost::DirectPeer> peer;
  std::optional<samehost::PeerHandles> shown{samehost::PeerHandles()};
  try {
    shown = resolve_(lane);
    if (shown && shown->memory) peer = direct_.look_at(lane, *shown);
  } catch (const std::bad_alloc&) {
    peer = nullptr;
  }
  const std::lock_guard lock(mutex_);
  if (!shown) return direct_.ask_again(lane);
  const bool any = peer != nullptr;
  met(lane, std::move(peer), any ? std::move(shown->doorbell) : UniqueFd());
  if (any) return;
  direct_.without(lane, shown->without);
  if (shown->memory && !shown->attached)
    explain({.reason = because(ReasonId::neighbour_out_of_reach, lane, shown->pid, EPERM)});
}

// What takes the ring is not to overtake what has taken the socket. RC puts that right, others
// are silent for a moment.
void Lane::met(std::uint8_t lane, std::unique_ptr<samehost::DirectPeer> peer, UniqueFd doorbell) {
  if (peer == nullptr || !goes_unordered_by_packets(lane))
    return settle(lane, std::move(peer), std::move(doorbell));
  attempt([&] {
    late_peers_.push_back({lane, monotonic_now() + kSilence, std::move(peer), std::move(doorbell)});
    for_each_path_to(lane, [this](flow::Path& path) { wait_for_decision(path, kSilence); });
  });
}

bool Lane::goes_unordered_by_packets(std::uint8_t lane) {
  bool any = false;
  for_each_path_to(lane,
                   [&](const flow::Path& path) { any |= path.resolved && path.watched && path.has_mtu(); });
  return any;
}

}  // namespace softrnic::engine
