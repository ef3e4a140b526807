// A neighbour: the lane of another process of this host (or of this one), as far as it lets others act for it.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>

#include "base/expected.h"
#include "base/unique_fd.h"
#include "engine/direct_layout.h"
#include "engine/direct_share.h"
#include "engine/segment_cache.h"
#include "link/remote_memory.h"

namespace softrnic::engine {

using DirectState = control::PathChoice;

class DirectPeer {
 public:
  /// The neighbour that shares `memory` and holds lane `number`, for visits from lane `visitor` of the process of `own`.
  /// nullptr: there is none.
  static std::unique_ptr<DirectPeer> meet(const UniqueFd& memory, std::uint8_t number, std::uint8_t visitor,
                                          DirectShare& own);
  /// The same for a lane of this very process.
  static std::unique_ptr<DirectPeer> meet_own(std::uint8_t number, std::uint8_t visitor, DirectShare& own);
  ~DirectPeer();
  DirectPeer(const DirectPeer&) = delete;
  DirectPeer& operator=(const DirectPeer&) = delete;

  /// In a forked child, where it is not mapped.
  void forget() {
    bytes_ = 0;
    segments_.forget();
    owns_ring_ = false;
  }

  /// Whether the neighbour's lane is served: if not, the neighbour is dead or has given the lane back.
  bool lives() const { return life_->is_held(); }
  /// Names the memory: another number is another process.
  std::uint64_t secret() const { return memory_.header().secret; }
  /// Of the neighbour, as it sees itself.
  pid_t pid() const { return memory_.header().pid; }

  // ---- messages: packets through a ring

  DirectInbox& inbox() const { return inbox_; }
  link::PacketRing& ring() const { return *ring_; }
  DirectAck& ack(Qpn qpn) const { return acks_[qpn.index()]; }

  // ---- access to its memory

  /// False: the kernel lets this process not at the memory of that one. Then no visits.
  bool attached() const { return remote_.has_value(); }

  /// As long as it lives, rows and keys that were found good stay so, and so does the memory behind them.
  class Visit {
   public:
    explicit Visit(DirectPeer& peer) : place_(peer.announce()), inside_(place_.inside.try_lock()) { begin(); }
    /// Waits for so long.
    Visit(DirectPeer& peer, Duration patience)
        : place_(peer.announce()), inside_(place_.inside.try_lock_for(patience)) {
      begin();
    }
    ~Visit() {
      if (inside_) place_.inside.unlock();
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    /// False: the neighbour is just waiting for its visitors to leave.
    explicit operator bool() const { return inside_; }

   private:
    /// What was revoked of visits before is nothing to this one, which has not looked at anything yet.
    void begin() {
      if (inside_ && place_.revoked.load(std::memory_order_relaxed) != 0)
        place_.revoked.exchange(0, std::memory_order_acq_rel);
    }

    DirectVisitor& place_;
    bool inside_;
  };

  // ---- during a visit
  DirectQp& row(Qpn qpn) const { return rows_[qpn.index()]; }
  struct Place {
    std::uint64_t address;  ///< in the neighbour's process
    SegmentRef segment;
    const DirectKey* key;   ///< where the key stands
    std::uint32_t version;  ///< of what stands there
    std::uint32_t access;   ///< of the region
    std::uint64_t before;   ///< bytes of the region
    std::uint64_t behind;   ///< and from `address` on
  };
  /// Where `bytes` bytes at `address` lie, if the key allows it.
  std::optional<Place> find(MemoryKey key, std::uint64_t pd, std::uint64_t address, std::uint64_t bytes,
                            std::uint32_t access) const;
  /// How this process gets at them.
  struct Way {
    const link::RemoteMemory& memory;
    std::uint64_t address;
    bool mapped;
    std::uint64_t before;  ///< bytes of the region that are reached in the same way
    std::uint64_t behind;  ///< and from `address` on
  };
  /// Nothing: the neighbour is dead.
  std::optional<Way> way_to(const Place& place, std::uint64_t bytes);
  /// Whether these bytes of the neighbour's process lie in the region of that key.
  bool holds(MemoryKey key, std::uint64_t address, std::uint64_t bytes) const;
  const link::RemoteMemory& remote() const { return *remote_; }

  // ---- at any time
  /// Where a segment lies, for link::MappedRange::map() with pid(). Nothing: it was withdrawn.
  std::optional<link::SharedRange> range_of(SegmentRef segment) const;
  SegmentCache& segments() { return segments_; }
  /// See SegmentCache::sweep().
  void sweep(SegmentCache::Mappings& old) { segments_.sweep(memory_.segments(), lives(), old); }

 private:
  struct Parts {
    DirectMemory memory;
    std::size_t bytes = 0;    ///< mapped for this object; 0: not for it
    std::uint32_t index = 0;  ///< of the lane in the header's list
    link::PacketRing* ring = nullptr;
    bool owns_ring = false;
  };
  DirectPeer(const Parts& parts, std::uint8_t visitor, std::optional<link::RemoteMemory> remote);
  /// Before a visit: says whether the owner can revoke it.
  DirectVisitor& announce() {
    const std::uint32_t space = link::accesses_are_revocable() ? space_ : 0;
    if (place_.revocable_in.load(std::memory_order_relaxed) != space)
      place_.revocable_in.store(space, std::memory_order_seq_cst);
    return place_;
  }
  const DirectKey* read_key(MemoryKey key, DirectKeyBody& out) const;

  DirectMemory memory_;
  std::size_t bytes_;
  DirectQp* rows_;
  DirectAck* acks_;
  const RobustMutex* life_;
  DirectVisitor& place_;
  DirectInbox& inbox_;
  link::PacketRing* ring_;
  bool owns_ring_;
  std::uint32_t space_;  ///< the PID namespace of this process; 0: of no matter, both ends are this process
  std::optional<link::RemoteMemory> remote_;
  link::RemoteMemory mapped_;  ///< what segments_ has of it
  SegmentCache segments_;
};

}  // namespace softrnic::engine
