// The receiving side of RMPP: segments become a message again, and the sender hears which have come and how
// many it may send (IBTA 13.6.6). One receiver is one transfer; which datagrams belong to it, its owner
// tells.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "mad/mad.h"
#include "mad/rmpp_header.h"

namespace softrnic::mad {

struct RmppReceiving {
  std::size_t data_offset = kRmppHeadersBytes;     ///< bytes of all headers: 56 in subnet administration
  std::uint32_t window = 64;                       ///< segments that may be on the way, at least 1
  std::size_t most_bytes = std::size_t{16} << 20;  ///< of a message; the sender of a longer one is stopped
  Duration timeout = std::chrono::seconds(40);     ///< without anything new, as Linux has it
  Duration linger = std::chrono::seconds(10);      ///< after the end, to answer what comes late or again
};

class RmppReceiver {
 public:
  enum class State : std::uint8_t {
    receiving,
    done,    ///< take_message() has it
    failed,  ///< status() says why
  };

  /// `how.data_offset` is 36 to 255. Memory stays below most_bytes and a window.
  explicit RmppReceiver(const RmppReceiving& how);

  /// DATA, STOP or ABORT of the transfer; `mad` is whole. Others are left alone.
  void receive(Bytes mad, TimePoint now);
  /// Writes the ACK, STOP or ABORT that is to be sent; false: none is before deadline() or receive().
  bool next(TimePoint now, Mad& out);

  State state() const { return state_; }
  RmppStatus status() const { return status_; }
  /// All headers once, those of the first segment, and then the data: what ib_umad gives. Once, when done.
  std::vector<std::byte> take_message() { return std::move(message_); }

  /// When next() has something by itself or, after the end, when the receiver can be forgotten.
  TimePoint deadline() const { return deadline_; }
  bool can_be_forgotten(TimePoint now) const { return state_ != State::receiving && now >= deadline_; }

 private:
  enum class Pending : std::uint8_t { nothing, ack, stop, abort };

  void begin(Bytes mad, TimePoint now);
  RmppStatus check(const RmppHeader& header) const;
  void take_segment(const RmppHeader& header, Bytes mad, TimePoint now);
  bool has_room(const RmppHeader& header) const;
  void advance(TimePoint now);
  void finish(TimePoint now);
  void end(State state, RmppStatus status, Pending last_word, TimePoint now);
  void refuse(RmppStatus status, TimePoint now);

  std::size_t data_offset_;
  std::size_t segment_bytes_;  ///< data of a segment
  std::uint32_t window_;
  std::size_t most_bytes_;
  Duration timeout_, linger_;

  State state_ = State::receiving;
  RmppStatus status_ = RmppStatus::normal;
  Pending pending_ = Pending::nothing;
  Pending last_word_ = Pending::nothing;        ///< after the end: what DATA that comes again is told
  std::array<std::byte, kMadBytes> headers_{};  ///< of the first datagram, for answers
  std::vector<std::byte> message_;
  std::vector<bool> arrived_;       ///< of the window: segment n stands at n modulo window
  std::uint32_t in_order_ = 0;      ///< all up to this one have come
  std::uint32_t acknowledged_ = 0;  ///< what the last ACK said
  std::uint32_t window_last_ = 1;   ///< likewise
  std::uint32_t last_ = 0;          ///< the segment with the Last flag; 0: not seen yet
  std::uint32_t last_payload_ = 0;  ///< its PayloadLength
  TimePoint deadline_ = kNever;
};

}  // namespace softrnic::mad
