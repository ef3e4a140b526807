#include "samehost/direct_path.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace softrnic::samehost {
namespace {

using ib::SendOp;
using rnic::DirectResult;

/// How long what a local peer has withdrawn may stay mapped here, unused.
constexpr Duration kSweepPeriod = std::chrono::seconds(1);

/// How long a word is waited for. Who has it is gone in microseconds, or is off the processor, or is stopped:
/// then all lanes of its local peers would stand still with it.
constexpr Duration kWordPatience = std::chrono::milliseconds(1);

/// What an operation needs at the other end.
struct Needs {
  std::uint32_t access;
  bool resources;  ///< of max_dest_rd_atomic
};

constexpr Needs needs_of(SendOp op) {
  switch (op) {
    case SendOp::write:
      return {ib::kRemoteWrite, false};
    case SendOp::read:
      return {ib::kRemoteRead, true};
    default:
      return {ib::kRemoteAtomic, true};
  }
}

/// Whether the responder would take the packets of this message.
bool accepts(const DirectQp& row, const rnic::DirectStep& step) {
  if (row.open.load(std::memory_order_acquire) == 0) return false;
  const ib::Attributes& ours = step.qp.transport_attributes();
  const DirectQpBody& theirs = row.body;
  const Needs needs = needs_of(step.wqe.op);
  return row.expected_psn.load(std::memory_order_acquire) == step.psn &&
         theirs.type == static_cast<std::uint8_t>(step.qp.type()) && theirs.peer_qpn == ours.local.value &&
         std::memcmp(theirs.peer_gid, ours.path.source.raw.data(), sizeof theirs.peer_gid) == 0 &&
         theirs.path_mtu == ours.path_mtu && theirs.pkey == ours.pkey &&
         (needs.access & ~theirs.access) == 0 && (!needs.resources || theirs.max_reads_in > 0);
}

void scatter_word(std::span<const iovec> places, std::uint64_t word) {
  const auto* from = reinterpret_cast<const std::byte*>(&word);
  for (const iovec& place : places) {
    std::memcpy(place.iov_base, from, place.iov_len);
    from += place.iov_len;
  }
}

ib::AtomicOperation atomic_of(const ib::SendWqe& wqe) {
  return {wqe.op == SendOp::compare_swap, wqe.swap_or_add, wqe.compare};
}

}  // namespace

DirectPath::DirectPath(std::uint8_t lane, DirectShare* share) : lane_(lane), share_(share) {
  if (share != nullptr) place_ = share->add_lane(lane);
}

void DirectPath::begin_life() {
  if (place_) place_->life->lock();
}

void DirectPath::end_life() {
  if (place_) place_->life->unlock();
}

// ---- the responder's side

void DirectPath::show(const rnic::QueuePair& qp) {
  if (place_) share_->show(place_->rows[qp.qpn().index()], qp);
}

void DirectPath::hide(Qpn qpn) {
  if (place_) share_->hide(place_->rows[qpn.index()]);
}

