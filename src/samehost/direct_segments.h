// The parts of this process's registered memory that its local peers can map: which there are, and a
// descriptor for each as long as a region lies there.
#pragma once

#include <memory>

#include "samehost/direct_layout.h"

namespace softrnic::samehost {

/// One thread at a time: the lock of the key table guards it.
class DirectSegments {
 public:
  /// Published in `table`, which outlives this object or its use. nullptr: there is no memory for it.
  static std::unique_ptr<DirectSegments> make(DirectSegment* table, ShareFiles files);

  /// The segment where `address` lies, found or published, with one user more; {}: none can be had. What
  /// was published before with the same bytes at the same place has the same id, so that local peers
  /// that have mapped it keep it.
  SegmentRef acquire(std::uint64_t address, std::uint64_t length);
  void release(SegmentRef segment);
  /// In a forked child, which has none of the table: closes its descriptors.
  void forget();

 private:
  struct Slot {
    std::uint64_t id = 0;
    std::uint32_t users = 0;
    OwnedRange owned;
  };

  DirectSegments(DirectSegment* table, ShareFiles files) : table_(table), files_(files) {}
  SegmentRef find(std::uint64_t address, std::uint64_t length);
  SegmentRef use(Slot& slot);
  Slot* slot_for(const SharedRange& range);

  DirectSegment* const table_;
  const ShareFiles files_;
  Slot slots_[kDirectSegments];
  std::size_t next_ = 0;  ///< the slot that has rested longest
  std::uint64_t last_id_ = 0;
};

}  // namespace softrnic::samehost
