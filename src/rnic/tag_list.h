// The matching list of a tag matching SRQ: buffers with tags, in the order in which they were posted.
//
// A message takes the first buffer whose tag is its own under the buffer's mask. Those from a certain one on
// may be out of matching for a while (UnexpectedMessages says when): they are on the list and wait.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "rnic/limits.h"
#include "rnic/tag_message.h"
#include "transport/ib/types.h"

namespace softrnic::rnic {

/// What IBV_WR_TAG_ADD posts.
struct TaggedBuffer {
  std::uint64_t wr_id = 0;  ///< of its receive completions
  std::uint64_t tag = 0;
  std::uint64_t mask = 0;
  std::uint64_t length = 0;  ///< sum of the SGEs
  std::uint32_t sge_count = 0;
  std::array<ib::Sge, limits::kMaxTagSges> sges{};

  std::span<const ib::Sge> places() const { return {sges.data(), sge_count}; }
};

/// Whether the payload of a message in rendezvous can be READ into this buffer.
constexpr bool fits(const TagMessage& message, const TaggedBuffer& buffer) {
  return message.length <= buffer.length && message.length <= limits::kMaxMessageBytes;
}

/// A place of the list. When a message has taken it, it belongs to that message's queue pair until release().
struct TagEntry {
  TaggedBuffer buffer;
  TagMessage message;      ///< that has taken it, if it came in rendezvous
  bool solicited = false;  ///< so did that message ask

  TagEntry* next = nullptr;  ///< whoever has the entry may use it for a list of his own
  TagEntry* previous = nullptr;
  std::uint16_t life = 0;  ///< counts how often it was on the list
  bool listed = false;
};

/// Not thread-safe. Memory is taken by allocate() alone, and entries stay where they are.
class TagList {
 public:
  /// At most 65,536. False: no memory.
  bool allocate(std::uint32_t capacity);

  std::uint32_t capacity() const { return capacity_; }
  /// Places that are filled: on the list, or taken and not released.
  std::uint32_t filled() const { return filled_; }

  /// Puts a buffer at the end; `waits`: out of matching until match_all(), as are all behind it. Its handle;
  /// nothing: all places are filled.
  std::optional<std::uint32_t> add(const TaggedBuffer& buffer, bool waits);
  /// Whether there can be such a handle.
  bool knows(std::uint32_t handle) const { return index_of(handle) < capacity_; }
  /// False: what had this handle is not on the list any more.
  bool remove(std::uint32_t handle);
  void match_all() { first_waiting_ = nullptr; }

  /// The first that a message with this tag matches; nullptr: none.
  TagEntry* find(std::uint64_t tag) const;
  /// Takes one off that is on the list. Its place stays filled until release().
  void take(TagEntry& entry);
  void release(TagEntry& entry);

 private:
  static std::uint32_t index_of(std::uint32_t handle) { return handle & 0xffff; }

  std::unique_ptr<TagEntry[]> entries_;
  std::uint32_t capacity_ = 0;
  std::uint32_t filled_ = 0;
  TagEntry* free_ = nullptr;
  TagEntry* head_ = nullptr;
  TagEntry* tail_ = nullptr;
  TagEntry* first_waiting_ = nullptr;
};

}  // namespace softrnic::rnic
