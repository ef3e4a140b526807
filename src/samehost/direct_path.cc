#include "samehost/direct_path.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/reason_id.h"
#include "transport/ib/flush_selector.h"
#include "transport/ib/rights.h"

namespace softrnic::samehost {
namespace {

using ib::Needs;
using ib::needs_of;
using ib::SendOp;
using rnic::DirectResult;

/// How long what a local peer has withdrawn may stay mapped here, unused.
constexpr Duration kSweepPeriod = std::chrono::seconds(1);

/// How long a word is waited for. Who has it is gone in microseconds, or is off the processor, or is stopped:
/// then all lanes of its local peers would stand still with it.
constexpr Duration kWordPatience = std::chrono::milliseconds(1);

/// Whether the responder would take the packets of this message.
bool accepts(const DirectQp& entry, const rnic::DirectStep& step, const Needs& needs) {
  if (entry.open.load(std::memory_order_acquire) == 0) return false;
  const ib::Attributes& ours = step.qp.transport_attributes();
  const DirectQpBody& theirs = entry.body;
  return entry.expected_psn.load(std::memory_order_acquire) == step.psn &&
         theirs.type == static_cast<std::uint8_t>(step.qp.type()) && theirs.peer_qpn == ours.local.value &&
         std::memcmp(theirs.peer_gid, ours.path.source.raw.data(), sizeof theirs.peer_gid) == 0 &&
         theirs.path_mtu == ours.path_mtu && theirs.pkey == ours.pkey &&
         (needs.access & ~theirs.access) == 0 && (!needs.resources || theirs.max_reads_in > 0);
}

ib::FlushSelector selector_of(const ib::SendWqe& flush) {
  return ib::FlushSelector::of(static_cast<std::uint32_t>(flush.swap_or_add));
}

Needs needs_of_empty(const ib::SendWqe& wqe) {
  return wqe.op == SendOp::flush ? Needs{selector_of(wqe).access(), true} : needs_of(wqe.op);
}

/// Whether its key does: that of an empty WRITE or READ is not checked (IBTA C9-88), that of a FLUSH is.
bool key_allows_empty(const DirectPeer& peer, const DirectQpBody& qp, const ib::SendWqe& wqe) {
  if (wqe.op != SendOp::flush) return true;
  const ib::FlushSelector selector = selector_of(wqe);
  if (selector.level == ib::FlushSelector::kRegion) return peer.allows(wqe.rkey, qp, selector.access());
  return wqe.compare == 0 ||
         peer.find(wqe.rkey, qp, wqe.remote_address, wqe.compare, selector.access()).has_value();
}

void scatter_word(std::span<const iovec> places, std::uint64_t word) {
  const auto* from = reinterpret_cast<const std::byte*>(&word);
  for (const iovec& place : places) {
    std::memcpy(place.iov_base, from, place.iov_len);
    from += place.iov_len;
  }
}

std::uint64_t gather_word(std::span<const iovec> places) {
  std::uint64_t word = 0;
  auto* to = reinterpret_cast<std::byte*>(&word);
  for (const iovec& place : places) {
    std::memcpy(to, place.iov_base, place.iov_len);
    to += place.iov_len;
  }
  return word;
}

ib::AtomicOperation atomic_of(const rnic::DirectStep& step) {
  const ib::SendWqe& wqe = step.wqe;
  if (wqe.op == SendOp::atomic_write) return {ib::AtomicKind::write, gather_word(step.local)};
  const auto kind = wqe.op == SendOp::compare_swap ? ib::AtomicKind::compare_swap : ib::AtomicKind::fetch_add;
  return {kind, wqe.swap_or_add, wqe.compare};
}

}  // namespace

DirectPath::DirectPath(std::uint8_t lane, DirectShare* share) : lane_(lane), share_(share) {
  if (share != nullptr) slot_ = share->add_lane(lane);
}

void DirectPath::begin_life() {
  if (slot_) slot_->life->lock();
}

void DirectPath::end_life() {
  if (slot_) slot_->life->unlock();
}

// ---- the responder's side

void DirectPath::publish(const rnic::QueuePair& qp) {
  if (slot_) share_->publish(slot_->qps[qp.qpn().index()], qp);
}

void DirectPath::withdraw(Qpn qpn) {
  if (slot_) share_->withdraw(slot_->qps[qpn.index()]);
}

void DirectPath::received(const rnic::QueuePair& qp) {
  if (!slot_) return;
  DirectQp& entry = slot_->qps[qp.qpn().index()];
  if (entry.open.load(std::memory_order_relaxed) != 0)
    entry.expected_psn.store(qp.receive_psn(), std::memory_order_release);
}

Expected<std::uint64_t, Reason> DirectPath::execute_atomic(std::uint64_t* word,
                                                           const ib::AtomicOperation& operation) {
  if (share_ == nullptr || !share_->locks()) return ib::execute(word, operation);
  const auto address = reinterpret_cast<std::uint64_t>(word);
  DirectLock& lock = share_->locks().of(address);
  const DirectLockHeld held(lock, lane_, kWordPatience);
  if (!held) return Unexpected{because(ReasonId::nak_atomic_busy, address, lock.holder())};
  return ib::execute(word, operation);
}

// ---- local peers

bool DirectPath::request_peer(std::uint8_t lane) {
  if (!slot_) return false;
  LocalPeer& local = peers_[lane];
  const bool known = local.peer != nullptr && local.peer->lives();
  if (!known && !std::exchange(local.asked, true)) pending_.set(lane);
  return true;
}

std::unique_ptr<DirectPeer> DirectPath::open_peer(std::uint8_t lane, const PeerHandles& handles) const {
  if (share_ == nullptr || !share_->locks()) return nullptr;
  return DirectPeer::open(handles, lane, lane_, *share_);
}

std::unique_ptr<DirectPeer> DirectPath::open_own() const {
  if (!slot_ || share_ == nullptr || !share_->locks()) return nullptr;
  return DirectPeer::open_own(lane_, lane_, *share_);
}

namespace {

control::PathChoice state_of(const DirectPeer& peer) {
  if (!peer.attached()) return control::PathChoice::forbidden;
  return peer.lets_this_thread_in() ? control::PathChoice::direct : control::PathChoice::no_rseq;
}

}  // namespace

bool DirectPath::is_same_peer(std::uint8_t lane, const DirectPeer* peer) const {
  const DirectPeer* const known = peers_[lane].peer.get();
  return peer != nullptr && known != nullptr && peer->secret() == known->secret();
}

void DirectPath::install_peer(std::uint8_t lane, std::unique_ptr<DirectPeer> peer) {
  LocalPeer& local = peers_[lane];
  local.asked = false;
  if (is_same_peer(lane, peer.get())) return;
  local.peer = std::move(peer);
  local.state = control::PathChoice::not_shared;
  ++epoch_;
  if (local.peer != nullptr) local.state = state_of(*local.peer);
}

control::PathChoice DirectPath::state(std::uint8_t lane) const {
  return slot_ ? peers_[lane].state : control::PathChoice::wire_only;
}

void DirectPath::abandon() {
  slot_.reset();
  share_ = nullptr;
  ++epoch_;
  for (LocalPeer& local_peer : peers_) {
    if (local_peer.peer == nullptr) continue;
    local_peer.peer->forget();
    local_peer.peer.reset();
  }
}

// ---- what is mapped of them

void DirectPath::MapRequests::add(const MapRequest& request) {
  const auto all = this->all();
  const bool known = std::any_of(all.begin(), all.end(), [&](const MapRequest& other) {
    return other.lane == request.lane && other.segment.id == request.segment.id;
  });
  if (!known && count_ < map_requests_.size()) map_requests_[count_++] = request;
}

std::optional<DirectPath::MapTarget> DirectPath::target_of(const MapRequest& request) const {
  const DirectPeer* const peer = peers_[request.lane].peer.get();
  if (peer == nullptr || peer->secret() != request.secret) return std::nullopt;
  const auto range = peer->range_of(request.segment);
  return range ? std::optional(MapTarget{peer->pid(), *range}) : std::nullopt;
}

void DirectPath::install_segment(const MapRequest& request, MappedRange mapped, TimePoint now,
                                 SegmentCache::Mappings& old) {
  DirectPeer* const peer = peers_[request.lane].peer.get();
  if (peer == nullptr || peer->secret() != request.secret) return;
  peer->segments().install(request.segment, std::move(mapped), old);
  ++epoch_;
  sweep_due_ = std::min(sweep_due_, now + kSweepPeriod);
}

void DirectPath::sweep(TimePoint now, SegmentCache::Mappings& old) {
  if (now < sweep_due_) return;
  sweep_due_ = kNever;
  ++epoch_;  // also that what is in use is marked as such
  for (LocalPeer& local_peer : peers_) {
    if (local_peer.peer == nullptr || local_peer.peer->segments().idle()) continue;
    local_peer.peer->sweep(old);
    sweep_due_ = now + kSweepPeriod;
  }
}

// ---- the requester's side

DirectResult DirectPath::perform(const rnic::DirectStep& step, DirectRoute& route) {
  const Qpn remote = step.qp.transport_attributes().remote;
  DirectPeer* const peer = peers_[remote.lane()].peer.get();
  if (peer == nullptr || !peer->attached()) return DirectResult::none;
  const DirectPeer::AccessGuard access(*peer);
  if (!access) return DirectResult::none;
  if (is_valid(route, *peer, step)) return perform_by_route(route, step);
  const DirectQp& entry = peer->qp(remote);
  const bool accepted = accepts(entry, step, needs_of(step.wqe.op));
  return accepted ? perform_by_key(*peer, entry, step, route) : DirectResult::none;
}

// Nothing is copied, so no system call tells that the peer is dead, and no restartable sequence that it has
// revoked the access: what was read of `entry` may be of two connections then. So the generation is read once
// more. The fence holds the compiler alone, as only on x86-64, which loads in order, accesses are revoked.
bool DirectPath::take_empty(const rnic::DirectStep& step) {
  const Qpn remote = step.qp.transport_attributes().remote;
  DirectPeer* const peer = peers_[remote.lane()].peer.get();
  if (peer == nullptr || !peer->attached()) return false;
  const DirectPeer::AccessGuard access(*peer);
  if (!access) return false;
  const DirectQp& entry = peer->qp(remote);
  const std::uint32_t generation = entry.open.load(std::memory_order_acquire);
  if (!accepts(entry, step, needs_of_empty(step.wqe)) || !key_allows_empty(*peer, entry.body, step.wqe))
    return false;
  std::atomic_signal_fence(std::memory_order_acquire);
  return entry.open.load(std::memory_order_relaxed) == generation && peer->lives();
}

// What an entry of a queue pair says stays as it is while it is open under the same number, and what a key
// says while its sequence stays.
bool DirectPath::is_valid(const DirectRoute& route, const DirectPeer& peer,
                          const rnic::DirectStep& step) const {
  const ib::SendWqe& wqe = step.wqe;
  return route.epoch == epoch_ && route.key == wqe.rkey && !is_atomic(wqe.op) &&
         route.qp->open.load(std::memory_order_acquire) == route.generation &&
         route.qp->expected_psn.load(std::memory_order_acquire) == step.psn &&
         route.published->sequence.load(std::memory_order_acquire) == route.version &&
         (needs_of(wqe.op).access & ~route.access) == 0 &&
         route.holds(wqe.remote_address + step.offset, wqe.length - step.offset) &&
         (!route.mapped || peer.lives());
}

DirectResult DirectPath::perform_by_route(const DirectRoute& route, const rnic::DirectStep& step) const {
  const std::uint64_t address = step.wqe.remote_address + step.offset + route.shift;
  if (!move(*route.memory, address, step)) return DirectResult::none;
  return route.mapped ? DirectResult::mapped : DirectResult::attach;
}

DirectResult DirectPath::perform_by_key(DirectPeer& peer, const DirectQp& entry, const rnic::DirectStep& step,
                                        DirectRoute& route) {
  const ib::SendWqe& wqe = step.wqe;
  const Needs needs = needs_of(wqe.op);
  // the whole message is checked at its first packet (IBTA 9.7.4.1.5), and what is left of it at every step
  const std::uint64_t left = is_atomic(wqe.op) ? 8 : wqe.length - step.offset;
  const std::uint64_t address = wqe.remote_address + step.offset;
  const auto target = peer.find(wqe.rkey, entry.body, address, left, needs.access);
  if (!target) return DirectResult::none;
  const auto access = peer.access_to(*target, step.bytes);
  if (!access || !move(access->memory, access->address, step)) return DirectResult::none;
  if (access->mapped || target->segment.id == 0) {
    route = {.epoch = epoch_,
             .qp = &entry,
             .published = target->key,
             .memory = &access->memory,
             .start = address - access->before,
             .length = access->before + access->behind,
             .shift = access->address - address,
             .generation = entry.open.load(std::memory_order_relaxed),
             .version = target->version,
             .key = wqe.rkey,
             .access = target->access & entry.body.access,
             .mapped = access->mapped};
  }
  if (access->mapped) return DirectResult::mapped;
  if (peer.segments().lacks(target->segment))
    map_requests_.add({step.qp.transport_attributes().remote.lane(), peer.secret(), target->segment});
  return DirectResult::attach;
}

bool DirectPath::move(const RemoteMemory& memory, std::uint64_t address, const rnic::DirectStep& step) const {
  const ib::SendWqe& wqe = step.wqe;
  if (wqe.op == SendOp::write) return memory.write(step.local, address, step.bytes);
  if (wqe.op == SendOp::read) return memory.read(step.local, address, step.bytes);
  if (address % 8 != 0 || wqe.remote_address % 8 != 0) return false;
  return execute_remote(memory, address, step);
}

bool DirectPath::execute_remote(const RemoteMemory& memory, std::uint64_t address,
                                const rnic::DirectStep& step) const {
  std::optional<std::uint64_t> original;
  if (const DirectLockHeld held(share_->locks().of(address), lane_, kWordPatience); held)
    original = memory.execute(address, atomic_of(step));
  if (original && is_atomic(step.wqe.op)) scatter_word(step.local, *original);
  return original.has_value();
}

}  // namespace softrnic::samehost
