// The board of a ring: words behind its slots that the peer writes, so that its owner need
// not be told by a message.
//
//   entry × slots | credit | naps          64 bits each, little-endian
//
// An entry says which frame lies in the slot: the number of frames that were sent with it (low 32 bits
// of it), then its length.
#pragma once

#include <endian.h>

#include <atomic>
#include <cstdint>

#include "base/bytes.h"

namespace softrnic::copy {

class Board {
 public:
  static constexpr std::size_t size(std::uint32_t slots) { return (std::size_t{slots} + 2) * kWord; }
  static constexpr std::size_t kWord = sizeof(std::uint64_t);

  Board() = default;
  /// `place`: size(slots) bytes, aligned to words.
  explicit Board(MutableBytes place) : words_(reinterpret_cast<std::uint64_t*>(place.data())) {}

  // Indexes of words.
  static constexpr std::uint32_t entry(std::uint32_t slot) { return slot; }
  static constexpr std::uint32_t credit(std::uint32_t slots) { return slots; }
  static constexpr std::uint32_t naps(std::uint32_t slots) { return slots + 1; }

  std::uint64_t read(std::uint32_t index) const {
    return le64toh(std::atomic_ref<std::uint64_t>(words_[index]).load(std::memory_order_acquire));
  }
  /// What stands there after everything that this side has done and seen done before. An ordinary read may be
  /// carried out ahead of an earlier write elsewhere, on the board of the peer, and miss what the peer wrote
  /// before it looked there; a read-modify-write of the word itself may not, and costs no more than a fence.
  std::uint64_t read_now(std::uint32_t index) const {
    return le64toh(std::atomic_ref<std::uint64_t>(words_[index]).fetch_add(0, std::memory_order_seq_cst));
  }

 private:
  std::uint64_t* words_ = nullptr;
};

/// An entry, for frame `number`, counted from 0.
struct BoardEntry {
  std::uint32_t count = 0, length = 0;

  static BoardEntry of(std::uint64_t number, std::uint32_t length) {
    return {static_cast<std::uint32_t>(number + 1), length};
  }
  static BoardEntry from(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint32_t>(word)};
  }
  std::uint64_t word() const { return std::uint64_t{count} << 32 | length; }
  bool tells_of(std::uint64_t number) const { return count == static_cast<std::uint32_t>(number + 1); }
};

}  // namespace softrnic::copy
