#include "engine/direct_share.h"

#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <mutex>
#include <new>

#include "control/page_record.h"
#include "control/shared_memory.h"

namespace softrnic::engine {
namespace {

/// Regions without these are not reached by others.
constexpr std::uint32_t kForNeighbours =
    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

/// A visit takes less, unless the visitor is off the processor.
constexpr Duration kVisit = std::chrono::milliseconds(2);

bool is_connected(const rnic::QueuePair& qp) { return qp.type() == IBV_QPT_RC || qp.type() == IBV_QPT_UC; }

DirectQpBody body_of(const rnic::QueuePair& qp) {
  const ib::Attributes& attributes = qp.transport_attributes();
  DirectQpBody body;
  body.pd = reinterpret_cast<std::uint64_t>(&qp.pd());
  std::memcpy(body.peer_gid, attributes.path.destination.raw.data(), sizeof body.peer_gid);
  body.peer_qpn = attributes.remote.value;
  body.access = attributes.access;
  body.path_mtu = attributes.path_mtu;
  body.pkey = attributes.pkey;
  body.type = static_cast<std::uint8_t>(qp.type());
  body.max_reads_in = attributes.max_reads_in;
  return body;
}

}  // namespace

std::unique_ptr<DirectShare> DirectShare::make(std::uint32_t lanes, ShareFiles files) {
  const std::size_t bytes = DirectMemory::size(lanes);
  auto gate = link::Gate::open();
  UniqueFd fd = control::make_shared_memory("softrnic-direct", DirectMemory::size_with_rings(lanes));
  if (!gate || !fd) return nullptr;
  const DirectMemory memory(control::map_shared_memory(fd.get(), bytes));
  if (!memory) return nullptr;
  auto* header = new (memory.place()) DirectHeader{};
  header->magic = kDirectMagic;
  header->gate = gate->address().address;
  header->secret = gate->address().secret;
  header->pid = getpid();
  header->lane_count = lanes;
  for (std::size_t i = 0; i < kDirectVisitors; ++i) memory.visitors()[i].inside.init();
  for (RobustMutex& life : header->lives) life.init();
  return std::unique_ptr<DirectShare>(new DirectShare(std::move(fd), std::move(*gate), memory, bytes, files));
}

DirectShare::DirectShare(UniqueFd fd, link::Gate gate, DirectMemory memory, std::size_t bytes,
                         ShareFiles files)
    : fd_(std::move(fd)),
      gate_(std::move(gate)),
      memory_(memory),
      bytes_(bytes),
      space_(link::own_pid_space()),
      segments_(DirectSegments::make(memory.segments(), files)) {}

DirectShare::~DirectShare() {
  if (!memory_) return;
  rnic::KeyTable::process().set_mirror(nullptr);
  for (const auto& [offset, ring] : rings_) munmap(ring, sizeof *ring);
  munmap(memory_.place(), bytes_);
}

void DirectShare::begin(control::DirectLocks locks) {
  locks_ = std::move(locks);
  rnic::KeyTable::process().set_mirror(this);
}

DirectShare::LanePlace DirectShare::place_at(std::uint32_t index) const {
  return {index, memory_.rows(index), memory_.acks(index), &memory_.inbox(index),
          &memory_.header().lives[index]};
}

std::optional<DirectShare::LanePlace> DirectShare::find_lane(std::uint8_t number) const {
  const DirectHeader& header = memory_.header();
  for (std::uint32_t i = 0; i < header.lane_count; ++i)
    if (header.lanes[i].load(std::memory_order_acquire) == number) return place_at(i);
  return std::nullopt;
}

std::optional<DirectShare::LanePlace> DirectShare::add_lane(std::uint8_t number) {
  const auto place = find_lane(0);
  if (place) memory_.header().lanes[place->index].store(number, std::memory_order_release);
  return place;
}

link::PacketRing* DirectShare::ring(std::uint32_t index, std::uint8_t visitor) {
  const std::size_t offset = DirectMemory::ring_offset(memory_.header().lane_count, index, visitor);
  const std::lock_guard lock(rings_mutex_);
  try {
    link::PacketRing*& ring = rings_[offset];
    if (ring == nullptr)
      ring = static_cast<link::PacketRing*>(
          control::map_shared_memory(fd_.get(), sizeof(link::PacketRing), offset));
    return ring;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// A visitor that is stopped leaves when it likes. What it is at is revoked then: it will find that before its next access.
void DirectShare::wait_for(DirectVisitor& visitor) const {
  const bool waited_before = visitor.revoked.load(std::memory_order_relaxed) != 0;
  for (Duration patience = waited_before ? Duration::zero() : kVisit;; patience = kVisit) {
    if (visitor.inside.try_lock_for(patience)) return visitor.inside.unlock();
    visitor.revoked.store(1, std::memory_order_seq_cst);
    const std::uint32_t space = visitor.revocable_in.load(std::memory_order_seq_cst);
    const pid_t holder = visitor.inside.holder();
    if (space != 0 && space == space_ && holder != 0 && link::is_stopped(holder) &&
        visitor.inside.holder() == holder)
      return;
  }
}

void DirectShare::wait_for_visitors() {
  if (!memory_) return;
  for (std::size_t i = 0; i < kDirectVisitors; ++i) {
    DirectVisitor& visitor = memory_.visitors()[i];
    // not only a load: who becomes known later is to see what has been taken away
    if (visitor.known.fetch_or(0, std::memory_order_acq_rel) == 0) continue;
    wait_for(visitor);
  }
}

// ---- queue pairs

void DirectShare::hide(DirectQp& row) {
  if (!memory_ || row.open.load(std::memory_order_relaxed) == 0) return;
  row.open.store(0, std::memory_order_release);
  wait_for_visitors();
}

std::uint32_t DirectShare::next_generation() {
  const std::uint32_t next = generations_.fetch_add(1, std::memory_order_relaxed) + 1;
  return next != 0 ? next : next_generation();
}

void DirectShare::show(DirectQp& row, const rnic::QueuePair& qp) {
  if (!memory_) return;
  const DirectQpBody body = body_of(qp);
  const bool open = locks_ && is_connected(qp) && qp.takes_requests();
  const bool was_open = row.open.load(std::memory_order_relaxed) != 0;
  if (open && was_open && std::memcmp(&row.body, &body, sizeof body) == 0) return;
  hide(row);
  if (!open) return;
  row.body = body;
  row.expected_psn.store(qp.receive_psn(), std::memory_order_relaxed);
  row.open.store(next_generation(), std::memory_order_release);
}

// ---- keys

DirectKey* DirectShare::place_of(MemoryKey key) const {
  const std::uint32_t index = key.value >> rnic::KeyTable::kTagBits;
  return memory_ && index < kDirectKeys ? memory_.keys() + index : nullptr;
}

void DirectShare::show(const rnic::KeyEntry& entry) {
  DirectKey* const place = place_of(entry.key);
  if (place == nullptr) return;
  DirectKeyBody body;
  body.key = entry.key.value;
  body.access = entry.access;
  body.pd = reinterpret_cast<std::uint64_t>(entry.pd);
  body.start = entry.start;
  body.length = entry.length;
  body.base = reinterpret_cast<std::uint64_t>(entry.base);
  if (segments_ != nullptr && (entry.access & kForNeighbours) != 0)
    body.segment = segments_->acquire(body.base, body.length);
  replace(*place, body);
}

void DirectShare::replace(DirectKey& place, const DirectKeyBody& body) {
  const SegmentRef before = place.body.segment;
  control::write_record(place.sequence, place.body, body);
  if (segments_ != nullptr) segments_->release(before);
}

void DirectShare::hide(MemoryKey key) {
  if (DirectKey* const place = place_of(key)) replace(*place, DirectKeyBody{});
}

void DirectShare::forget() {
  rnic::KeyTable::process().forget_mirror();
  if (segments_ != nullptr) segments_->forget();
  memory_ = DirectMemory();
  locks_.forget();
  gate_.forget();
}

}  // namespace softrnic::engine
