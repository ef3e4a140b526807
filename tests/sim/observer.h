// Rules of a reliable connection that the outcome alone does not show, as a slow recovery hides their breach:
// watched packet by packet, with the endpoint's own idea of the PSN it expects.
//
//   requests  new ones follow one another without a gap; none is sent while an RNR delay runs
//   credits   no more messages begin than receives were ever posted for them, but one at the start, and one
//             each time that credit was waited for in vain
//   NAKs      a gap is answered by one NAK that names the expected PSN, at once, and by no second one before
//             that came
//   ACKs      name executed requests only; one that was asked for comes without delay, for duplicates as well
#pragma once

#include <optional>
#include <string>

#include "base/time.h"
#include "transport/ib/rx_packet.h"
#include "transport/ib/types.h"

namespace softrnic::sim {

class Observer {
 public:
  /// A packet is about to be handed to the endpoint, which expects PSN `expected`.
  void arriving(const ib::RxPacket& rx, std::uint32_t expected);
  /// The endpoint has handled it and now expects `expected`.
  void arrived(const ib::RxPacket& rx, std::uint32_t before, std::uint32_t expected);
  /// The endpoint sends a packet. "" or the rule that is broken.
  std::string sending(const ib::TxPacket& packet, std::uint32_t expected, std::uint32_t mtu, TimePoint now);
  /// The endpoint has nothing more to send. "" or what it owes.
  std::string quiet() const;
  /// The endpoint accepted an RNR NAK for `psn`. An acknowledgement of that PSN ends the wait early.
  void told_to_wait(std::uint32_t psn, TimePoint until) {
    wait_psn_ = psn;
    wait_until_ = until;
  }
  /// The endpoint cannot execute the expected request yet: it asks for it later, once, and until
  /// then is silent about gaps.
  void postponed() { postponed_ = true; }
  /// "" or that more messages were begun than the peer can have told of, of the `receives` that it has posted
  /// so far.
  std::string exceeds_credit(std::uint64_t receives, TimePoint now) const;
  void forget() { *this = Observer(); }

 private:
  std::string sending_request(const ib::TxPacket& packet, std::uint32_t mtu, TimePoint now);
  void count_message(const wire::OpcodeInfo& info, TimePoint now);
  void owe_ack(std::uint32_t psn);

  std::optional<std::uint32_t> next_request_;  ///< PSN of the next new request
  std::uint64_t begun_ = 0;                    ///< messages that take a receive
  std::optional<TimePoint> first_request_;
  std::optional<std::uint32_t> ack_owed_;
  bool nak_owed_ = false;
  bool nak_stands_ = false;  ///< one was sent and the expected PSN has not come since
  bool postponed_ = false;
  TimePoint wait_until_{};
  std::uint32_t wait_psn_ = 0;
};

}  // namespace softrnic::sim
