// The sending side of RMPP: a message leaves in segments, as many as the window of the receiver allows, and
// those that are not acknowledged in time leave again (IBTA 13.6.6). One sender is one transfer; which
// datagrams belong to it (transaction, class, peer), its owner tells. Double-sided transfers are two of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "mad/mad.h"
#include "mad/rmpp_header.h"

namespace softrnic::mad {

struct RmppSending {
  std::size_t data_offset = kRmppHeadersBytes;  ///< bytes of all headers: 56 in subnet administration
  Duration timeout = std::chrono::seconds(2);  ///< for an ACK, as Linux has it; the receiver can ask for more
  Duration longest_timeout = std::chrono::seconds(20);
  unsigned retries = 7;  ///< without an ACK of anything new, before the transfer is given up
};

class RmppSender {
 public:
  enum class State : std::uint8_t {
    sending,
    done,    ///< every segment is acknowledged
    failed,  ///< status() says why; an ABORT may be left to send
  };

  /// `message` is all headers once, and then the data of all segments: what ib_umad takes. Of its RMPP header
  /// the response time counts. `data_offset` is 36 to 255; of a message that is shorter the rest is zero.
  RmppSender(std::vector<std::byte> message, const RmppSending& how);

  /// Writes the next datagram that may leave; false: none may before deadline() or receive().
  bool next(TimePoint now, Mad& out);
  /// An ACK, STOP or ABORT of the transfer; `mad` is whole. Others are left alone.
  void receive(Bytes mad, TimePoint now);

  State state() const { return state_; }
  RmppStatus status() const { return status_; }
  /// When next() has something by itself; kNever: not without receive().
  TimePoint deadline() const { return deadline_; }

  std::uint32_t segments() const { return segments_; }

 private:
  void acknowledge(const RmppHeader& header, TimePoint now);
  void expire(TimePoint now);
  void fail(RmppStatus status);
  void abort_transfer(RmppStatus status);
  void write_segment(std::uint32_t number, Mad& out) const;
  void write_abort(Mad& out) const;

  std::vector<std::byte> message_;
  std::size_t data_offset_;
  std::size_t segment_bytes_;  ///< data of a segment
  std::uint32_t segments_;
  Duration timeout_, longest_timeout_;
  unsigned retries_, retries_left_;

  State state_ = State::sending;
  RmppStatus status_ = RmppStatus::normal;
  bool abort_pending_ = false;
  std::uint32_t sent_ = 0;          ///< the last segment that has left, since the last timeout
  std::uint32_t highest_sent_ = 0;  ///< the same, ever
  std::uint32_t acknowledged_ = 0;  ///< all up to this one
  std::uint32_t window_last_ = 1;   ///< one segment until the receiver has said more
  TimePoint deadline_ = kNever;
};

}  // namespace softrnic::mad
