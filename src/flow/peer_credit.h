// How much other lanes can take, where packets go to them: a lane asks the peer's lane itself.
//
// UC and UD hear nothing from their peer, and a socket that is full loses what comes; a rate that the sender chooses cannot
// know when the receiver gets the processor. So a lane that sends such packets asks, behind every quarter of what it may
// have under way, by a management datagram of a vendor's class (IBTA 13.4.4) to the first number of the peer's lane, which no
// queue pair has. The peer's lane answers when it comes upon the question in its socket: what was sent before it has left
// the buffer. The answer also tells how large that buffer is: this sender's part of it, if others send there too.
//
// An adapter that is not softrnic does not answer (a packet for an unknown QPN is dropped silently, IBTA 9.6.1.1): then the
// rate of ib::PathWindow is all there is.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "transport/ib/path_window.h"

namespace softrnic::flow {

/// What one lane knows of another. Costs are those of ib::datagram_cost().
class PeerCredit final : public ib::Gauge {
 public:
  /// Credits that have a question to send, by their numbers. It outlives them and has room for all of them.
  using Questions = std::vector<std::uint32_t>;

  /// `answers`: the peer is known to be softrnic, as it is on this host.
  PeerCredit(std::uint32_t number, Questions& questions, bool answers = false)
      : number_(number),
        questions_(questions),
        window_(answers ? kLeastWindow : kFirstWindow),
        answers_(answers) {}

  /// Before the peer has said how large its buffer is. One on this host is asked in no time, and all lanes of
  /// the host may begin at once: it gets kLeastWindow.
  static constexpr std::uint32_t kFirstWindow = 256 * 1024;
  static constexpr std::uint32_t kLeastWindow = 64 * 1024;
  /// A question comes behind every window_/kParts.
  static constexpr std::uint32_t kParts = 4;
  /// How long a peer is waited for that has never answered. A lane that was off the processor for longer may lose its first
  /// packets (on a busy machine 50 ms were too few); an adapter must not be made to wait much.
  static constexpr Duration kMeeting = std::chrono::milliseconds(250);
  /// A peer that does not answer is asked after kMeeting, then after twice the time, and so on up to this.
  static constexpr Duration kSeldom = std::chrono::seconds(60);
  /// When a question, or its answer, may be taken for lost.
  static constexpr Duration kAskAgain = std::chrono::milliseconds(2);

  bool knows(TimePoint now) override;
  std::uint32_t room(TimePoint now) override;

  /// The question to be sent, which is then taken for asked.
  std::uint64_t take_question();
  /// The peer has taken what was sent up to `place`, and has a receive buffer of `buffer` bytes (SO_RCVBUF).
  void answered(std::uint64_t place, std::uint32_t buffer);

 private:
  void ask(TimePoint now);

  const std::uint32_t number_;
  Questions& questions_;
  std::uint32_t window_;
  std::uint64_t granted_ = 0;  ///< the cost of all that the sender was allowed to send
  std::uint64_t taken_ = 0;    ///< how much of it the peer has taken for certain
  std::uint64_t asked_ = 0;    ///< what the question to be sent asks for
  TimePoint first_asked_ = kNever;
  TimePoint last_asked_ = kNever;
  Duration patience_ = kMeeting;  ///< before a peer that has never answered is asked again
  bool asks_ = false;
  bool answers_;
};

}  // namespace softrnic::flow
