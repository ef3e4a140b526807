// All that a lane has to do with the other lanes of its host. Rings and what the process shares are also used
// directly (RingLink, DirectShare).
//
// A local peer is asked for when a queue pair is to talk to it (PeerResolution). From then on packets to it
// go through rings (RingLink, which stands before the lane's link), one-sided messages are carried out by
// this side in the peer's memory (DirectPath), as far as that is mapped (SegmentMapper).
#pragma once

#include <memory>
#include <utility>

#include "base/batch_clock.h"
#include "base/quick_mutex.h"
#include "base/unique_fd.h"
#include "flow/path_table.h"
#include "samehost/direct_path.h"
#include "samehost/eager_receiver.h"
#include "samehost/peer_resolution.h"
#include "samehost/ring_link.h"
#include "samehost/segment_mapper.h"

namespace softrnic::samehost {

/// Of one lane. The lane's lock guards it, except where it says otherwise.
class LocalPeers {
 public:
  /// What a lane has beside it, all of which outlives this object.
  struct Parts {
    QuickMutex& mutex;  ///< the lane's lock
    const BatchClock& clock;
    flow::PathTable& paths;
  };

  /// `lane`: its number. `share` (nullptr: everything goes by UDP) outlives this object.
  LocalPeers(std::uint8_t lane, const Parts& parts, DirectShare* share, PeerResolution::ResolvePeer resolve)
      : lane_(lane),
        share_(share),
        direct_(lane, share),
        mapper_(parts.mutex, direct_),
        resolution_(lane, {parts.mutex, parts.clock, direct_, parts.paths}, std::move(resolve)) {}

  /// False: descriptors ran out.
  bool valid() const { return resolution_.valid(); }
  /// `link`, with rings before it if there is a share. `doorbell` is the lane's own. This object goes first,
  /// or is not used any more.
  std::unique_ptr<link::Link> put_rings_before(std::unique_ptr<link::Link> link, UniqueFd doorbell,
                                               EagerReceiver& eagers);
  /// nullptr: there is no way to local peers but UDP.
  RingLink* rings() const { return rings_; }

  // ---- who they are
  /// See PeerResolution.
  bool look_for(flow::Path& path, bool local) { return resolution_.look_for(path, local); }
  void look_after_stuck() { resolution_.look_after_stuck(); }
  TimePoint decision_due() const { return resolution_.due(); }
  void decide() { resolution_.decide(); }
  void call_resolver() { resolution_.call_resolver(); }
  /// Without the lock, by one thread.
  int pending_fd() const { return resolution_.pending_fd(); }
  bool resolve() { return resolution_.resolve(); }

  // ---- what they see of this lane's queue pairs
  void publish(const rnic::QueuePair& qp) { direct_.publish(qp); }
  void withdraw(Qpn qpn) { direct_.withdraw(qpn); }
  /// A packet has come for the queue pair.
  void received(const rnic::QueuePair& qp) { direct_.received(qp); }
  /// See ib::Host::execute_atomic().
  Expected<std::uint64_t, Reason> execute_atomic(std::uint64_t* word, const ib::AtomicOperation& operation) {
    return direct_.execute_atomic(word, operation);
  }
  /// See DirectShare. Not from within an access.
  void wait_for_accessors() {
    if (share_ != nullptr) share_->wait_for_accessors();
  }
  /// What they acknowledge, by index of the queue pair; nullptr: they cannot.
  const EagerAck* acks() const { return direct_.slot() ? direct_.slot()->acks : nullptr; }
  /// By the lane's thread: as long as it runs, they may use what they have mapped of this process.
  void begin_life() { direct_.begin_life(); }
  void end_life() { direct_.end_life(); }

  // ---- their memory
  control::PathChoice state(std::uint8_t lane) const { return direct_.state(lane); }
  rnic::DirectResult perform(const rnic::DirectStep& step, DirectRoute& route) {
    return direct_.perform(step, route);
  }
  bool take_empty(const rnic::DirectStep& step) { return direct_.take_empty(step); }
  bool any_map_requests() const { return direct_.any_map_requests(); }
  /// When what they share no longer is to be let go, by take_map_requests() and map().
  TimePoint sweep_due() const { return direct_.sweep_due(); }
  /// What is to be mapped and let go is now for map() to do.
  void take_map_requests(TimePoint now) { mapper_.take_requests(now); }
  /// Without the lock, by the thread that has called take_map_requests().
  void map() { mapper_.run(); }

  /// In a forked child: nobody is asked for or reached from now on.
  void abandon();

 private:
  const std::uint8_t lane_;
  DirectShare* const share_;
  DirectPath direct_;
  SegmentMapper mapper_;
  PeerResolution resolution_;
  RingLink* rings_ = nullptr;
};

}  // namespace softrnic::samehost
