// What one side may send: credits in messages, and the segment of the peer's buffer that it writes next.
// The peer announces segments in turn in a table of kSegmentRows rows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "rsocket/messages.h"

namespace softrnic::rsocket {

inline constexpr std::uint32_t kSegmentRows = 2;

class SendWindow {
 public:
  SendWindow() = default;
  explicit SendWindow(const Offer& peer) : current_(peer.buffer), limit_(peer.credits) {}

  void credits(std::uint32_t limit) { limit_ = static_cast<std::uint16_t>(limit); }
  /// The row that the peer writes next.
  std::uint32_t next_row() const { return (row_ + announced_) % kSegmentRows; }
  /// The peer says that it has written it.
  void announced() { announced_ = std::min(announced_ + 1, kSegmentRows); }

  bool has_credit() const { return sent_ != limit_; }
  bool has_room() const { return current_.length > 0; }
  /// The row to read next, if one was announced and the segment before it is full.
  bool wants_row() const { return !has_room() && announced_ > 0; }
  std::uint32_t row() const { return row_; }
  void took_row(const Segment& segment) {
    current_ = segment;
    --announced_;
    row_ = (row_ + 1) % kSegmentRows;
  }

  /// One message of up to `wanted` bytes: where they go. `length` says how many fit.
  Segment spend(std::uint32_t wanted) {
    const Segment to{current_.address, current_.key, std::min(wanted, current_.length)};
    current_.address += to.length;
    current_.length -= to.length;
    spend_credit();
    return to;
  }
  void spend_credit() { ++sent_; }

 private:
  Segment current_;
  std::uint32_t row_ = 1;  ///< row 0 is what the offer brought
  std::uint32_t announced_ = 0;
  std::uint16_t sent_ = 0;
  std::uint16_t limit_ = 0;
};

/// The ring from which sends leave: bytes are taken in order and given back in order.
class SendRing {
 public:
  SendRing() = default;
  explicit SendRing(std::uint32_t size) : size_(size), free_(size) {}

  std::uint32_t free() const { return free_; }
  struct Place {
    std::uint32_t at = 0;
    std::uint32_t first = 0;   ///< bytes at `at`
    std::uint32_t second = 0;  ///< bytes at the start of the ring
  };
  /// `length`: at most free().
  Place take(std::uint32_t length) {
    const Place place{at_, std::min(length, size_ - at_), length - std::min(length, size_ - at_)};
    at_ = place.second > 0 ? place.second : (at_ + place.first) % size_;
    free_ -= length;
    return place;
  }
  void give_back(std::uint32_t length) { free_ += length; }

 private:
  std::uint32_t size_ = 0;
  std::uint32_t at_ = 0;
  std::uint32_t free_ = 0;
};

}  // namespace softrnic::rsocket
