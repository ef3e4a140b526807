// Packets of UC and UD that find no receive posted: they are held for a while (unexpected_packets.h), and
// those that send many are told to wait.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/local_addresses.h"
#include "engine/qp_table.h"
#include "rnic/queue_pair.h"
#include "samehost/direct_layout.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::engine {

/// Those of a lane. Not thread-safe: the lane's lock guards it.
class ReceiveHold {
 public:
  /// How often it is looked for receives, which nobody announces.
  static constexpr Duration kTryAgain = std::chrono::microseconds(100);

  /// `capacity`: bytes of memory. `addresses` outlive the hold.
  ReceiveHold(std::size_t capacity, const LocalAddresses& addresses)
      : packets_(capacity), addresses_(addresses) {}

  /// Whether a packet is to be handed over at once; else keep() it.
  bool is_expected(QpSlot& slot, const ib::RxPacket& packet, TimePoint now) {
    return packets_.is_expected(slot, now, [&] { return slot.qp->lacks_receive(packet); });
  }
  /// A reason: it is lost. Throws std::bad_alloc.
  Expected<void, Reason> keep(QpSlot& slot, const ib::RxPacket& packet);
  /// Hands over, by hand_over(slot, packet), what has its receive now or has waited too long.
  template <typename HandOver>
  void look_again(TimePoint now, HandOver&& hand_over) {
    more_ = packets_.look_again(
        now, [](QpSlot& slot, const ib::RxPacket& packet) { return slot.qp->lacks_receive(packet); },
        hand_over);
  }
  /// See UnexpectedPackets.
  void fed(QpSlot& slot) { packets_.fed(slot); }
  void forget(QpSlot& slot) { packets_.forget(slot); }
  bool any_starving() const { return packets_.any_starving(); }
  bool any() const { return packets_.any(); }
  /// Some of them have found their receives, and are to be handed over at once.
  bool more() const { return more_; }

  /// Whether a lane at that address is to send no more UC and UD for the present.
  bool throttles(const wire::Gid& address, std::uint8_t lane) const {
    return packets_.throttles(sender(address, lane));
  }
  /// The same for a lane of this host.
  bool throttles(std::uint8_t lane) const { return packets_.throttles(lane); }

 private:
  std::uint16_t sender(const wire::Gid& address, std::uint8_t lane) const;

  bool more_ = false;  ///< stands by what every batch looks at, at the beginning of:
  UnexpectedPacketsOf<QpSlot> packets_;
  const LocalAddresses& addresses_;
};

}  // namespace softrnic::engine
