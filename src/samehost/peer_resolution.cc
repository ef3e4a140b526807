#include "samehost/peer_resolution.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <new>
#include <utility>

#include "base/attempt.h"
#include "base/clock.h"
#include "base/reason_id.h"

namespace softrnic::samehost {
namespace {

/// How long what is for a lane of this host waits for the daemon to tell of that.
constexpr Duration kDaemonPatience = std::chrono::milliseconds(100);
/// In such a time a lane has read what lies in its socket.
constexpr Duration kSilence = std::chrono::milliseconds(20);

}  // namespace

PeerResolution::PeerResolution(std::uint8_t lane, const Parts& parts, ResolvePeer resolve)
    : lane_(lane),
      mutex_(parts.mutex),
      clock_(parts.clock),
      direct_(parts.direct),
      paths_(parts.paths),
      resolve_(std::move(resolve)),
      pending_fd_(above_stdio(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))) {}

void PeerResolution::abandon() {
  abandoned_ = true;
  rings_ = nullptr;
  due_ = kNever;
}

template <typename Use>
void PeerResolution::for_each_path_to(std::uint8_t lane, Use use) {
  paths_.for_each([&](flow::Path& path) {
    if (path.local() && path.lane == lane) use(path);
  });
}

// A path to a lane of this host carries nothing until it is known which way: packets that took the socket
// might come after those that took the ring. One that was resolved before and lives no longer is asked for
// again: it may be another process's by now. Who shared nothing the last time is asked for too, but what goes
// to it by UDP goes on meanwhile.
bool PeerResolution::look_for(flow::Path& path, bool local) {
  path.set_local(local);
  if (local && path.lane == lane_) resolve_itself();
  if (!local || path.lane == 0 || !direct_.request_peer(path.lane)) return false;
  const DirectPeer* const peer = direct_.peer(path.lane);
  if (peer != nullptr && peer->lives() &&
      (rings_->outbound().connected(path.lane) || rings_->outbound().is_refused_by(*peer))) {
    if (!path.resolved) settle(path);
  } else if (rings_->outbound().connected(path.lane)) {
    forget(path.lane);
  } else if (!path.resolved && !path.undecided()) {
    wait_for_decision(path, kDaemonPatience);
  }
  return true;
}

