#include "rnic/key_table.h"

#include <infiniband/verbs.h>

#include "base/reason_id.h"
#include "rnic/null_memory.h"

namespace softrnic::rnic {
namespace {

constexpr std::uint32_t kTagBits = KeyTable::kTagBits;
constexpr std::uint32_t kTagMask = (1U << kTagBits) - 1;
constexpr std::uint32_t kIndices = 1U << 24;
// So many freed indices wait before one is used again: a stale key then meets nothing
// rather than another tag.
constexpr std::size_t kRestingKeys = 64;

/// Bytes of [address, address + length) that lie outside of the entry's range; length > 0.
std::uint64_t bytes_outside(const KeyEntry& entry, std::uint64_t address, std::uint64_t length) {
  const std::uint64_t offset = address - entry.start;  // huge when address < start
  if (offset >= entry.length) return length;
  const std::uint64_t room = entry.length - offset;
  return length > room ? length - room : 0;
}

ib::HostMemory memory_at(const KeyEntry& entry, std::uint64_t address) {
  return {entry.at(address), (entry.access & IBV_ACCESS_ON_DEMAND) != 0};
}

/// Any address of a null region.
Expected<ib::HostMemory, Reason> in_null_region(const KeyEntry& entry, std::uint64_t address,
                                                std::uint64_t length, std::uint32_t access) {
  if (length > NullMemory::kBytes) {
    return Unexpected{
        because(ReasonId::lkey_range, entry.key.value, length, address, length - NullMemory::kBytes)};
  }
  const bool writes = (access & IBV_ACCESS_LOCAL_WRITE) != 0;
  return ib::HostMemory{writes ? NullMemory::sink_of(entry.base) : entry.base};
}

ib::HostMemory nothing_at(std::uint64_t address) { return {reinterpret_cast<std::byte*>(address)}; }

}  // namespace

KeyTable& KeyTable::process() {
  static KeyTable& table = *new KeyTable;  // never destroyed: lanes may outlive static objects
  return table;
}

std::atomic<const KeyEntry*>* KeyTable::slot(MemoryKey key) const {
  const std::uint32_t index = key.value >> kTagBits;
  Chunk* const chunk = chunks_[index >> kChunkBits].load(std::memory_order_acquire);
  return chunk == nullptr ? nullptr : &chunk->entries[index & (kChunkEntries - 1)];
}

bool KeyTable::take_key(MemoryKey& key) {
  if (free_keys_.size() > kRestingKeys || (next_index_ == kIndices && !free_keys_.empty())) {
    key = MemoryKey(free_keys_.front());
    free_keys_.pop_front();
  } else if (next_index_ < kIndices) {
    auto& chunk = chunks_[next_index_ >> kChunkBits];
    if (chunk.load(std::memory_order_relaxed) == nullptr) chunk.store(new Chunk, std::memory_order_release);
    key = MemoryKey((next_index_++ << kTagBits) | 1);
  } else {
    return false;
  }
  return true;
}

void KeyTable::free_key(MemoryKey key) {
  slot(key)->store(nullptr, std::memory_order_release);
  if (mirror_ != nullptr) mirror_->withdraw(key);
  free_keys_.push_back((key.value & ~kTagMask) | ((key.value + 1) & kTagMask));
}

bool KeyTable::insert(KeyEntry& entry) {
  const std::lock_guard lock(mutex_);
  if (!take_key(entry.key)) return false;
  slot(entry.key)->store(&entry, std::memory_order_release);
  if (mirror_ != nullptr) mirror_->publish(entry);
  return true;
}

bool KeyTable::replace(const KeyEntry& entry) {
  const std::lock_guard lock(mutex_);
  if (entry.windows != nullptr && entry.windows->users() != 0) return false;
  slot(entry.key)->store(&entry, std::memory_order_release);
  if (mirror_ != nullptr) mirror_->publish(entry);
  return true;
}

bool KeyTable::remove(MemoryKey key) {
  const std::lock_guard lock(mutex_);
  const KeyEntry& entry = *slot(key)->load(std::memory_order_relaxed);
  if (entry.windows != nullptr && entry.windows->users() != 0) return false;
  free_key(key);
  return true;
}

// ---- windows

bool KeyTable::insert(WindowEntry& window) {
  const std::lock_guard lock(mutex_);
  if (!take_key(window.bound.key)) return false;
  window.place.window = window.bound.window = &window;
  slot(window.bound.key)->store(&window.place, std::memory_order_release);
  return true;
}

void KeyTable::remove(WindowEntry& window) {
  const std::lock_guard lock(mutex_);
  if (UseCount* const region = std::exchange(window.bound_region, nullptr)) region->release();
  window.bound.length = 0;
  free_key(window.bound.key);
}

WindowEntry* KeyTable::window_at(MemoryKey key) const {
  const auto* place = slot(key);
  const KeyEntry* const entry = place == nullptr ? nullptr : place->load(std::memory_order_relaxed);
  return entry == nullptr ? nullptr : entry->window;
}

void KeyTable::show(const WindowEntry& window) {
  if (mirror_ == nullptr) return;
  if (window.bound.length != 0) return mirror_->publish(window.bound);
  mirror_->withdraw(window.bound.key);
}

// Length 0: there is none with this key.
KeyEntry KeyTable::bound_window(MemoryKey key) const {
  const std::lock_guard lock(mutex_);
  const WindowEntry* const window = window_at(key);
  return window != nullptr && window->bound.key == key ? window->bound : KeyEntry{};
}

void KeyTable::set_mirror(KeyMirror* mirror) {
  const std::lock_guard lock(mutex_);
  mirror_ = mirror;
  if (mirror == nullptr) return;
  for (std::uint32_t index = 1; index < next_index_; ++index) {
    const KeyEntry* entry = slot(MemoryKey(index << kTagBits))->load(std::memory_order_relaxed);
    if (entry == nullptr) continue;
    if (entry->window != nullptr) {
      show(*entry->window);
    } else {
      mirror->publish(*entry);
    }
  }
}

const KeyEntry* KeyTable::find(MemoryKey key) const {
  const auto* place = slot(key);
  const KeyEntry* entry = place == nullptr ? nullptr : place->load(std::memory_order_acquire);
  return entry != nullptr && entry->key == key ? entry : nullptr;
}

Expected<ib::HostMemory, Reason> KeyTable::local(const ProtectionDomain* pd, MemoryKey key,
                                                 std::uint64_t address, std::uint64_t length,
                                                 std::uint32_t access) const {
  if (length == 0) return nothing_at(address);
  const KeyEntry* const entry = find(key);
  if (entry == nullptr) return Unexpected{because(ReasonId::lkey_unknown, key.value, length, address)};
  if (entry->pd != pd) return Unexpected{because(ReasonId::lkey_other_pd, key.value)};
  if (const std::uint64_t outside = bytes_outside(*entry, address, length); outside != 0) {
    if (entry->is_null) return in_null_region(*entry, address, length, access);
    return Unexpected{because(ReasonId::lkey_range, key.value, length, address, outside)};
  }
  if ((access & ~entry->access) != 0) {
    return Unexpected{because(ReasonId::lkey_access, key.value, entry->access, access & ~entry->access)};
  }
  return memory_at(*entry, address);
}

Expected<ib::HostMemory, Reason> KeyTable::remote(const ProtectionDomain* pd, MemoryKey key,
                                                  std::uint64_t address, std::uint64_t length,
                                                  std::uint32_t access, std::uint32_t queue_pair) const {
  if (length == 0) return nothing_at(address);  // IBTA C9-88
  const KeyEntry* entry = find(key);
  KeyEntry window;
  if (entry == nullptr) [[unlikely]] {
    window = bound_window(key);
    if (window.length == 0) return Unexpected{because(ReasonId::nak_rkey_unknown, key.value)};
    entry = &window;
  }
  if (entry->pd != pd) return Unexpected{because(ReasonId::nak_rkey_other_pd, key.value)};
  if (entry->queue_pair != 0 && entry->queue_pair != queue_pair) [[unlikely]]
    return Unexpected{because(ReasonId::nak_window_other_qp, key.value)};
  if (const std::uint64_t outside = bytes_outside(*entry, address, length); outside != 0) {
    return Unexpected{because(ReasonId::nak_rkey_range, length, address, outside, key.value)};
  }
  if ((access & ~entry->access) != 0) {
    return Unexpected{because(ReasonId::nak_rkey_access, key.value, entry->access, access & ~entry->access)};
  }
  return memory_at(*entry, address);
}

Unexpected<Reason> KeyTable::no_such_window(MemoryKey key) {
  return Unexpected{because(ReasonId::no_such_window, key.value)};
}

}  // namespace softrnic::rnic
