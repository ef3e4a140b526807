// Which packets of an RC requester request an ACK.
//
// IBTA 9.7.3 leaves that to the requester. Each ACK costs both ends a datagram and a wake-up. But the window
// opens again in time only if the ACK for a half of it is on its way while the other half is sent, and
// whoever fills it while no ACK is to come that opens it beyond a silly one would wait for a probe. The end
// of a message requests one in any case: where it is near, it serves for both.
#pragma once

#include <algorithm>
#include <cstdint>

#include "transport/ib/path_window.h"

namespace softrnic::ib {

class AckRequests {
 public:
  static constexpr std::uint16_t kPackets = 64;  ///< between two requests, at most

  /// A packet that leaves. What bytes cost includes headers, as a window counts them.
  struct Packet {
    std::uint32_t cost = 0;
    std::uint32_t rest = 0;     ///< cost of what is left of its request; 0: it is the last of it
    std::uint32_t charged = 0;  ///< to the window, by the requester, with this packet
  };
  /// Whether it is to request an ACK.
  bool sent(const Packet& packet, const PathWindow* window) {
    bytes_ += packet.cost;
    ++packets_;
    if (!must(packet, window)) return false;
    requested();
    return true;
  }
  /// An ACK was requested for another reason, or what had been sent is sent again.
  void requested() { bytes_ = packets_ = 0; }

 private:
  bool must(const Packet& packet, const PathWindow* window) const {
    if (packet.rest == 0 || packets_ >= kPackets) return true;
    if (window == nullptr) return false;
    if (bytes_ >= window->window() / 2 && packet.rest > window->window() / 8) return true;
    const std::uint32_t awaited = packet.charged - std::min(packet.charged, bytes_);
    return !window->has_much_room() && awaited < window->silly_below();
  }

  std::uint32_t bytes_ = 0;  ///< sent since an ACK was last requested
  std::uint16_t packets_ = 0;
};

}  // namespace softrnic::ib
