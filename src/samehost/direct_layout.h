// The memory that a process lets its local peers map, so that they can do for themselves what its responders
// would do. Two memfds of fixed size, which local peers take from their owner's process
// (samehost/foreign_descriptor.h):
//
//   DirectMemory, which its owner alone can write (F_SEAL_FUTURE_WRITE) and local peers read:
//     DirectHeader | DirectKey × kDirectKeys | DirectSegment × kDirectSegments
//     | DirectQp × 65536 and RingReception for each lane
//
//   InboxMemory, which everybody writes who has it:
//     EagerAck × 65536 and RingInbox for each lane | PacketRing × kLaneNumbers for each lane
//
// Locks and whatever leads to an address are in the first. In the second are figures only; whoever reads
// one looks at it once and checks it. Both files are sparse: what was never used costs no memory. The
// rings are mapped one by one.
//
// Accesses: whoever acts on an entry of a local peer says so in its own header first, see
// samehost/hazard_domain.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/lane_limits.h"
#include "control/page_layout.h"
#include "samehost/packet_ring.h"
#include "samehost/robust_mutex.h"
#include "samehost/shared_range.h"

namespace softrnic::samehost {

inline constexpr std::uint64_t kDirectMagic = 0x38'74'63'65'72'69'64'72;  ///< "rdirect8"
inline constexpr std::size_t kDirectKeys = 65536;  ///< by index of the key; what is beyond is not shared
inline constexpr std::size_t kDirectSegments = 512;
inline constexpr std::size_t kDirectQps = 65536;

/// The access that a lane is at: HazardWord, or 0. Its owner's local peers look at it.
struct alignas(64) DirectHazard {
  std::atomic<std::uint64_t> word;
};

/// What a process has decided about the lane that may access it.
struct alignas(64) DirectAccessor {
  /// The secret of the process that holds that lane and whose hazards are looked at here; 0: nobody may come.
  std::atomic<std::uint64_t> admitted;
  /// The hazard of an access whose accesses are not to be done any more (samehost/revocable_access.h).
  std::atomic<std::uint64_t> revoked;
};

struct alignas(64) DirectHeader {
  std::uint64_t magic;
  std::uint64_t cookie;  ///< see samehost/remote_memory.h
  std::uint64_t secret;  ///< also names this memory
  std::int32_t pid;      ///< as the process sees itself; another PID namespace finds somebody else
  std::uint32_t lane_count;
  std::uint32_t pid_space;  ///< inode number of its PID namespace
  std::uint32_t revocable;  ///< 1: its accesses can be revoked (samehost/revocable_access.h)
  std::atomic<std::uint32_t>
      lanes[kProcessLanes];          ///< number of the lane whose queue pairs stand there; 0: none yet
  RobustMutex lives[kProcessLanes];  ///< held by the thread of that lane as long as it runs
  DirectHazard hazards[kProcessLanes];
  DirectAccessor accessors[kLaneNumbers];
};

/// Names a part of the memory that local peers can map.
struct SegmentRef {
  std::uint64_t id = 0;  ///< never another segment's; 0: none
  std::uint64_t index = 0;
};

/// A KeyEntry.
struct DirectKeyBody {
  std::uint32_t key = 0;  ///< 0: not in use
  std::uint32_t access = 0;
  std::uint64_t pd = 0;
  std::uint64_t start = 0;
  std::uint64_t length = 0;
  std::uint64_t base = 0;
  std::uint64_t segment_id = 0;     ///< SegmentRef: where all of it, or its beginning, lies
  std::uint32_t segment_index = 0;  ///< likewise
  std::uint32_t queue_pair = 0;     ///< not 0: it is reached through the one of that serial alone

  SegmentRef segment() const { return {segment_id, segment_index}; }
};
struct alignas(64) DirectKey {
  control::PageSequence sequence;
  DirectKeyBody body;
};

struct DirectSegmentBody {
  std::uint64_t id = 0;  ///< 0: not in use
  SharedRange range;
};
struct alignas(64) DirectSegment {
  control::PageSequence sequence;
  DirectSegmentBody body;
};

/// What a local peer has to know of a responder. Written while it is shut and nobody accesses.
struct DirectQpBody {
  std::uint64_t pd = 0;
  std::uint8_t peer_gid[16] = {};  ///< where its packets have to come from
  std::uint32_t peer_qpn = 0;
  std::uint32_t access = 0;
  std::uint32_t path_mtu = 0;
  std::uint16_t pkey = 0;
  std::uint8_t type = 0;  ///< enum ibv_qp_type
  std::uint8_t max_reads_in = 0;
  std::uint32_t serial = 0;    ///< rnic::QueuePair::serial()
  std::uint32_t reserved = 0;  ///< whose bytes are compared
};
struct alignas(64) DirectQp {
  std::atomic<std::uint32_t> open;          ///< 0: the QP takes no requests; else names this state of `body`
  std::atomic<std::uint32_t> expected_psn;  ///< of the next packet
  DirectQpBody body;
};

/// What the holder of a lane says about the rings that come in there, by the lane that writes them.
struct alignas(4096) RingReception {
  /// 1: the holder can fetch payloads from the memory of that lane's process.
  alignas(64) std::atomic<std::uint8_t> fetches[kLaneNumbers];
  /// 1: the holder does not read that lane's ring any more, as what stands there is broken.
  alignas(64) std::atomic<std::uint8_t> refuses[kLaneNumbers];
  /// 1: the holder keeps much that came from that lane and has no receive: no more UC and UD for now.
  alignas(64) std::atomic<std::uint8_t> throttles[kLaneNumbers];
};

/// How far the peer of a queue pair is with its eager sends (ib::EagerSend), written by that peer instead of
/// ACKs. The token came with the eager sends, and tells one connection of the queue pair from the next.
struct alignas(64) EagerAck {
  static constexpr std::uint64_t word_of(std::uint32_t token, std::uint32_t psn, std::uint8_t credit) {
    return std::uint64_t{credit} << 56 | std::uint64_t{token} << 24 | psn;
  }
  static constexpr std::uint32_t token_of(std::uint64_t word) {
    return static_cast<std::uint32_t>(word >> 24);
  }
  static constexpr std::uint8_t credit_of(std::uint64_t word) {
    return static_cast<std::uint8_t>(word >> 56);
  }
  static constexpr std::uint32_t psn_of(std::uint64_t word) { return word & 0xffffff; }

