// The memory that a process lets its neighbours map, so that they can do for themselves what its responders would do.
//
//   DirectHeader | DirectVisitor × kDirectVisitors | DirectKey × kDirectKeys | DirectSegment × kDirectSegments
//   | DirectQp × 65536 for each lane
//
// A memfd of fixed size, handed out by the daemon, which serves one user only. The neighbours write to nothing but their
// own DirectVisitor. The file is sparse: what was never used costs no memory.
//
// Visits: whoever acts on a row or a key holds the lock of its visitor's place from before it looks until its last access
// to the memory behind it. Whoever takes a row or a key away does so first and passes through all those locks then; it
// need not fear the dead, see RobustMutex. So nobody accesses memory after its deregistration has returned.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/robust_mutex.h"
#include "control/page_layout.h"
#include "link/shared_range.h"

namespace softrnic::engine {

inline constexpr std::uint64_t kDirectMagic = 0x32'74'63'65'72'69'64'72;  ///< "rdirect2"
inline constexpr std::size_t kDirectVisitors = 256;                       ///< by the lane of the visitor
inline constexpr std::size_t kDirectKeys = 65536;  ///< by index of the key; what is beyond is not shared
inline constexpr std::size_t kDirectSegments = 512;
inline constexpr std::size_t kDirectLanes = 16;
inline constexpr std::size_t kDirectQps = 65536;

struct alignas(64) DirectHeader {
  std::uint64_t magic;
  std::uint64_t gate;    ///< see link/remote_memory.h
  std::uint64_t secret;  ///< also names this memory
  std::int32_t pid;      ///< as the process sees itself; another PID namespace finds somebody else
  std::uint32_t lane_count;
  std::atomic<std::uint32_t> lanes[kDirectLanes];  ///< number of the lane whose rows stand there; 0: none yet
  RobustMutex lives[kDirectLanes];                 ///< held by the thread of that lane as long as it runs
};

struct alignas(64) DirectVisitor {
  RobustMutex inside;
  std::atomic<std::uint32_t> known;  ///< 0: nobody has ever been here
};

/// Names a part of the memory that neighbours can map.
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
  SegmentRef segment;  ///< where all of it, or its beginning, lies
};
struct alignas(64) DirectKey {
  control::PageSequence sequence;
  DirectKeyBody body;
};

struct DirectSegmentBody {
  std::uint64_t id = 0;  ///< 0: not in use
  link::SharedRange range;
};
struct alignas(64) DirectSegment {
  control::PageSequence sequence;
  DirectSegmentBody body;
};

/// What a neighbour has to know of a responder. Written while it is shut and nobody visits.
struct DirectQpBody {
  std::uint64_t pd = 0;
  std::uint8_t peer_gid[16] = {};  ///< where its packets have to come from
  std::uint32_t peer_qpn = 0;
  std::uint32_t access = 0;
  std::uint32_t path_mtu = 0;
  std::uint16_t pkey = 0;
  std::uint8_t type = 0;  ///< enum ibv_qp_type
  std::uint8_t max_reads_in = 0;
};
struct alignas(64) DirectQp {
  std::atomic<std::uint32_t> open;          ///< the QP takes requests
  std::atomic<std::uint32_t> expected_psn;  ///< of the next packet
  DirectQpBody body;
};
static_assert(sizeof(DirectKey) == 64 && sizeof(DirectQp) == 64 && sizeof(DirectVisitor) == 64);

/// The parts of such memory by their address.
class DirectMemory {
 public:
  static constexpr std::size_t size(std::uint32_t lanes) {
    return kRows + lanes * kDirectQps * sizeof(DirectQp);
  }

  explicit DirectMemory(void* place = nullptr) : place_(static_cast<std::byte*>(place)) {}
  explicit operator bool() const { return place_ != nullptr; }
  void* place() const { return place_; }

  DirectHeader& header() const { return *reinterpret_cast<DirectHeader*>(place_); }
  DirectVisitor* visitors() const { return reinterpret_cast<DirectVisitor*>(place_ + kVisitors); }
  DirectKey* keys() const { return reinterpret_cast<DirectKey*>(place_ + kKeys); }
  DirectSegment* segments() const { return reinterpret_cast<DirectSegment*>(place_ + kSegments); }
  /// The rows of the lane that stands at `index` of the header's list.
  DirectQp* rows(std::uint32_t index) const {
    return reinterpret_cast<DirectQp*>(place_ + kRows) + std::size_t{index} * kDirectQps;
  }

 private:
  static constexpr std::size_t kVisitors = sizeof(DirectHeader);
  static constexpr std::size_t kKeys = kVisitors + kDirectVisitors * sizeof(DirectVisitor);
  static constexpr std::size_t kSegments = kKeys + kDirectKeys * sizeof(DirectKey);
  static constexpr std::size_t kRows = kSegments + kDirectSegments * sizeof(DirectSegment);

  std::byte* place_;
};

/// The life of a lane among the first `count` of the list; nullptr: it has none there.
inline RobustMutex* direct_life_of(const DirectMemory& memory, std::uint32_t count, std::uint8_t lane) {
  for (std::uint32_t i = 0; i < count; ++i) {
    if (memory.header().lanes[i].load(std::memory_order_acquire) == lane) return &memory.header().lives[i];
  }
  return nullptr;
}

}  // namespace softrnic::engine
