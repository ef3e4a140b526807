#include "samehost/direct_share.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <new>

#include "control/page_record.h"
#include "rnic/null_memory.h"

namespace softrnic::samehost {
namespace {

/// Regions without these are not reached by others.
constexpr std::uint32_t kRemoteAccess =
    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

bool is_connected(const rnic::QueuePair& qp) { return qp.type() == IBV_QPT_RC || qp.type() == IBV_QPT_UC; }

DirectQpBody body_of(const rnic::QueuePair& qp) {
  const ib::Attributes& attributes = qp.transport_attributes();
  DirectQpBody body;
  body.pd = reinterpret_cast<std::uint64_t>(qp.pd());
  std::memcpy(body.peer_gid, attributes.path.destination.raw.data(), sizeof body.peer_gid);
  body.peer_qpn = attributes.remote.value;
  body.access = attributes.access;
  body.path_mtu = attributes.path_mtu;
  body.pkey = attributes.pkey;
  body.type = static_cast<std::uint8_t>(qp.type());
  body.max_reads_in = attributes.max_reads_in;
  body.serial = qp.serial();
  return body;
}

}  // namespace

std::unique_ptr<DirectShare> DirectShare::make(std::uint32_t lanes, ShareFiles files) {
  auto cookie = Cookie::open();
  control::OwnedMemory own = control::make_owned_memory("softrnic-direct", DirectMemory::size(lanes));
  UniqueFd inbox_fd = control::make_shared_memory("softrnic-inbox", InboxMemory::size_with_rings(lanes));
  const InboxMemory inboxes(inbox_fd ? control::map_shared_memory(inbox_fd.get(), InboxMemory::size(lanes))
                                     : nullptr);
  if (cookie && own.place != nullptr && inboxes)
    return std::unique_ptr<DirectShare>(
        new DirectShare(std::move(own), std::move(inbox_fd), inboxes, std::move(*cookie), lanes, files));
  if (own.place != nullptr) munmap(own.place, DirectMemory::size(lanes));
  if (inboxes) munmap(inboxes.base(), InboxMemory::size(lanes));
  return nullptr;
}

DirectShare::DirectShare(control::OwnedMemory own, UniqueFd inbox_fd, InboxMemory inboxes, Cookie cookie,
                         std::uint32_t lanes, ShareFiles files)
    : fd_(std::move(own.fd)),
      inbox_fd_(std::move(inbox_fd)),
      cookie_(std::move(cookie)),
      memory_(own.place),
      inboxes_(inboxes),
      lanes_(lanes) {
  cookie_.bind(file_number(fd_.get()));
  auto* const header = new (memory_.base()) DirectHeader{};
  header->magic = kDirectMagic;
  header->cookie = cookie_.address().address;
  header->secret = cookie_.address().secret;
  header->pid = getpid();
  header->lane_count = lanes;
  header->pid_space = own_pid_space();
  header->revocable = accesses_are_revocable() ? 1 : 0;
  for (RobustMutex& life : header->lives) life.init();
  for (std::size_t i = 0; i < kProcessLanes; ++i) hazards_[i].lie_in(header->hazards[i]);
  guard_ = std::make_unique<HazardDomain>(*header);
  segments_ = DirectSegments::make(memory_.segments(), files);
}

DirectShare::~DirectShare() {
  if (!memory_) return;
  rnic::KeyTable::process().set_mirror(nullptr);
  for (const auto& [offset, ring] : rings_) munmap(ring, sizeof *ring);
  munmap(memory_.base(), DirectMemory::size(lanes_));
  munmap(inboxes_.base(), InboxMemory::size(lanes_));
}

void DirectShare::begin(DirectLocks locks) {
  locks_ = std::move(locks);
  rnic::KeyTable::process().set_mirror(this);
}

DirectShare::LaneSlot DirectShare::slot_at(std::uint32_t index) {
  return {.index = index,
          .qps = memory_.qps(index),
          .reception = &memory_.reception(index),
          .acks = inboxes_.acks(index),
          .inbox = &inboxes_.inbox(index),
          .life = &memory_.header().lives[index],
          .hazard = &hazards_[index]};
}

std::optional<DirectShare::LaneSlot> DirectShare::find_lane(std::uint8_t number) {
  const DirectHeader& header = memory_.header();
  for (std::uint32_t i = 0; i < lanes_; ++i)
    if (header.lanes[i].load(std::memory_order_acquire) == number) return slot_at(i);
  return std::nullopt;
}

std::optional<DirectShare::LaneSlot> DirectShare::add_lane(std::uint8_t number) {
  const auto slot = find_lane(0);
  if (slot) memory_.header().lanes[slot->index].store(number, std::memory_order_release);
  return slot;
}

PacketRing* DirectShare::ring(std::uint32_t index, std::uint8_t accessor) {
  const std::size_t offset = InboxMemory::ring_offset(lanes_, index, accessor);
  const std::lock_guard lock(rings_mutex_);
  try {
    PacketRing*& ring = rings_[offset];
    if (ring == nullptr)
      ring =
          static_cast<PacketRing*>(control::map_shared_memory(inbox_fd_.get(), sizeof(PacketRing), offset));
    return ring;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void DirectShare::wait_for_accessors() {
  if (memory_) guard_->wait();
}

// ---- queue pairs

void DirectShare::withdraw(DirectQp& entry) {
  if (!memory_ || entry.open.load(std::memory_order_relaxed) == 0) return;
  entry.open.store(0, std::memory_order_release);
  wait_for_accessors();
}

std::uint32_t DirectShare::next_generation() {
  const std::uint32_t next = generations_.fetch_add(1, std::memory_order_relaxed) + 1;
  return next != 0 ? next : next_generation();
}

void DirectShare::publish(DirectQp& entry, const rnic::QueuePair& qp) {
  if (!memory_) return;
  const DirectQpBody body = body_of(qp);
  const bool open = locks_ && is_connected(qp) && !qp.by_stream() && qp.takes_requests();
  const bool was_open = entry.open.load(std::memory_order_relaxed) != 0;
  if (open && was_open && std::memcmp(&entry.body, &body, sizeof body) == 0) return;
  withdraw(entry);
  if (!open) return;
  entry.body = body;
  entry.expected_psn.store(qp.receive_psn(), std::memory_order_relaxed);
  entry.open.store(next_generation(), std::memory_order_release);
}

// ---- keys

DirectKey* DirectShare::entry_of(MemoryKey key) const {
  const std::uint32_t index = key.value >> rnic::KeyTable::kTagBits;
  return memory_ && index < kDirectKeys ? memory_.keys() + index : nullptr;
}

void DirectShare::publish(const rnic::KeyEntry& entry) {
  DirectKey* const published = entry_of(entry.key);
  // What the program may unmap is not for others: its own process copies by ways that do not fault.
  if (published == nullptr || (entry.access & IBV_ACCESS_ON_DEMAND) != 0) return withdraw(entry.key);
  DirectKeyBody body;
  body.key = entry.key.value;
  body.access = entry.access;
  body.pd = reinterpret_cast<std::uint64_t>(entry.pd);
  body.start = entry.start;
  body.length = entry.is_null ? rnic::NullMemory::kBytes : entry.length;  // what is sent from there is zeros
  body.base = reinterpret_cast<std::uint64_t>(entry.base);
  body.queue_pair = entry.queue_pair;
  // Windows come and go too often to look for the file behind them, with a lane's lock held.
  if (segments_ != nullptr && entry.window == nullptr && (entry.access & kRemoteAccess) != 0) {
    const SegmentRef segment = segments_->acquire(body.base, body.length);
    body.segment_id = segment.id;
    body.segment_index = static_cast<std::uint32_t>(segment.index);
  }
  replace(*published, body);
}

void DirectShare::replace(DirectKey& entry, const DirectKeyBody& body) {
  const SegmentRef before = entry.body.segment();
  control::write_record(entry.sequence, entry.body, body);
  if (segments_ != nullptr) segments_->release(before);
}

void DirectShare::withdraw(MemoryKey key) {
  if (DirectKey* const entry = entry_of(key)) replace(*entry, DirectKeyBody{});
}

void DirectShare::forget() {
  rnic::KeyTable::process().forget_mirror();
  if (segments_ != nullptr) segments_->forget();
  memory_ = DirectMemory();
  inboxes_ = InboxMemory();
  guard_->forget();
  locks_.forget();
  cookie_.forget();
}

}  // namespace softrnic::samehost
