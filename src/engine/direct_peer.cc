#include "engine/direct_peer.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "control/page_record.h"
#include "control/shared_memory.h"

namespace softrnic::engine {
namespace {

/// A mapping until it has an owner.
class Mapping {
 public:
  Mapping(const UniqueFd& fd, std::size_t bytes)
      : memory_(fd ? control::map_shared_memory(fd.get(), bytes) : nullptr), bytes_(bytes) {}
  ~Mapping() {
    if (memory_) munmap(memory_.place(), bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  const DirectMemory& get() const { return memory_; }
  DirectMemory release() { return std::exchange(memory_, DirectMemory()); }

 private:
  DirectMemory memory_;
  std::size_t bytes_;
};

std::uint32_t count_lanes(const UniqueFd& fd) {
  const Mapping header(fd, sizeof(DirectHeader));
  if (!header.get() || header.get().header().magic != kDirectMagic) return 0;
  const std::uint32_t count = header.get().header().lane_count;
  return count <= kDirectLanes ? count : 0;
}

std::optional<std::uint32_t> index_of(const DirectMemory& memory, std::uint32_t lanes, std::uint8_t number) {
  for (std::uint32_t i = 0; i < lanes; ++i) {
    if (memory.header().lanes[i].load(std::memory_order_acquire) == number) return i;
  }
  return std::nullopt;
}

}  // namespace

std::unique_ptr<DirectPeer> DirectPeer::meet(const UniqueFd& fd, std::uint8_t number, std::uint8_t visitor,
                                             DirectShare& own) {
  const std::uint32_t lanes = count_lanes(fd);
  const std::size_t bytes = DirectMemory::size(lanes);
  Mapping mapping(fd, bytes);
  if (lanes == 0 || !mapping.get()) return nullptr;
  const DirectHeader& header = mapping.get().header();
  const auto index = index_of(mapping.get(), lanes, number);
  if (!index) return nullptr;
  if (header.secret == own.secret()) return meet_own(number, visitor, own);
  auto remote = link::RemoteMemory::open(header.pid, {header.gate, header.secret});
  auto* const ring = static_cast<link::PacketRing*>(control::map_shared_memory(
      fd.get(), sizeof(link::PacketRing), DirectMemory::ring_offset(lanes, *index, visitor)));
  if (ring == nullptr) return nullptr;
  const Parts parts{
      .memory = mapping.release(), .bytes = bytes, .index = *index, .ring = ring, .owns_ring = true};
  return std::unique_ptr<DirectPeer>(
      new DirectPeer(parts, visitor, remote ? std::optional(std::move(*remote)) : std::nullopt));
}

// Through the one mapping that there is, so that sanitizers see one lock.
std::unique_ptr<DirectPeer> DirectPeer::meet_own(std::uint8_t number, std::uint8_t visitor,
                                                 DirectShare& own) {
  const auto lane = own.find_lane(number);
  link::PacketRing* const ring = lane ? own.ring(lane->index, visitor) : nullptr;
  if (ring == nullptr) return nullptr;
  const Parts parts{.memory = own.memory(), .index = lane->index, .ring = ring};
  return std::unique_ptr<DirectPeer>(new DirectPeer(parts, visitor, link::RemoteMemory::own()));
}

DirectPeer::DirectPeer(const Parts& parts, std::uint8_t visitor, std::optional<link::RemoteMemory> remote)
    : memory_(parts.memory),
      bytes_(parts.bytes),
      rows_(memory_.rows(parts.index)),
      acks_(memory_.acks(parts.index)),
      life_(&memory_.header().lives[parts.index]),
      place_(memory_.visitors()[visitor]),
      inbox_(memory_.inbox(parts.index)),
      ring_(parts.ring),
      owns_ring_(parts.owns_ring),
      space_(parts.bytes != 0 ? link::own_pid_space() : 0),
      remote_(std::move(remote)),
      mapped_(link::RemoteMemory::own(&place_.revoked)) {
  if (remote_ && space_ != 0) {
    remote_->let_revoke(&place_.revoked);
    remote_->set_life(*life_);
  }
  // Pairs with DirectShare::wait_for_visitors(): that sees this, or this side sees what was taken away before.
  place_.known.exchange(1, std::memory_order_acq_rel);
}

DirectPeer::~DirectPeer() {
  if (owns_ring_) munmap(ring_, sizeof *ring_);
  if (bytes_ != 0) munmap(memory_.place(), bytes_);
}

// Where it stands; nullptr: it is not in use.
const DirectKey* DirectPeer::read_key(MemoryKey key, DirectKeyBody& out) const {
  const std::uint32_t index = key.value >> rnic::KeyTable::kTagBits;
  if (index >= kDirectKeys) return nullptr;
  const DirectKey& place = memory_.keys()[index];
  return control::read_record(place.sequence, place.body, out) && out.key == key.value ? &place : nullptr;
}

std::optional<DirectPeer::Place> DirectPeer::find(MemoryKey key, std::uint64_t pd, std::uint64_t address,
                                                  std::uint64_t bytes, std::uint32_t access) const {
  const std::uint32_t index = key.value >> rnic::KeyTable::kTagBits;
  const std::uint32_t version =
      index < kDirectKeys ? memory_.keys()[index].sequence.load(std::memory_order_acquire) : 0;
  DirectKeyBody entry;
  const DirectKey* const place = read_key(key, entry);
  if (place == nullptr || entry.pd != pd) return std::nullopt;
  const std::uint64_t offset = address - entry.start;  // huge when address < start
  if (offset >= entry.length || bytes > entry.length - offset || (access & ~entry.access) != 0)
    return std::nullopt;
  return Place{entry.base + offset,  entry.segment, place, version, entry.access, offset,
               entry.length - offset};
}

// Cross-memory attach finds out by itself that the process is gone; a file that was mapped outlives it.
std::optional<DirectPeer::Way> DirectPeer::way_to(const Place& place, std::uint64_t bytes) {
  const auto mapped = segments_.find(place.segment, place.address, bytes);
  if (!mapped) return Way{*remote_, place.address, false, place.before, place.behind};
  if (!lives()) return std::nullopt;
  return Way{mapped_, mapped->address, true, std::min(place.before, mapped->before),
             std::min(place.behind, mapped->behind)};
}

std::optional<link::SharedRange> DirectPeer::range_of(SegmentRef segment) const {
  const DirectSegment& place = memory_.segments()[segment.index];
  DirectSegmentBody body;
  if (!control::read_record(place.sequence, place.body, body) || body.id != segment.id) return std::nullopt;
  return body.range;
}

bool DirectPeer::holds(MemoryKey key, std::uint64_t address, std::uint64_t bytes) const {
  DirectKeyBody entry;
  if (!read_key(key, entry)) return false;
  const std::uint64_t offset = address - entry.base;
  return offset < entry.length && bytes <= entry.length - offset;
}

}  // namespace softrnic::engine
