// The probes and reports between lanes about what has been taken (flow/peer_credit.h), as packets.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "flow/buffer_sharers.h"
#include "flow/path_table.h"
#include "flow/peer_credit.h"
#include "mad/mad.h"
#include "transport/ib/rx_packet.h"
#include "transport/ib/types.h"

namespace softrnic::flow {

/// The probes and reports of one lane. Not thread-safe: the lane's lock guards it.
class CreditMessages {
 public:
  /// `buffer`: bytes of the lane's receive buffer, for the reports.
  CreditMessages(std::uint8_t lane, std::uint32_t buffer) : lane_(lane), buffer_(buffer) {}

  /// Peers choose the addresses and numbers that a program reports to. What that costs has a bound: senders
  /// to lanes beyond it keep to their rate.
  static constexpr std::size_t kMostPeers = 4096;
  bool full() const { return probers_.size() >= kMostPeers; }

  /// From now on `window`, the one to the lane `peer` at the end of `path`, goes by what that lane reports
  /// where packets take the network.
  /// `local`: a lane of this host, which does report.
  void observe(Path& window, const ib::AddressVector& path, std::uint8_t peer, bool local = false);
  /// A packet for the lane itself. False: it is neither probe nor report. `reports`: a probe is
  /// to be reported; its sender asks again (PeerCredit::kProbeAgain), and sends no more
  /// meanwhile than it has leave for.
  bool receive(const ib::RxPacket& packet, PathTable& paths, TimePoint now, bool reports = true);
  /// Whether send() has something to send.
  bool any() const { return !probes_.empty() || outbox_.size() > sent_; }
  /// Hands probes and reports to `send`. The packets' bytes stay until the next call.
  void send(const std::function<void(const ib::TxPacket&)>& send);

 private:
  static constexpr std::size_t kMostMessages = 256;

  struct Prober {
    PeerCredit* credit;  ///< belongs to its Path, which lives as long as the lane
    ib::AddressVector path;
    std::uint8_t peer;
  };
  struct Message {
    ib::AddressVector path;
    Qpn to;
    mad::Mad mad;
  };

  void write(const ib::AddressVector& path, std::uint8_t peer, mad::Method method, std::uint64_t place,
             std::uint32_t share);

  std::uint8_t lane_;
  std::uint32_t buffer_;
  BufferSharers sharers_;
  PeerCredit::Probes probes_;
  std::vector<Prober> probers_;
  std::vector<Message> outbox_;
  std::size_t sent_ = 0;  ///< messages that the link may still hold
};

}  // namespace softrnic::flow
