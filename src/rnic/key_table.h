// All memory keys of the process: key → region. A key is index (24 bits) | tag (8 bits); the tag changes when
// an index is used again, so that a stale key is refused.
//
// Lookups are lock-free. Whoever looks up holds the lock of some lane for as long as it uses the entry;
// removing an entry takes it out and then quiesces every lane, after which nobody can hold it any more.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "base/expected.h"
#include "base/reason.h"
#include "base/strong.h"
#include "rnic/object.h"
#include "transport/ib/host.h"

namespace softrnic::rnic {

class ProtectionDomain;
struct WindowEntry;

/// What the data path knows of a region. Immutable once published.
struct KeyEntry {
  MemoryKey key;
  const ProtectionDomain* pd = nullptr;
  std::uint64_t start = 0;  ///< first address as peers and SGEs name it (iova)
  std::uint64_t length = 0;
  std::byte* base = nullptr;  ///< where that is in this process
  std::uint32_t access = 0;   ///< enum ibv_access_flags
  /// A window of type 2: QueuePair::serial() of the one that may be reached by it; 0: all of `pd`.
  std::uint32_t queue_pair = 0;
  UseCount* windows = nullptr;    ///< of a region: those bound to it; nullptr: none may be
  WindowEntry* window = nullptr;  ///< not a region but that window
  bool is_null = false;           ///< a null region: no bytes of its own; base: NullMemory::zeros()

  /// Where an address of the range is in this process. By numbers: a region of all addresses has no base.
  std::byte* at(std::uint64_t address) const {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(base) + (address - start));
  }
};

/// A memory window (IBTA 10.6.7). Its place in the table stands there as long as it lives, while its key, and
/// what that allows, change with each bind. Windows are few and looked up with the table's lock held.
struct WindowEntry {
  KeyEntry place;                    ///< what stands in the table; no key finds it
  KeyEntry bound;                    ///< guarded by the table's lock; length 0: it is not bound
  UseCount* bound_region = nullptr;  ///< KeyEntry::windows of the region; likewise
  bool one_queue_pair = false;       ///< of type 2
};

/// Is told of every change of the table, so that others can read along. Called with the table's lock held.
class KeyMirror {
 public:
  /// The entry of `entry.key` is new or another one.
  virtual void publish(const KeyEntry& entry) = 0;
  /// The key is no longer in use.
  virtual void withdraw(MemoryKey key) = 0;

 protected:
  ~KeyMirror() = default;
};

class KeyTable {
 public:
  static constexpr std::uint32_t kTagBits = 8;  ///< below the index

  /// The key of the same index with the tag of another one.
  static constexpr MemoryKey with_tag(MemoryKey key, std::uint32_t other) {
    constexpr std::uint32_t kTag = (1U << kTagBits) - 1;
    return MemoryKey((key.value & ~kTag) | (other & kTag));
  }

  /// The table of this process.
  static KeyTable& process();

  /// Takes a free key for `entry` (its key field is filled in). The caller keeps `entry` alive until remove()
  /// and a quiesce. False when all keys are in use.
  bool insert(KeyEntry& entry);
  /// Replaces the entry of `entry.key`; the old one is in use until all lanes were quiesced. False, and
  /// nothing is done: windows are bound to that region. So does remove().
  bool replace(const KeyEntry& entry);
  bool remove(MemoryKey key);

  // ---- windows
  /// Takes a free key for `window.bound`. The caller keeps `window` alive until remove() and a quiesce.
  bool insert(WindowEntry& window);
  void remove(WindowEntry& window);
  /// Has change(WindowEntry&) change the window whose key has the index of `key`, with the lock held.
  template <typename Change>
  auto change_window(MemoryKey key, Change&& change) -> decltype(change(std::declval<WindowEntry&>())) {
    const std::lock_guard lock(mutex_);
    WindowEntry* const window = window_at(key);
    if (window == nullptr) return no_such_window(key);
    auto changed = std::forward<Change>(change)(*window);
    if (changed) show(*window);
    return changed;
  }

  /// From now on `mirror` is told of changes; at once of all that is there. nullptr: nobody is.
  void set_mirror(KeyMirror* mirror);
  /// In a forked child, which has one thread; without the lock.
  void forget_mirror() { mirror_ = nullptr; }

  /// To be held across fork(): the child registers memory of its own.
  std::mutex& mutex() { return mutex_; }

  /// nullptr when the key is not in use.
  const KeyEntry* find(MemoryKey key) const;

  /// Local access by `pd`: `access` is 0 (read) or IBV_ACCESS_LOCAL_WRITE. Zero bytes are never checked.
  Expected<ib::HostMemory, Reason> local(const ProtectionDomain* pd, MemoryKey key, std::uint64_t address,
                                         std::uint64_t length, std::uint32_t access) const;
  /// Access by a peer through a QP of `pd`, whose serial is `queue_pair`: `access` is one IBV_ACCESS_REMOTE_*
  /// bit.
  Expected<ib::HostMemory, Reason> remote(const ProtectionDomain* pd, MemoryKey key, std::uint64_t address,
                                          std::uint64_t length, std::uint32_t access,
                                          std::uint32_t queue_pair = 0) const;

 private:
  static constexpr std::uint32_t kChunkBits = 12;
  static constexpr std::uint32_t kChunkEntries = 1U << kChunkBits;
  static constexpr std::uint32_t kChunks = 1U << (24 - kChunkBits);
  struct Chunk {
    std::array<std::atomic<const KeyEntry*>, kChunkEntries> entries{};
  };

  static Unexpected<Reason> no_such_window(MemoryKey key);
  std::atomic<const KeyEntry*>* slot(MemoryKey key) const;
  bool take_key(MemoryKey& key);
  void free_key(MemoryKey key);
  WindowEntry* window_at(MemoryKey key) const;
  void show(const WindowEntry& window);
  KeyEntry bound_window(MemoryKey key) const;

  std::array<std::atomic<Chunk*>, kChunks> chunks_{};
  mutable std::mutex mutex_;
  KeyMirror* mirror_ = nullptr;
  std::uint32_t next_index_ = 1;
  std::deque<std::uint32_t> free_keys_;  ///< next key to hand out, per freed index
};

}  // namespace softrnic::rnic
