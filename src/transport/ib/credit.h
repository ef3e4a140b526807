// End-to-end flow control of a reliable connection (IBTA 9.7.7.2): each AETH that is no NAK tells how many
// receives the responder has at hand, and the requester begins no message that would find none.
//
// Both count receives, not messages: a WRITE or READ takes none, and may go at any time. Before the first
// AETH the requester knows of nothing and begins one message. It would be limited to one as well when it
// knows that there is no receive; but that one would be answered with an RNR NAK, which may be the end of the
// connection. So it waits a while for the responder to say by an ACK nobody asked for that there is one now.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "transport/ib/psn.h"
#include "transport/ib/types.h"

namespace softrnic::ib {

/// The code of the most credits that are no more than `receives`.
std::uint8_t credit_code(std::uint32_t receives);
/// Nothing: the responder does not count (code 31).
std::optional<std::uint32_t> credits_of(std::uint8_t code);
/// The syndrome of an AETH while so many receives are at hand; nothing: they are not counted.
inline std::uint8_t credit_syndrome(std::optional<std::uint32_t> receives) {
  return receives ? credit_code(*receives) : wire::kAckUnlimitedCredits;
}

/// What the responder has told its peer, who may know of more, but of no less unless an ACK was lost.
class ReceiveCredit {
 public:
  /// The syndrome of an ACK.
  std::uint8_t tell(std::optional<std::uint32_t> receives) {
    const std::uint8_t code = credit_syndrome(receives);
    left_ = credits_of(code).value_or(kUnlimited);
    return code;
  }
  /// A message has taken its receive.
  void used() {
    if (left_ > 0 && left_ != kUnlimited) --left_;
  }
  /// The peer has used all receives that it knows of, and may wait for more.
  bool exhausted() const { return left_ == 0; }

 private:
  static constexpr std::uint32_t kUnlimited = ~0U;
  std::uint32_t left_ = 1;
};

/// What the requester may send. Numbers of messages count from the beginning of the connection.
class SendCredit {
 public:
  bool any() const { return unlimited_ || static_cast<std::int32_t>(limit_ - begun_) > 0; }
  void begin(SendOp op) { begun_ += takes_receive(op) ? 1 : 0; }
  /// The oldest message that has begun is acknowledged; its packets end before `end`.
  void end(SendOp op, Psn end) {
    done_ += takes_receive(op) ? 1 : 0;
    if (!is_answered(op)) acknowledged_ = end;
  }
  /// An AETH came that stands for all messages that are done.
  void told(std::uint8_t code) {
    const auto credits = credits_of(code);
    unlimited_ = unlimited_ || !credits;
    const std::uint32_t limit = done_ + credits.value_or(0);
    if (static_cast<std::int32_t>(limit - limit_) > 0) limit_ = limit;
    if (any()) ask_at_ = kNever;
  }
  /// An ACK of all before `end` came that acknowledges nothing new. One that was on its way for long tells of
  /// receives that have been used since.
  void told_again(std::uint8_t code, Psn end, Psn una) {
    if (end == acknowledged_ || end == una) told(code);
  }

  /// The next message waits for credit until then, unless it has begun to do so before.
  void wait(TimePoint until) { ask_at_ = std::min(ask_at_, until); }
  TimePoint deadline() const { return ask_at_; }
  /// True: it has waited long enough, and may ask by itself whether there is a receive.
  bool expire(TimePoint now) {
    if (now < ask_at_) return false;
    ask_at_ = kNever;
    if (!any()) limit_ = begun_ + 1;
    return true;
  }
  void stop() { ask_at_ = kNever; }

 private:
  std::uint32_t begun_ = 0;  ///< messages that take a receive
  std::uint32_t done_ = 0;   ///< of them
  std::uint32_t limit_ = 1;  ///< how many may begin
  bool unlimited_ = false;
  Psn acknowledged_;  ///< end of the newest message that is done and was no READ or atomic
  TimePoint ask_at_ = kNever;
};

}  // namespace softrnic::ib
