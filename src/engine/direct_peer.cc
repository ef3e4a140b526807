#include "engine/direct_peer.h"

#include <sys/mman.h>

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

DirectQp* rows_of(const DirectMemory& memory, std::uint32_t lanes, std::uint8_t number) {
  for (std::uint32_t i = 0; i < lanes; ++i) {
    if (memory.header().lanes[i].load(std::memory_order_acquire) == number) return memory.rows(i);
  }
  return nullptr;
}

}  // namespace

Expected<std::unique_ptr<DirectPeer>, DirectState> DirectPeer::meet(const UniqueFd& fd, std::uint8_t number,
                                                                    std::uint8_t visitor,
                                                                    const DirectShare& own) {
  const std::uint32_t lanes = count_lanes(fd);
  const std::size_t bytes = DirectMemory::size(lanes);
  Mapping mapping(fd, bytes);
  if (lanes == 0 || !mapping.get()) return Unexpected{DirectState::not_shared};
  const DirectHeader& header = mapping.get().header();
  DirectQp* const rows = rows_of(mapping.get(), lanes, number);
  if (rows == nullptr) return Unexpected{DirectState::not_shared};
  if (header.secret == own.secret()) {  // through one mapping, so that sanitizers see one lock
    const DirectMemory& memory = own.memory();
    return std::unique_ptr<DirectPeer>(new DirectPeer(memory, 0, *rows_of(memory, lanes, number),
                                                      *direct_life_of(memory, lanes, number), visitor,
                                                      link::RemoteMemory::own()));
  }
  auto remote = link::RemoteMemory::open(header.pid, {header.gate, header.secret});
  if (!remote) return Unexpected{DirectState::forbidden};
  const RobustMutex& life = *direct_life_of(mapping.get(), lanes, number);
  return std::unique_ptr<DirectPeer>(
      new DirectPeer(mapping.release(), bytes, *rows, life, visitor, std::move(*remote)));
}

DirectPeer::DirectPeer(DirectMemory memory, std::size_t bytes, DirectQp& rows, const RobustMutex& life,
                       std::uint8_t visitor, link::RemoteMemory remote)
    : memory_(memory),
      bytes_(bytes),
      rows_(&rows),
      life_(&life),
      place_(memory.visitors()[visitor]),
      remote_(std::move(remote)) {
  // Pairs with DirectShare::wait_for_visitors(): that sees this, or this side sees what was taken away before.
  place_.known.exchange(1, std::memory_order_acq_rel);
}

DirectPeer::~DirectPeer() {
  if (bytes_ != 0) munmap(memory_.place(), bytes_);
}

std::optional<DirectPeer::Place> DirectPeer::find(MemoryKey key, std::uint64_t pd, std::uint64_t address,
                                                  std::uint64_t bytes, std::uint32_t access) const {
  const std::uint32_t index = key.value >> rnic::KeyTable::kTagBits;
  DirectKeyBody entry;
  if (index >= kDirectKeys) return std::nullopt;
  const DirectKey& place = memory_.keys()[index];
  if (!control::read_record(place.sequence, place.body, entry) || entry.key != key.value || entry.pd != pd)
    return std::nullopt;
  const std::uint64_t offset = address - entry.start;  // huge when address < start
  if (offset >= entry.length || bytes > entry.length - offset || (access & ~entry.access) != 0)
    return std::nullopt;
  return Place{entry.base + offset, entry.segment};
}

// Cross-memory attach finds out by itself that the process is gone; a file that was mapped outlives it.
std::optional<DirectPeer::Way> DirectPeer::way_to(const Place& place, std::uint64_t bytes) {
  static const link::RemoteMemory here = link::RemoteMemory::own();
  const auto mapped = segments_.find(place.segment, place.address, bytes);
  if (!mapped) return Way{remote_, place.address, false};
  if (!lives()) return std::nullopt;
  return Way{here, *mapped, true};
}

link::MappedRange DirectPeer::map(SegmentRef segment, ShareFiles files) const {
  const DirectSegment& place = memory_.segments()[segment.index];
  DirectSegmentBody body;
  if (!control::read_record(place.sequence, place.body, body) || body.id != segment.id) return {};
  return link::MappedRange::map(memory_.header().pid, body.range, files);
}

}  // namespace softrnic::engine
