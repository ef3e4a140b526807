// When an RC requester sends without packets (Host::direct), and when by packets.
//
// A message may go direct only when everything before it was acknowledged; with a queue that never runs empty
// none ever would. So a work request waits for the ACKs of those before it when it is long, or one of many
// that could all go direct; else the wait would cost more than it brings. Where waiting was in vain, the next
// ones do not wait.
#pragma once

#include <cstdint>
#include <utility>

#include "transport/ib/types.h"

namespace softrnic::ib {

class DirectTurns {
 public:
  static constexpr std::uint32_t kWorthWaiting = 16 * 1024;  ///< bytes: through a socket longer than an ACK
  static constexpr std::uint32_t kBackOff = 64;              ///< work requests that do not wait

  static bool one_sided(SendOp op) { return op == SendOp::write || is_answered(op); }

  /// Everything that was posted is forgotten.
  void reset() { *this = {}; }

  /// Bytes of the front work request that went so far; else it has gone nowhere, or by packets.
  std::uint32_t moved_bytes() const { return bytes_; }
  bool under_way() const { return bytes_ > 0; }

  /// Whether a work request that could begin by packets waits for what is before it, if the direct path is
  /// open.
  bool waits(const SendWqe& wqe) const {
    if (backs_off() || !one_sided(wqe.op)) return false;
    return last_one_sided_ || wqe.length >= kWorthWaiting;
  }
  bool backs_off() const { return back_off_ > 0; }

  /// `bytes` of a work request went. True: with its last ones.
  bool moved(const SendWqe& wqe, std::uint32_t bytes) {
    bytes_ += bytes;
    if (bytes_ < wqe.length) return false;
    bytes_ = back_off_ = 0;
    return true;
  }
  /// A work request begins by packets.
  void began_by_packets(const SendWqe& wqe) {
    last_one_sided_ = one_sided(wqe.op);
    if (back_off_ > 0) --back_off_;
  }
  /// The direct path did not take it, or no more of it: it goes by packets, from its beginning.
  void refused(const SendWqe& wqe) {
    bytes_ = 0;
    if (one_sided(wqe.op)) back_off_ = kBackOff;
  }

  /// The direct path was asked when the work request was posted. Once it has refused, it is not asked again.
  void asked_at_once(bool went) { refused_at_once_ = !went; }
  bool take_refusal() { return std::exchange(refused_at_once_, false); }

 private:
  std::uint32_t bytes_ = 0;
  std::uint32_t back_off_ = 0;    ///< work requests to begin before one waits again
  bool refused_at_once_ = false;  ///< and transmit() has not come by since
  bool last_one_sided_ = false;   ///< the last work request that began by packets
};

}  // namespace softrnic::ib
