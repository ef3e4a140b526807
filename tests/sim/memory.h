// The registered memory of a simulated adapter. Every buffer is a region of its own, with its own key, in an
// address space where regions never touch, so that any access beside a posted buffer has no region and is
// caught.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/strong.h"
#include "tests/sim/rng.h"
#include "transport/ib/types.h"

namespace softrnic::sim {

/// Whether two pieces of memory hold the same. (std::equal compares std::byte one by one.)
inline bool same(Bytes a, Bytes b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

/// What a region is there for; decides which calls of the transport may touch it.
enum class Use : std::uint8_t { target, source, sink, receive };

class Region {
 public:
  static constexpr std::size_t kGuard = 32;
  static constexpr std::uint32_t kNobody = 0xffffffff;

  /// It holds `original` at first; those bytes must outlive it.
  Region(MemoryKey key, std::uint64_t base, Bytes original, std::uint32_t access, Use use);

  bool contains(std::uint64_t address, std::uint64_t length) const {
    return address >= base && length <= size() && address - base <= size() - length;
  }
  std::size_t size() const { return original_.size(); }
  MutableBytes bytes();
  Bytes bytes() const { return storage_ == nullptr ? original_ : Bytes(storage_.get() + kGuard, size()); }
  /// What it held when it was made.
  Bytes original() const { return original_; }
  /// The bytes before and behind the region are as they were.
  bool guards_intact() const;

  MemoryKey key;
  std::uint64_t base;
  std::uint32_t access;
  std::uint32_t pd = 1;
  Use use;
  std::uint32_t owner = kNobody;  ///< the node whose work request names it
  bool usable = true;             ///< false once deregistered or invalidated
  /// Every fourth region is reached by load() and store() alone.
  bool on_demand() const { return key.value % 4 == 3; }

 private:
  Bytes original_;
  std::unique_ptr<std::byte[]> storage_;  ///< with the guards; most receives are never reached and need none
};

class Memory {
 public:
  explicit Memory(std::uint32_t salt) : salt_(salt) {}

  Region& add(std::size_t size, std::uint32_t access, Use use, Rng& rng);
  Region* find(MemoryKey key);
  void remove(MemoryKey key) { regions_.erase(key.value); }
  std::size_t count() const { return regions_.size(); }

 private:
  std::unordered_map<std::uint32_t, std::unique_ptr<Region>> regions_;
  std::uint32_t salt_;
  std::uint32_t made_ = 0;
  std::uint64_t next_base_ = 0x7f00'0000'0000U;
};

}  // namespace softrnic::sim
