// Flow control of one VL of a link (IBTA 7.9.4): both sides count blocks modulo 4096, so that what one lost
// packet says wrong the next flow control packet mends.
#pragma once

#include <algorithm>
#include <cstdint>

#include "wire/flow_control_packet.h"

namespace softrnic::fabric {

using wire::kFlowControlMask;
/// The counters can tell a limit ahead from one behind up to half their range.
inline constexpr std::uint16_t kMaxCredit = (kFlowControlMask + 1) / 2;

/// The side that sends data: may it?
class CreditSender {
 public:
  /// A link that has come up knows of no credit.
  void reset() { fctbs_ = fccl_ = 0; }

  /// `blocks` is at most 2047; no packet has as many.
  bool can_send(std::uint16_t blocks) const {
    return static_cast<std::uint16_t>((fccl_ - (fctbs_ + blocks)) & kFlowControlMask) <= kMaxCredit;
  }
  void sent(std::uint16_t blocks) { fctbs_ = (fctbs_ + blocks) & kFlowControlMask; }
  /// A flow control packet came: Flow Control Credit Limit.
  void hear(std::uint16_t fccl) { fccl_ = fccl & kFlowControlMask; }

  /// Flow Control Total Blocks Sent, for the flow control packets of this side.
  std::uint16_t fctbs() const { return fctbs_; }
  /// Blocks that may be sent now.
  std::uint16_t available() const {
    const auto ahead = static_cast<std::uint16_t>((fccl_ - fctbs_) & kFlowControlMask);
    return ahead <= kMaxCredit ? ahead : 0;
  }

 private:
  std::uint16_t fctbs_ = 0;
  std::uint16_t fccl_ = 0;
};

/// The side that has the buffer: what may the other?
class CreditReceiver {
 public:
  void reset() { abr_ = 0; }

  /// A packet came that is not damaged: Adjusted Blocks Received.
  void received(std::uint16_t blocks) { abr_ = (abr_ + blocks) & kFlowControlMask; }
  /// A flow control packet came. What was sent before it and is not here is lost. True: the limit is another
  /// now, and the sender does not know.
  bool hear(std::uint16_t fctbs) {
    const bool changed = abr_ != (fctbs & kFlowControlMask);
    abr_ = fctbs & kFlowControlMask;
    return changed;
  }
  /// Flow Control Credit Limit, with `free` blocks of the buffer unused.
  std::uint16_t fccl(std::uint16_t free) const {
    return (abr_ + std::min(free, kMaxCredit)) & kFlowControlMask;
  }

 private:
  std::uint16_t abr_ = 0;
};

}  // namespace softrnic::fabric
