#include "rnic/tag_list.h"

#include <new>

namespace softrnic::rnic {

bool TagList::allocate(std::uint32_t capacity) {
  entries_.reset(new (std::nothrow) TagEntry[capacity]);
  if (entries_ == nullptr) return false;
  capacity_ = capacity;
  for (std::uint32_t i = capacity; i-- > 0;) {
    entries_[i].next = free_;
    free_ = &entries_[i];
  }
  return true;
}

std::optional<std::uint32_t> TagList::add(const TaggedBuffer& buffer, bool waits) {
  if (free_ == nullptr) return std::nullopt;
  TagEntry& entry = *free_;
  free_ = entry.next;
  ++filled_;
  entry.buffer = buffer;
  entry.next = nullptr;
  entry.previous = tail_;
  entry.listed = true;
  (tail_ != nullptr ? tail_->next : head_) = &entry;
  tail_ = &entry;
  if (waits && first_waiting_ == nullptr) first_waiting_ = &entry;
  const auto index = static_cast<std::uint32_t>(&entry - entries_.get());
  return std::uint32_t{entry.life} << 16 | index;
}

bool TagList::remove(std::uint32_t handle) {
  if (!knows(handle)) return false;
  TagEntry& entry = entries_[index_of(handle)];
  if (!entry.listed || entry.life != handle >> 16) return false;
  take(entry);
  release(entry);
  return true;
}

// A walk: a wildcard may stand anywhere, and what is behind it must not be taken before it.
TagEntry* TagList::find(std::uint64_t tag) const {
  for (TagEntry* entry = head_; entry != first_waiting_; entry = entry->next) {
    if ((tag & entry->buffer.mask) == entry->buffer.tag) return entry;
  }
  return nullptr;
}

void TagList::take(TagEntry& entry) {
  if (first_waiting_ == &entry) first_waiting_ = entry.next;
  (entry.previous != nullptr ? entry.previous->next : head_) = entry.next;
  (entry.next != nullptr ? entry.next->previous : tail_) = entry.previous;
  entry.next = entry.previous = nullptr;
  entry.listed = false;
  ++entry.life;
}

void TagList::release(TagEntry& entry) {
  entry.next = free_;
  free_ = &entry;
  --filled_;
}

}  // namespace softrnic::rnic
