#include "samehost/direct_peer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "control/page_record.h"
#include "control/shared_memory.h"

namespace softrnic::samehost {
namespace {

/// Until it has an owner.
template <typename Memory>
class Mapping {
 public:
  Mapping(Memory memory, std::size_t bytes) : memory_(memory), bytes_(bytes) {}
  ~Mapping() {
    if (memory_) munmap(const_cast<void*>(static_cast<const void*>(memory_.base())), bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  const Memory& get() const { return memory_; }
  Memory release() { return std::exchange(memory_, Memory()); }

 private:
  Memory memory_;
  const std::size_t bytes_;
};

Mapping<ForeignMemory> map_memory(const UniqueFd& fd, std::size_t bytes) {
  return {ForeignMemory(fd ? control::map_to_read(fd.get(), bytes) : nullptr), bytes};
}

std::uint32_t count_lanes(const UniqueFd& fd) {
  const auto header = map_memory(fd, sizeof(DirectHeader));
  if (!header.get() || header.get().header().magic != kDirectMagic) return 0;
  const std::uint32_t count = __atomic_load_n(&header.get().header().lane_count, __ATOMIC_RELAXED);
  return count <= kProcessLanes ? count : 0;
}

std::optional<std::uint32_t> index_of(const ForeignMemory& memory, std::uint32_t lanes, std::uint8_t number) {
  for (std::uint32_t i = 0; i < lanes; ++i) {
    if (memory.header().lanes[i].load(std::memory_order_acquire) == number) return i;
  }
  return std::nullopt;
}

ForeignMemory as_foreign(const DirectMemory& memory) { return ForeignMemory(memory.base()); }

}  // namespace

std::unique_ptr<DirectPeer> DirectPeer::open(const PeerHandles& handles, std::uint8_t number,
                                             std::uint8_t accessor, DirectShare& own) {
  const UniqueFd& fd = handles.memory;
  const std::uint32_t lanes = count_lanes(fd);
  auto memory = map_memory(fd, ForeignMemory::size(lanes));
  if (lanes == 0 || !memory.get() || !handles.inbox) return nullptr;
  const auto index = index_of(memory.get(), lanes, number);
  if (!index) return nullptr;
  if (file_number(fd.get()) == file_number(own.fd())) return open_own(number, accessor, own);
  Mapping<InboxMemory> inboxes{
      InboxMemory(control::map_shared_memory(handles.inbox.get(), InboxMemory::size(lanes))),
      InboxMemory::size(lanes)};
  const auto slot = own.find_lane(accessor);
  if (!inboxes.get() || !slot) return nullptr;
  auto* const ring = static_cast<PacketRing*>(control::map_shared_memory(
      handles.inbox.get(), sizeof(PacketRing), InboxMemory::ring_offset(lanes, *index, accessor)));
  if (ring == nullptr) return nullptr;
  const DirectHeader& header = memory.get().header();
  // not the number in the header, by which its owner could name another process
  auto remote = RemoteMemory::open(handles.pid, {header.cookie, header.secret, file_number(fd.get())});
  if (!remote && !handles.attached) return nullptr;
  own.guard().admit(number, fd, *index);
  const Parts parts{.memory = memory.release(),
                    .inboxes = inboxes.release(),
                    .lanes_mapped = lanes,
                    .index = *index,
                    .ring = ring,
                    .hazard = slot->hazard,
                    .pid = handles.pid};
  return std::unique_ptr<DirectPeer>(new DirectPeer(
      parts, number, accessor, own, remote ? std::optional(std::move(*remote)) : std::nullopt));
}

// Through the one mapping that there is, so that sanitizers see one lock.
std::unique_ptr<DirectPeer> DirectPeer::open_own(std::uint8_t number, std::uint8_t accessor,
                                                 DirectShare& own) {
  const auto lane = own.find_lane(number), from = own.find_lane(accessor);
  PacketRing* const ring = lane && from ? own.ring(lane->index, accessor) : nullptr;
  if (ring == nullptr) return nullptr;
  own.guard().admit_own(accessor, from->index);
  const Parts parts{.memory = as_foreign(own.memory()),
                    .inboxes = own.inboxes(),
                    .index = lane->index,
                    .ring = ring,
                    .hazard = from->hazard,
                    .pid = getpid()};
  return std::unique_ptr<DirectPeer>(new DirectPeer(parts, number, accessor, own, RemoteMemory::own()));
}

DirectPeer::DirectPeer(const Parts& parts, std::uint8_t number, std::uint8_t accessor, const DirectShare& own,
                       std::optional<RemoteMemory> remote)
    : memory_(parts.memory),
      inboxes_(parts.inboxes),
      lanes_mapped_(parts.lanes_mapped),
      number_(number),
      secret_(memory_.header().secret),
      own_secret_(own.secret()),
      pid_(parts.pid),
      must_be_revocable_(parts.lanes_mapped != 0 && memory_.header().revocable != 0),
      qps_(memory_.qps(parts.index)),
      acks_(inboxes_.acks(parts.index)),
      life_(&memory_.header().lives[parts.index]),
      accessor_(memory_.header().accessors[accessor]),
      hazard_(*parts.hazard),
      reception_(memory_.reception(parts.index)),
      inbox_(inboxes_.inbox(parts.index)),
      ring_(parts.ring),
      remote_(std::move(remote)),
      mapped_(RemoteMemory::own({&accessor_.revoked, &hazard_.word()})) {
  if (!remote_ || lanes_mapped_ == 0) return;
  remote_->let_revoke({&accessor_.revoked, &hazard_.word()});
  remote_->set_life(*life_);
}

DirectPeer::~DirectPeer() {
  if (lanes_mapped_ == 0) return;
  munmap(ring_, sizeof *ring_);
  munmap(inboxes_.base(), InboxMemory::size(lanes_mapped_));
  munmap(const_cast<void*>(memory_.base()), ForeignMemory::size(lanes_mapped_));
}

// Where it stands; nullptr: it is not in use.
const DirectKey* DirectPeer::read_key(MemoryKey key, DirectKeyBody& out) const {
  const std::uint32_t index = key.value >> rnic::KeyTable::kTagBits;
  if (index >= kDirectKeys) return nullptr;
  const DirectKey& published = memory_.keys()[index];
  return control::read_record(published.sequence, published.body, out) && out.key == key.value ? &published
                                                                                               : nullptr;
}

std::optional<DirectPeer::Target> DirectPeer::find(MemoryKey key, const DirectQpBody& qp,
                                                   std::uint64_t address, std::uint64_t bytes,
                                                   std::uint32_t access) const {
  const std::uint32_t index = key.value >> rnic::KeyTable::kTagBits;
  const std::uint32_t version =
      index < kDirectKeys ? memory_.keys()[index].sequence.load(std::memory_order_acquire) : 0;
  DirectKeyBody entry;
  const DirectKey* const published = read_key(key, entry);
  if (published == nullptr || entry.pd != qp.pd) return std::nullopt;
  if (entry.queue_pair != 0 && entry.queue_pair != qp.serial) return std::nullopt;
  const std::uint64_t offset = address - entry.start;  // huge when address < start
  if (offset >= entry.length || bytes > entry.length - offset || (access & ~entry.access) != 0)
    return std::nullopt;
  return Target{entry.base + offset,  entry.segment(), published, version, entry.access, offset,
                entry.length - offset};
}

bool DirectPeer::allows(MemoryKey key, const DirectQpBody& qp, std::uint32_t access) const {
  DirectKeyBody entry;
  return read_key(key, entry) != nullptr && entry.length != 0 && entry.pd == qp.pd &&
         (entry.queue_pair == 0 || entry.queue_pair == qp.serial) && (access & ~entry.access) == 0;
}

// Cross-memory attach finds out by itself that the process is gone; a file that was mapped outlives it.
std::optional<DirectPeer::Access> DirectPeer::access_to(const Target& target, std::uint64_t bytes) {
  const auto mapped = segments_.find(target.segment, target.address, bytes);
  if (!mapped) return Access{*remote_, target.address, false, target.before, target.behind};
  if (!lives()) return std::nullopt;
  return Access{mapped_, mapped->address, true, std::min(target.before, mapped->before),
                std::min(target.behind, mapped->behind)};
}

std::optional<SharedRange> DirectPeer::range_of(SegmentRef segment) const {
  if (segment.index >= kDirectSegments) return std::nullopt;
  const DirectSegment& published = memory_.segments()[segment.index];
  DirectSegmentBody body;
  if (!control::read_record(published.sequence, published.body, body) || body.id != segment.id)
    return std::nullopt;
  return body.range;
}

bool DirectPeer::holds(MemoryKey key, std::uint64_t address, std::uint64_t bytes) const {
  DirectKeyBody entry;
  if (!read_key(key, entry)) return false;
  const std::uint64_t offset = address - entry.base;
  return offset < entry.length && bytes <= entry.length - offset;
}

}  // namespace softrnic::samehost