// Needs no help from the daemon: then a program that sends datagrams to itself finds them sent
// when ibv_post_send returns.
void PeerResolution::resolve_itself() {
  if (direct_.peer(lane_) != nullptr) return;
  attempt([&] {
    UniqueFd doorbell(rings_ != nullptr ? fcntl(rings_->doorbell_fd(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
                                        : -1);
    auto own = doorbell ? direct_.open_own() : nullptr;
    if (own != nullptr) settle(lane_, std::move(own), std::move(doorbell));
  });
}

void PeerResolution::forget(std::uint8_t lane) {
  rings_->outbound().disconnect(lane);
  for_each_path_to(lane, [this](flow::Path& path) { wait_for_decision(path, kDaemonPatience); });
}

void PeerResolution::look_after_stuck() {
  const int lane = rings_ != nullptr ? rings_->outbound().take_stuck() : -1;
  if (lane < 0) return;
  const auto number = static_cast<std::uint8_t>(lane);
  const DirectPeer& peer = *direct_.peer(number);
  if (peer.lives() && rings_->outbound().is_refused_by(peer)) return leave_ring(number);
  if (peer.lives()) return;
  direct_.request_peer(number);
  forget(number);
}

// By UDP from now on. What was in the ring is lost.
void PeerResolution::leave_ring(std::uint8_t lane) {
  explain({.reason = because(ReasonId::ring_refused, lane, direct_.peer(lane)->pid())});
  rings_->outbound().disconnect(lane);
  for_each_path_to(lane, [this](flow::Path& path) { settle(path); });
}

// With the ring of the peer, or without.
void PeerResolution::settle(flow::Path& path) {
  OutboundRings& rings = rings_->outbound();
  if (rings.connected(path.lane)) {
    path.go_by_ring(rings.gauge(path.lane), OutboundRings::kLongestPacket, OutboundRings::kWindow);
  } else {
    path.go_by_network();
  }
  path.set_undecided(false);
  path.resolved = true;
  path.decide_at = kNever;
}

void PeerResolution::settle(std::uint8_t lane, std::unique_ptr<DirectPeer> opened, UniqueFd doorbell) {
  if (!direct_.is_same_peer(lane, opened.get())) rings_->outbound().disconnect(lane);
  direct_.install_peer(lane, std::move(opened));
  DirectPeer* const peer = direct_.peer(lane);
  if (peer != nullptr && !rings_->outbound().connected(lane))
    attempt([&] { rings_->outbound().connect(lane, *peer, std::move(doorbell)); });
  for_each_path_to(lane, [this](flow::Path& path) {
    if (!path.resolved || path.has_mtu() == rings_->outbound().connected(path.lane)) settle(path);
  });
  find_next_decision();
}

void PeerResolution::wait_for_decision(flow::Path& path, Duration patience) {
  path.set_undecided(true);
  path.resolved = false;
  path.decide_at = clock_.now() + patience;
  due_ = std::min(due_, path.decide_at);
}

void PeerResolution::decide() {
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

void PeerResolution::find_next_decision() {
  due_ = kNever;
  paths_.for_each([this](const flow::Path& path) { due_ = std::min(due_, path.decide_at); });
}

// ---- by the thread that may wait for the daemon

void PeerResolution::call_resolver() {
  if (called_ || abandoned_ || !direct_.any_pending()) return;
  called_ = true;
  eventfd_write(pending_fd_.get(), 1);
}

DirectPath::Lanes PeerResolution::take_pending() {
  const std::lock_guard lock(mutex_);
  eventfd_t calls = 0;
  eventfd_read(pending_fd_.get(), &calls);
  called_ = false;
  return direct_.take_pending();
}

bool PeerResolution::resolve() {
  const DirectPath::Lanes pending = take_pending();
  for (std::size_t lane = 0; lane < pending.size(); ++lane)
    if (pending[lane]) resolve(static_cast<std::uint8_t>(lane));
  return pending.any();
}

// A lane that cannot be opened for want of memory is one that shares nothing: UDP reaches it all the same.
void PeerResolution::resolve(std::uint8_t lane) {
  std::unique_ptr<DirectPeer> peer;
  std::optional<PeerHandles> shown{PeerHandles()};
  try {
    shown = resolve_(lane);
    if (shown && shown->memory) peer = direct_.open_peer(lane, *shown);
  } catch (const std::bad_alloc&) {
    peer = nullptr;
  }
  const std::lock_guard lock(mutex_);
  if (!shown) return direct_.request_again(lane);
  const bool any = peer != nullptr;
  opened(lane, std::move(peer), any ? std::move(shown->doorbell) : UniqueFd());
  if (any) return;
  direct_.set_unavailable(lane, shown->without);
  if (shown->memory && !shown->attached)
    explain({.reason = because(ReasonId::local_peer_unreachable, lane, shown->pid, EPERM)});
}

// What takes the ring is not to overtake what has taken the socket. RC puts that right, others
// are silent for a moment.
void PeerResolution::opened(std::uint8_t lane, std::unique_ptr<DirectPeer> peer, UniqueFd doorbell) {
  if (peer == nullptr || !goes_unordered_by_udp(lane))
    return settle(lane, std::move(peer), std::move(doorbell));
  attempt([&] {
    late_peers_.push_back({lane, monotonic_now() + kSilence, std::move(peer), std::move(doorbell)});
    for_each_path_to(lane, [this](flow::Path& path) { wait_for_decision(path, kSilence); });
  });
}

bool PeerResolution::goes_unordered_by_udp(std::uint8_t lane) {
  bool any = false;
  for_each_path_to(lane,
                   [&](const flow::Path& path) { any |= path.resolved && path.credit() && path.has_mtu(); });
  return any;
}

}  // namespace softrnic::samehost