  std::atomic<std::uint64_t> word;  ///< credit (ib::credits_of) | token | PSN that is expected next
};
/// Where packets for a lane come in, one ring for each lane that sends them.
struct alignas(4096) RingInbox {
  /// Set by the holder before it sleeps and looks at the rings once more. Whoever clears
  /// it rings the lane's doorbell.
  alignas(64) std::atomic<std::uint32_t> asleep;
  /// Counted up by an accessor that has made itself known in `writers`.
  alignas(64) std::atomic<std::uint32_t> arrivals;
  alignas(64) std::atomic<std::uint8_t> writers[kLaneNumbers];  ///< 1: that lane has a ring here
};

static_assert(sizeof(RingInbox) == 4096 && sizeof(RingReception) == 4096 && sizeof(PacketRing) % 4096 == 0);
static_assert(sizeof(DirectKey) == 64 && sizeof(DirectQp) == 64 && sizeof(DirectAccessor) == 64 &&
              sizeof(EagerAck) == 64);

/// The parts of what the owner alone writes, by their address. `Byte` is const for local peers.
template <typename Byte>
class DirectMemoryOf {
 public:
  template <typename T>
  using Part = std::conditional_t<std::is_const_v<Byte>, const T, T>;

  static constexpr std::size_t size(std::uint32_t lanes) { return kLanes + lanes * kLaneBytes; }

  explicit DirectMemoryOf(Part<void>* base = nullptr) : base_(static_cast<Byte*>(base)) {}
  explicit operator bool() const { return base_ != nullptr; }
  Part<void>* base() const { return base_; }

  Part<DirectHeader>& header() const { return *at<DirectHeader>(0); }
  Part<DirectKey>* keys() const { return at<DirectKey>(kKeys); }
  Part<DirectSegment>* segments() const { return at<DirectSegment>(kSegments); }
  /// The queue pairs of the lane that stands at `index` of the header's list.
  Part<DirectQp>* qps(std::uint32_t index) const { return at<DirectQp>(kLanes + index * kLaneBytes); }
  Part<RingReception>& reception(std::uint32_t index) const {
    return *at<RingReception>(kLanes + index * kLaneBytes + kQpBytes);
  }

 private:
  static constexpr std::size_t kKeys = sizeof(DirectHeader);
  static constexpr std::size_t kSegments = kKeys + kDirectKeys * sizeof(DirectKey);
  static constexpr std::size_t kLanes =
      (kSegments + kDirectSegments * sizeof(DirectSegment) + 4095) / 4096 * 4096;
  static constexpr std::size_t kQpBytes = kDirectQps * sizeof(DirectQp);
  static constexpr std::size_t kLaneBytes = kQpBytes + sizeof(RingReception);

  template <typename T>
  Part<T>* at(std::size_t offset) const {
    return reinterpret_cast<Part<T>*>(base_ + offset);
  }

  Byte* base_;
};
using DirectMemory = DirectMemoryOf<std::byte>;
using ForeignMemory = DirectMemoryOf<const std::byte>;

/// The parts of what local peers write, but for the rings.
class InboxMemory {
 public:
  static constexpr std::size_t size(std::uint32_t lanes) { return lanes * kLaneBytes; }
  static constexpr std::size_t size_with_rings(std::uint32_t lanes) { return ring_offset(lanes, lanes, 0); }
  /// Where the ring of an accessor lies; `index` is the lane's place in the header's list.
  static constexpr std::size_t ring_offset(std::uint32_t lanes, std::uint32_t index, std::size_t accessor) {
    return size(lanes) + (index * kLaneNumbers + accessor) * sizeof(PacketRing);
  }

  explicit InboxMemory(void* base = nullptr) : base_(static_cast<std::byte*>(base)) {}
  explicit operator bool() const { return base_ != nullptr; }
  void* base() const { return base_; }

  EagerAck* acks(std::uint32_t index) const {
    return reinterpret_cast<EagerAck*>(base_ + index * kLaneBytes);
  }
  RingInbox& inbox(std::uint32_t index) const {
    return *reinterpret_cast<RingInbox*>(base_ + index * kLaneBytes + kAckBytes);
  }

 private:
  static constexpr std::size_t kAckBytes = kDirectQps * sizeof(EagerAck);
  static constexpr std::size_t kLaneBytes = kAckBytes + sizeof(RingInbox);

  std::byte* base_;
};

}  // namespace softrnic::samehost
