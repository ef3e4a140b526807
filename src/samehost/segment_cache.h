// What of a local peer's memory is mapped here: its segments (direct_segments.h) by their index.
//
// A bounded number of them and of bytes; what was not used for longest makes room. Mapping takes a while and
// is done without the lane's lock: until then messages go by cross-memory attach.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "samehost/direct_layout.h"

namespace softrnic::samehost {

/// Guarded by the lane's lock.
class SegmentCache {
 public:
  static constexpr std::size_t kMost = 64;                             ///< of one local peer
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 37;  ///< together

  struct Found {
    std::uint64_t address;
    std::uint64_t before;  ///< bytes that are mapped
    std::uint64_t behind;  ///< and from `address` on
  };
  /// Where [address, address + bytes) of the local peer lies here, if its segment is mapped and holds it all.
  std::optional<Found> find(SegmentRef segment, std::uint64_t address, std::uint64_t bytes) {
    if (segment.index >= entries_.size()) return std::nullopt;
    Entry& entry = entries_[segment.index];
    if (entry.id != segment.id || !entry.mapped || !entry.mapped.range().holds(address, bytes))
      return std::nullopt;
    entry.used = age_;
    const SharedRange& range = entry.mapped.range();
    const std::uint64_t before = address - range.start;
    return Found{entry.mapped.at(address), before, range.length - before};
  }
  /// Whether an attempt to map the segment may be worth while: none was made yet, or none lately.
  bool lacks(SegmentRef segment) const {
    return segment.id != 0 && segment.index < kDirectSegments &&
           (segment.index >= entries_.size() || entries_[segment.index].id != segment.id);
  }

  using Mappings = std::vector<MappedRange>;
  /// The outcome of an attempt; no mapping: it failed. What had to make room goes to `old`, to be
  /// unmapped without the lock.
  void install(SegmentRef segment, MappedRange mapped, Mappings& old);
  /// Once in a while: drops what the local peer shares no longer (all of it, when `lives` is false), and
  /// forgets which attempts have failed.
  void sweep(const DirectSegment* table, bool lives, Mappings& old);
  bool empty() const { return count_ == 0; }
  /// Whether sweep() has nothing to do: nothing is mapped, and no attempt is remembered.
  bool idle() const { return count_ == 0 && failed_ == 0; }
  /// In a forked child, where nothing is mapped.
  void forget();

 private:
  struct Entry {
    std::uint64_t id = 0;  ///< of the last attempt
    std::uint64_t used = 0;
    MappedRange mapped;
  };

  bool make_room(std::uint64_t bytes, Mappings& old);
  void drop(Entry& entry, Mappings& old);

  std::vector<Entry> entries_;
  std::size_t count_ = 0;
  std::size_t failed_ = 0;  ///< attempts since the last sweep
  std::uint64_t bytes_ = 0;
  std::uint64_t age_ = 1;  ///< sweeps
};

}  // namespace softrnic::samehost
