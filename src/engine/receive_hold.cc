#include "engine/receive_hold.h"

#include "base/lane_limits.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::engine {

Expected<void, Reason> ReceiveHold::keep(QpSlot& slot, const ib::RxPacket& packet) {
  const bool datagram = packet.packet.info->service == wire::Service::ud;
  const Qpn from = datagram ? packet.packet.headers.deth.source : slot.qp->transport_attributes().remote;
  return packets_.keep(slot, packet, sender(packet.source, from.lane()));
}

// Of another host all lanes are one sender, and hosts whose addresses end alike: whom that
// throttles too loses nothing.
std::uint16_t ReceiveHold::sender(const wire::Gid& address, std::uint8_t lane) const {
  static_assert(UnexpectedPackets::kSenders == 2 * kLaneNumbers);
  if (addresses_.has(address)) return lane;
  return static_cast<std::uint16_t>(kLaneNumbers + std::to_integer<unsigned>(address.raw.back()));
}

}  // namespace softrnic::engine
