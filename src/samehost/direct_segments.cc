#include "samehost/direct_segments.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "control/page_record.h"

namespace softrnic::samehost {
namespace {

/// Whether `range`, which is published, gives local peers all that they would get by `found`.
bool covers(const SharedRange& range, const SharedRange& found, std::uint64_t address, std::uint64_t length) {
  return range.kind == found.kind && range.device == found.device && range.inode == found.inode &&
         range.start - range.offset == found.start - found.offset && range.writable >= found.writable &&
         range.holds(address, std::min(length, found.start + found.length - address));
}

}  // namespace

std::unique_ptr<DirectSegments> DirectSegments::make(DirectSegment* table, ShareFiles files) {
  return std::unique_ptr<DirectSegments>(new (std::nothrow) DirectSegments(table, files));
}

SegmentRef DirectSegments::use(Slot& slot) {
  const auto index = static_cast<std::uint64_t>(&slot - slots_);
  if (slot.users++ == 0)
    control::write_record(table_[index].sequence, table_[index].body,
                          DirectSegmentBody{slot.id, slot.owned.range});
  return {slot.id, index};
}

// Where it was before, or in the slot that has rested longest: its id should be known to nobody any more.
DirectSegments::Slot* DirectSegments::slot_for(const SharedRange& range) {
  for (Slot& slot : slots_) {
    if (slot.id != 0 && slot.users == 0 && slot.owned.range.is_same_place(range)) return &slot;
  }
  for (std::size_t tried = 0; tried < std::size(slots_); ++tried) {
    Slot& slot = slots_[next_];
    next_ = (next_ + 1) % std::size(slots_);
    if (slot.users == 0) {
      slot.id = ++last_id_;
      return &slot;
    }
  }
  return nullptr;
}

SegmentRef DirectSegments::find(std::uint64_t address, std::uint64_t length) {
  const auto found = find_shared_range(address, length);
  if (!found) return {};
  for (Slot& slot : slots_) {
    if (slot.users != 0 && covers(slot.owned.range, *found, address, length)) return use(slot);
  }
  auto owned = own_shared_range(*found, files_);
  if (!owned || !owned->range.holds(address, 1)) return {};
  Slot* const slot = slot_for(owned->range);
  if (slot == nullptr) return {};
  slot->owned = std::move(*owned);
  return use(*slot);
}

SegmentRef DirectSegments::acquire(std::uint64_t address, std::uint64_t length) {
  if (length == 0 || files_ == ShareFiles::none) return {};
  try {
    return find(address, length);
  } catch (const std::bad_alloc&) {
    return {};  // it is reached without
  }
}

// Local peers that have mapped it look at the table now and then, and let go.
void DirectSegments::release(SegmentRef segment) {
  if (segment.id == 0) return;
  Slot& slot = slots_[segment.index];
  if (--slot.users != 0) return;
  slot.owned.fd.reset();
  DirectSegment& entry = table_[segment.index];
  control::write_record(entry.sequence, entry.body, DirectSegmentBody{});
}

void DirectSegments::forget() {
  for (Slot& slot : slots_) slot.owned.fd.reset();
}

}  // namespace softrnic::samehost
