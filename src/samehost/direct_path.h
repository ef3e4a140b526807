// The direct path of a lane: messages to queue pairs of this host that this side carries out itself, in the
// thread that posts, without a packet and without the peer.
//
// It does only what the peer's responder would do without any fault. Everything else (a key that is wrong, a
// peer that is not ready, PSNs that were not agreed) goes by packets, so that errors, timers, retries, events
// and explanations have one implementation, on the wire.
#pragma once

#include <array>
#include <bitset>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/time.h"
#include "rnic/lane_port.h"
#include "samehost/direct_peer.h"
#include "samehost/direct_route.h"
#include "samehost/direct_share.h"

namespace softrnic::samehost {

/// Guarded by the lane's lock, except where it says otherwise.
class DirectPath {
 public:
  using Lanes = std::bitset<256>;

  /// `share` (nullptr: everything takes the wire) outlives this object.
  DirectPath(std::uint8_t lane, DirectShare* share);

  // ---- this side as a responder
  void publish(const rnic::QueuePair& qp);
  void withdraw(Qpn qpn);
  /// A packet has come for the queue pair.
  void received(const rnic::QueuePair& qp);
  /// See ib::Host::execute_atomic().
  Expected<std::uint64_t, Reason> execute_atomic(std::uint64_t* word, const ib::AtomicOperation& operation);

  // ---- this side as a requester
  /// A queue pair is to talk to a lane of this host: take_pending() names it until it is installed, and
  /// again when the process that held it has let it go since. False: there is no direct path at all.
  bool request_peer(std::uint8_t lane);
  /// The peer there, if it was shared; until the next install_peer().
  DirectPeer* peer(std::uint8_t lane) const { return peers_[lane].peer.get(); }
  const std::optional<DirectShare::LaneSlot>& slot() const { return slot_; }
  /// `route`: that of the queue pair.
  rnic::DirectResult perform(const rnic::DirectStep& step, DirectRoute& route);
  /// See rnic::LanePort::direct_empty().
  bool take_empty(const rnic::DirectStep& step);

  bool any_pending() const { return pending_.any(); }
  Lanes take_pending() { return std::exchange(pending_, {}); }
  /// Nothing could be found out of one of them.
  void request_again(std::uint8_t lane) { pending_.set(lane); }
  /// Without the lane's lock: what install_peer() takes.
  std::unique_ptr<DirectPeer> open_peer(std::uint8_t lane, const PeerHandles& handles) const;
  /// The same for this lane itself.
  std::unique_ptr<DirectPeer> open_own() const;
  /// Whether the one there before is still there.
  bool is_same_peer(std::uint8_t lane, const DirectPeer* peer) const;
  void install_peer(std::uint8_t lane, std::unique_ptr<DirectPeer> peer);
  /// None is to be had there, and this is why.
  void set_unavailable(std::uint8_t lane, control::PathChoice why) { peers_[lane].state = why; }

  // ---- memory of local peers that could be mapped, but is not yet
  struct MapRequest {
    std::uint8_t lane = 0;
    std::uint64_t secret = 0;  ///< of the local peer
    SegmentRef segment;
  };
  /// A few at a time; others will come again with their next message.
  class MapRequests {
   public:
    void add(const MapRequest& request);
    std::span<const MapRequest> all() const { return {map_requests_.data(), count_}; }

   private:
    std::array<MapRequest, 8> map_requests_;
    std::size_t count_ = 0;
  };
  bool any_map_requests() const { return !map_requests_.all().empty(); }
  MapRequests take_map_requests() { return std::exchange(map_requests_, {}); }
  /// How that is to be had, without the lane's lock. Nothing: it is there no longer.
  struct MapTarget {
    pid_t pid = 0;
    SharedRange range;
  };
  std::optional<MapTarget> target_of(const MapRequest& request) const;
  void install_segment(const MapRequest& request, MappedRange mapped, TimePoint now,
                       SegmentCache::Mappings& old);
  /// When it is due: lets go of what local peers share no longer.
  void sweep(TimePoint now, SegmentCache::Mappings& old);
  TimePoint sweep_due() const { return sweep_due_; }

  // ---- of the lane's thread
  /// As long as that thread runs, local peers may use what they have mapped of this process.
  void begin_life();
  void end_life();

  control::PathChoice state(std::uint8_t lane) const;
  /// In a forked child: the lane does nothing from now on.
  void abandon();

 private:
  struct LocalPeer {
    std::unique_ptr<DirectPeer> peer;
    control::PathChoice state = control::PathChoice::not_shared;
    bool asked = false;
  };

  bool is_valid(const DirectRoute& route, const DirectPeer& peer, const rnic::DirectStep& step) const;
  rnic::DirectResult perform_by_route(const DirectRoute& route, const rnic::DirectStep& step) const;
  rnic::DirectResult perform_by_key(DirectPeer& peer, const DirectQp& entry, const rnic::DirectStep& step,
                                    DirectRoute& route);
  bool move(const RemoteMemory& memory, std::uint64_t address, const rnic::DirectStep& step) const;
  bool execute_remote(const RemoteMemory& memory, std::uint64_t address, const rnic::DirectStep& step) const;

  const std::uint8_t lane_;
  DirectShare* share_;
  std::optional<DirectShare::LaneSlot> slot_;
  std::array<LocalPeer, 256> peers_;
  Lanes pending_;
  MapRequests map_requests_;
  std::uint64_t epoch_ = 1;  ///< of routes: counts what may have made one bad
  TimePoint sweep_due_ = kNever;
};

}  // namespace softrnic::samehost
