// A local peer: the lane of another process of this host (or of this one), as far as it lets others act for
// it.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>

#include "base/expected.h"
#include "base/unique_fd.h"
#include "samehost/direct_layout.h"
#include "samehost/direct_share.h"
#include "samehost/peer_handles.h"
#include "samehost/remote_memory.h"
#include "samehost/segment_cache.h"

namespace softrnic::samehost {

class DirectPeer {
 public:
  /// The local peer whose memory is `handles` and that holds lane `number`, for accesses from lane `accessor`
  /// of the process of `own`. nullptr: there is none, or the kernel does not let this process attach to it.
  static std::unique_ptr<DirectPeer> open(const PeerHandles& handles, std::uint8_t number,
                                          std::uint8_t accessor, DirectShare& own);
  /// The same for a lane of this very process.
  static std::unique_ptr<DirectPeer> open_own(std::uint8_t number, std::uint8_t accessor, DirectShare& own);
  ~DirectPeer();
  DirectPeer(const DirectPeer&) = delete;
  DirectPeer& operator=(const DirectPeer&) = delete;

  /// In a forked child, where it is not mapped.
  void forget() {
    lanes_mapped_ = 0;
    segments_.forget();
  }

  /// Whether the local peer's lane is served: if not, the local peer is dead or has given the lane back.
  bool lives() const { return life_->is_held(); }
  /// Names the memory: another number is another process.
  std::uint64_t secret() const { return secret_; }
  /// Of the local peer, as it sees itself.
  pid_t pid() const { return pid_; }

  // ---- messages: packets through a ring

  RingInbox& inbox() const { return inbox_; }
  /// What it says of its rings.
  const RingReception& reception() const { return reception_; }
  PacketRing& ring() const { return *ring_; }
  EagerAck& ack(Qpn qpn) const { return acks_[qpn.index()]; }

  // ---- access to its memory

  /// False: the kernel lets this process not at the memory of that one. Then no accesses.
  bool attached() const { return remote_.has_value(); }
  /// A local peer that can be revoked itself asks that of its accessors. Threads that a program has made by
  /// itself may not be, though others of their process are.
  bool lets_this_thread_in() const { return !must_be_revocable_ || accesses_are_revocable(); }

  /// As long as it lives, queue pairs and keys that were found good stay so, and so does the
  /// memory behind them.
  class AccessGuard {
   public:
    explicit AccessGuard(DirectPeer& peer) : hazard_(peer.hazard_), inside_(peer.enter()) {}
    ~AccessGuard() {
      if (inside_) hazard_.leave();
    }
    AccessGuard(const AccessGuard&) = delete;
    AccessGuard& operator=(const AccessGuard&) = delete;
    /// False: the local peer does not let this side in.
    explicit operator bool() const { return inside_; }

   private:
    HazardSlot& hazard_;
    const bool inside_;
  };

  // ---- during an access
  const DirectQp& qp(Qpn qpn) const { return qps_[qpn.index()]; }
  struct Target {
    std::uint64_t address;  ///< in the local peer's process
    SegmentRef segment;
    const DirectKey* key;   ///< where the key stands
    std::uint32_t version;  ///< of what stands there
    std::uint32_t access;   ///< of the region
    std::uint64_t before;   ///< bytes of the region
    std::uint64_t behind;   ///< and from `address` on
  };
  /// Where `bytes` bytes at `address` lie, if the key allows it through that queue pair.
  std::optional<Target> find(MemoryKey key, const DirectQpBody& qp, std::uint64_t address,
                             std::uint64_t bytes, std::uint32_t access) const;
  /// Whether the key allows that access through that queue pair, wherever its region lies.
  bool allows(MemoryKey key, const DirectQpBody& qp, std::uint32_t access) const;
  /// How this process gets at them.
  struct Access {
    const RemoteMemory& memory;
    std::uint64_t address;
    bool mapped;
    std::uint64_t before;  ///< bytes of the region that are reached in the same way
    std::uint64_t behind;  ///< and from `address` on
  };
  /// Nothing: the local peer is dead.
  std::optional<Access> access_to(const Target& target, std::uint64_t bytes);
  /// Whether these bytes of the local peer's process lie in the region of that key.
  bool holds(MemoryKey key, std::uint64_t address, std::uint64_t bytes) const;
  const RemoteMemory& remote() const { return *remote_; }

  // ---- at any time
  /// Where a segment lies, for MappedRange::map() with pid(). Nothing: it was withdrawn.
  std::optional<SharedRange> range_of(SegmentRef segment) const;
  SegmentCache& segments() { return segments_; }
  /// See SegmentCache::sweep().
  void sweep(SegmentCache::Mappings& old) { segments_.sweep(memory_.segments(), lives(), old); }

 private:
  struct Parts {
    ForeignMemory memory;
    InboxMemory inboxes;
    std::uint32_t lanes_mapped =
        0;                    ///< mapped for this object, with so many lanes and the ring; 0: not for it
    std::uint32_t index = 0;  ///< of the lane in the header's list
    PacketRing* ring = nullptr;
    HazardSlot* hazard = nullptr;  ///< of the accessor
    pid_t pid = 0;
  };
  DirectPeer(const Parts& parts, std::uint8_t number, std::uint8_t accessor, const DirectShare& own,
             std::optional<RemoteMemory> remote);
  bool enter() {
    if (!lets_this_thread_in()) return false;
    hazard_.enter(number_);
    if (accessor_.admitted.load(std::memory_order_seq_cst) == own_secret_) return true;
    hazard_.leave();
    return false;
  }
  const DirectKey* read_key(MemoryKey key, DirectKeyBody& out) const;

  ForeignMemory memory_;
  InboxMemory inboxes_;
  std::uint32_t lanes_mapped_;
  const std::uint8_t number_;
  const std::uint64_t secret_, own_secret_;
  const pid_t pid_;
  const bool must_be_revocable_;
  const DirectQp* qps_;
  EagerAck* acks_;
  const RobustMutex* life_;
  const DirectAccessor& accessor_;
  HazardSlot& hazard_;
  const RingReception& reception_;
  RingInbox& inbox_;
  PacketRing* ring_;
  std::optional<RemoteMemory> remote_;
  RemoteMemory mapped_;  ///< what segments_ has of it
  SegmentCache segments_;
};

}  // namespace softrnic::samehost
