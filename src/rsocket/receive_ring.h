// The receive buffer of a stream: a ring of two halves. The peer writes into one while the other is read; a
// half that was read is announced to it again. It knows offsets only, and trusts no length that the peer
// tells.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"

namespace softrnic::rsocket {

class ReceiveRing {
 public:
  /// `size`: even. `messages`: how many the peer may have sent that were not read.
  ReceiveRing(std::uint32_t size, std::uint16_t messages);

  /// The peer says that it wrote `length` bytes more. False if that is not within what it was given: then
  /// nothing that follows can be believed.
  bool arrived(std::uint32_t length);
  /// A message that takes a credit and brings no bytes.
  void arrived_without_bytes() { ++read_; }

  /// Copies what has come out of `ring`, in order, until `to` is full, and says how much that was.
  std::size_t take(Bytes ring, MutableBytes to) { return copy(ring, to, false); }
  /// The same, and it stays.
  std::size_t peek(Bytes ring, MutableBytes to) { return copy(ring, to, true); }
  bool empty() const { return count_ == 0; }

  /// Whether the peer should be told of room: a half is free, or half of its credits are used up.
  bool update_due() const { return half_free() || static_cast<std::int16_t>(read_ - update_at_) >= 0; }
  struct Update {
    std::uint16_t credits = 0;             ///< the number of the message that must not be sent any more
    std::optional<std::uint32_t> half_at;  ///< offset of a half that is given to the peer
  };
  /// What to tell it. From then on it is told.
  Update update();

  std::uint32_t half() const { return half_; }

 private:
  bool half_free() const { return free_ >= half_; }
  std::size_t copy(Bytes ring, MutableBytes to, bool keep);

  const std::uint32_t half_;
  const std::uint16_t messages_;
  std::vector<std::uint32_t> lengths_;  ///< of messages that were not read wholly, a ring
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::uint32_t offset_ = 0;  ///< of the next byte to read
  std::uint32_t free_;        ///< bytes that were read and are not given to the peer again
  std::uint32_t free_at_;     ///< offset of the half to give next
  std::uint64_t given_;       ///< bytes the peer may write still
  std::uint16_t read_ = 0;    ///< messages
  std::uint16_t update_at_;
};

}  // namespace softrnic::rsocket
