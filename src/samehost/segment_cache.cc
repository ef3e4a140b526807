#include "samehost/segment_cache.h"

#include <utility>

#include "control/page_record.h"

namespace softrnic::samehost {

void SegmentCache::drop(Entry& entry, Mappings& old) {
  old.push_back(MappedRange());
  --count_;
  bytes_ -= entry.mapped.range().length;
  std::swap(old.back(), entry.mapped);
  entry.id = 0;
}

// What was used since the last sweep stays, or segments in turn would drive each other out with every
// message.
bool SegmentCache::make_room(std::uint64_t bytes, Mappings& old) {
  while (count_ == kMost || bytes > kMostBytes - bytes_) {
    Entry* oldest = nullptr;
    for (Entry& entry : entries_) {
      if (entry.mapped && entry.used < age_ && (oldest == nullptr || entry.used < oldest->used))
        oldest = &entry;
    }
    if (oldest == nullptr) return false;
    drop(*oldest, old);
  }
  return true;
}

void SegmentCache::install(SegmentRef segment, MappedRange mapped, Mappings& old) {
  if (segment.index >= kDirectSegments) return;
  if (entries_.size() <= segment.index) entries_.resize(segment.index + 1);
  Entry& entry = entries_[segment.index];
  if (entry.mapped) drop(entry, old);
  entry.id = segment.id;
  entry.used = age_;
  if (!mapped || !make_room(mapped.range().length, old)) {
    ++failed_;
    if (mapped) old.push_back(std::move(mapped));
    return;
  }
  ++count_;
  bytes_ += mapped.range().length;
  entry.mapped = std::move(mapped);
}

void SegmentCache::sweep(const DirectSegment* table, bool lives, Mappings& old) {
  ++age_;
  failed_ = 0;
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    Entry& entry = entries_[index];
    DirectSegmentBody body;
    const bool known = lives && control::read_record(table[index].sequence, table[index].body, body);
    if (entry.mapped && (!known || body.id != entry.id)) {
      drop(entry, old);
    } else if (!entry.mapped) {
      entry.id = 0;
    }
  }
}

void SegmentCache::forget() {
  for (Entry& entry : entries_) entry.mapped.forget();
}

}  // namespace softrnic::samehost
