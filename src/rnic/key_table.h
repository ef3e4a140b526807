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

#include "base/expected.h"
#include "base/reason.h"
#include "base/strong.h"

namespace softrnic::rnic {

class ProtectionDomain;

/// What the data path knows of a region. Immutable once published.
struct KeyEntry {
  MemoryKey key;
  const ProtectionDomain* pd = nullptr;
  std::uint64_t start = 0;  ///< first address as peers and SGEs name it (iova)
  std::uint64_t length = 0;
  std::byte* base = nullptr;  ///< where that is in this process
  std::uint32_t access = 0;   ///< enum ibv_access_flags
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

  /// The table of this process.
  static KeyTable& process();

  /// Takes a free key for `entry` (its key field is filled in). The caller keeps `entry` alive until remove()
  /// and a quiesce. False when all keys are in use.
  bool insert(KeyEntry& entry);
  /// Replaces the entry of `entry.key`; the old one is in use until all lanes were quiesced.
  void replace(const KeyEntry& entry);
  void remove(MemoryKey key);

  /// From now on `mirror` is told of changes; at once of all that is there. nullptr: nobody is.
  void set_mirror(KeyMirror* mirror);
  /// In a forked child, which has one thread; without the lock.
  void forget_mirror() { mirror_ = nullptr; }

  /// To be held across fork(): the child registers memory of its own.
  std::mutex& mutex() { return mutex_; }

  /// nullptr when the key is not in use.
  const KeyEntry* find(MemoryKey key) const;

  /// Local access by `pd`: `access` is 0 (read) or IBV_ACCESS_LOCAL_WRITE. Zero bytes are never checked.
  Expected<std::byte*, Reason> local(const ProtectionDomain* pd, MemoryKey key, std::uint64_t address,
                                     std::uint64_t length, std::uint32_t access) const;
  /// Access by a peer through a QP of `pd`: `access` is one IBV_ACCESS_REMOTE_* bit.
  Expected<std::byte*, Reason> remote(const ProtectionDomain* pd, MemoryKey key, std::uint64_t address,
                                      std::uint64_t length, std::uint32_t access) const;

 private:
  static constexpr std::uint32_t kChunkBits = 12;
  static constexpr std::uint32_t kChunkEntries = 1U << kChunkBits;
  static constexpr std::uint32_t kChunks = 1U << (24 - kChunkBits);
  struct Chunk {
    std::array<std::atomic<const KeyEntry*>, kChunkEntries> entries{};
  };

  std::atomic<const KeyEntry*>* slot(MemoryKey key) const;

  std::array<std::atomic<Chunk*>, kChunks> chunks_{};
  std::mutex mutex_;
  KeyMirror* mirror_ = nullptr;
  std::uint32_t next_index_ = 1;
  std::deque<std::uint32_t> free_keys_;  ///< next key to hand out, per freed index
};

}  // namespace softrnic::rnic
