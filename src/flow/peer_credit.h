// How much other lanes can take, where packets go to them: a lane asks the peer's lane itself.
//
// UC and UD hear nothing from their peer, and a socket that is full loses what comes; a rate that the sender
// chooses cannot know when the receiver gets the processor. So a lane that sends such packets asks, behind
// every quarter of what it may have under way, by a management datagram of a vendor's class (IBTA 13.4.4) to
// the first number of the peer's lane, which no queue pair has. The peer's lane reports when it comes upon
// the probe in its socket: what was sent before it has left the buffer. The report also tells how large that
// buffer is: this sender's part of it, if others send there too.
//
// An adapter that is not softrnic does not report (a packet for an unknown QPN is dropped silently, IBTA
// 9.6.1.1): then the rate of ib::PathWindow is all there is.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "transport/ib/path_window.h"

namespace softrnic::flow {

/// What one lane knows of another. Costs are those of ib::datagram_cost().
class PeerCredit final : public ib::Gauge {
 public:
  /// Credits that have a probe to send, by their numbers. It outlives them and has room for all of them.
  using Probes = std::vector<std::uint32_t>;

  /// `reports`: the peer is known to be softrnic, as it is on this host.
  PeerCredit(std::uint32_t number, Probes& probes, bool reports = false)
      : number_(number), probes_(probes), window_(reports ? kLeastWindow : kFirstWindow), reports_(reports) {}

  /// Before the peer has said how large its buffer is. One on this host is asked in no time, and all lanes of
  /// the host may begin at once: it gets kLeastWindow.
  static constexpr std::uint32_t kFirstWindow = 256 * 1024;
  static constexpr std::uint32_t kLeastWindow = 64 * 1024;
  /// A probe comes behind every window_/kParts.
  static constexpr std::uint32_t kParts = 4;
  /// How long a peer is waited for that has never reported. A lane that was off the processor for longer may
  /// lose its first packets (on a busy machine 50 ms were too few); an adapter must not be made to wait much.
  static constexpr Duration kFirstReport = std::chrono::milliseconds(250);
  /// A peer that does not report is asked after kFirstReport, then after twice the time, and so on up to
  /// this.
  static constexpr Duration kLongestBackOff = std::chrono::seconds(60);
  /// When a probe, or its report, may be taken for lost.
  static constexpr Duration kProbeAgain = std::chrono::milliseconds(2);

  bool knows(TimePoint now) override;
  std::uint32_t room(TimePoint now) override;

  /// The probe to be sent, which is then taken for asked.
  std::uint64_t take_probe();
  /// The peer has taken what was sent up to `place`, and has a receive buffer of `buffer` bytes (SO_RCVBUF).
  void reported(std::uint64_t place, std::uint32_t buffer);

 private:
  void probe(TimePoint now);

  const std::uint32_t number_;
  Probes& probes_;
  std::uint32_t window_;
  std::uint64_t granted_ = 0;  ///< the cost of all that the sender was allowed to send
  std::uint64_t taken_ = 0;    ///< how much of it the peer has taken for certain
  std::uint64_t probed_ = 0;   ///< what the probe to be sent asks for
  TimePoint first_probed_ = kNever;
  TimePoint last_probed_ = kNever;
  Duration patience_ = kFirstReport;  ///< before a peer that has never reported is asked again
  bool probes_pending_ = false;
  bool reports_;
};

}  // namespace softrnic::flow