void DirectPath::received(const rnic::QueuePair& qp) {
  if (!place_) return;
  DirectQp& row = place_->rows[qp.qpn().index()];
  if (row.open.load(std::memory_order_relaxed) != 0)
    row.expected_psn.store(qp.receive_psn(), std::memory_order_release);
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

bool DirectPath::expect(std::uint8_t lane) {
  if (!place_) return false;
  LocalPeer& place = peers_[lane];
  const bool known = place.peer != nullptr && place.peer->lives();
  if (!known && !std::exchange(place.asked, true)) pending_.set(lane);
  return true;
}

std::unique_ptr<DirectPeer> DirectPath::look_at(std::uint8_t lane, const PeerHandles& shown) const {
  if (share_ == nullptr || !share_->locks()) return nullptr;
  return DirectPeer::meet(shown, lane, lane_, *share_);
}

std::unique_ptr<DirectPeer> DirectPath::look_at_itself() const {
  if (!place_ || share_ == nullptr || !share_->locks()) return nullptr;
  return DirectPeer::open_own(lane_, lane_, *share_);
}

bool DirectPath::knows(std::uint8_t lane, const DirectPeer* met) const {
  const DirectPeer* const known = peers_[lane].peer.get();
  return met != nullptr && known != nullptr && met->secret() == known->secret();
}

void DirectPath::meet(std::uint8_t lane, std::unique_ptr<DirectPeer> met) {
  LocalPeer& place = peers_[lane];
  place.asked = false;
  if (knows(lane, met.get())) return;
  place.peer = std::move(met);
  place.state = DirectState::not_shared;
  ++epoch_;
  if (place.peer != nullptr)
    place.state = place.peer->attached() ? DirectState::direct : DirectState::forbidden;
}

DirectState DirectPath::state(std::uint8_t lane) const {
  return place_ ? peers_[lane].state : DirectState::wire_only;
}

void DirectPath::abandon() {
  place_.reset();
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

void DirectPath::install(const MapRequest& request, MappedRange mapped, TimePoint now,
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
  if (leads_on(route, *peer, step)) return follow(route, step);
  const DirectQp& row = peer->row(remote);
  return accepts(row, step) ? carry_out(*peer, row, step, route) : DirectResult::none;
}

// What a row says stays as it is while it is open under the same number, and what a key says
// while its sequence stays.
bool DirectPath::leads_on(const DirectRoute& route, const DirectPeer& peer,
                          const rnic::DirectStep& step) const {
  const ib::SendWqe& wqe = step.wqe;
  return route.epoch == epoch_ && route.key == wqe.rkey && !is_atomic(wqe.op) &&
         route.row->open.load(std::memory_order_acquire) == route.generation &&
         route.row->expected_psn.load(std::memory_order_acquire) == step.psn &&
         route.place->sequence.load(std::memory_order_acquire) == route.version &&
         (needs_of(wqe.op).access & ~route.access) == 0 &&
         route.holds(wqe.remote_address + step.offset, wqe.length - step.offset) &&
         (!route.mapped || peer.lives());
}

DirectResult DirectPath::follow(const DirectRoute& route, const rnic::DirectStep& step) const {
  const std::uint64_t address = step.wqe.remote_address + step.offset + route.shift;
  if (!move(*route.memory, address, step)) return DirectResult::none;
  return route.mapped ? DirectResult::mapped : DirectResult::attach;
}

DirectResult DirectPath::carry_out(DirectPeer& peer, const DirectQp& row, const rnic::DirectStep& step,
                                   DirectRoute& route) {
  const ib::SendWqe& wqe = step.wqe;
  const Needs needs = needs_of(wqe.op);
  // the whole message is checked at its first packet (IBTA 9.7.4.1.5), and what is left of it at every step
  const std::uint64_t left = is_atomic(wqe.op) ? 8 : wqe.length - step.offset;
  const std::uint64_t address = wqe.remote_address + step.offset;
  const auto place = peer.find(wqe.rkey, row.body.pd, address, left, needs.access);
  if (!place) return DirectResult::none;
  const auto way = peer.way_to(*place, step.bytes);
  if (!way || !move(way->memory, way->address, step)) return DirectResult::none;
  if (way->mapped || place->segment.id == 0) {
    route = {.epoch = epoch_,
             .row = &row,
             .place = place->key,
             .memory = &way->memory,
             .start = address - way->before,
             .length = way->before + way->behind,
             .shift = way->address - address,
             .generation = row.open.load(std::memory_order_relaxed),
             .version = place->version,
             .key = wqe.rkey,
             .access = place->access & row.body.access,
             .mapped = way->mapped};
  }
  if (way->mapped) return DirectResult::mapped;
  if (peer.segments().lacks(place->segment))
    map_requests_.add({step.qp.transport_attributes().remote.lane(), peer.secret(), place->segment});
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
    original = memory.execute(address, atomic_of(step.wqe));
  if (original) scatter_word(step.local, *original);
  return original.has_value();
}

}  // namespace softrnic::samehost
