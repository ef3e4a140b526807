// Packets of UC and UD that find no receive posted: see unexpected_packets.h.
#include "engine/lane.h"

namespace softrnic::engine {

bool Lane::is_expected(QpSlot& slot, const ib::RxPacket& packet) {
  return unexpected_.is_expected(slot, clock_.batch_time(), [&] { return slot.qp->lacks_receive(packet); });
}

void Lane::keep(QpSlot& slot, const ib::RxPacket& packet) {
  const bool datagram = packet.packet.info->service == wire::Service::ud;
  const Qpn from = datagram ? packet.packet.headers.deth.source : slot.qp->transport_attributes().remote;
  const auto kept = unexpected_.keep(slot, packet, sender(packet.source, from.lane()));
  if (!kept) dropped(kept.error(), ib::Counter::drop_no_receive, slot.qp->qpn(), packet.packets);
}

// Of another host all lanes are one sender, and hosts whose addresses end alike: whom that
// throttles too loses nothing.
std::uint16_t Lane::sender(const wire::Gid& address, std::uint8_t lane) const {
  static_assert(UnexpectedPackets::kSenders == 2 * samehost::kLocalLanes);
  if (addresses_.has(address)) return lane;
  return static_cast<std::uint16_t>(samehost::kLocalLanes + std::to_integer<unsigned>(address.raw.back()));
}

void Lane::look_after_unexpected() {
  const auto slot_of = [](UnexpectedQueue& queue) -> QpSlot& { return static_cast<QpSlot&>(queue); };
  more_expected_ = unexpected_.look_again(
      clock_.batch_time(),
      [&](UnexpectedQueue& queue, const ib::RxPacket& packet) {
        return slot_of(queue).qp->lacks_receive(packet);
      },
      [&](UnexpectedQueue& queue, const ib::RxPacket& packet) { hand_over(slot_of(queue), packet); });
  if (inbox_ == nullptr) return;
  for (std::size_t lane = 0; lane < samehost::kLocalLanes; ++lane)
    inbox_->throttle(static_cast<std::uint8_t>(lane),
                     unexpected_.throttles(static_cast<std::uint16_t>(lane)));
}

}  // namespace softrnic::engine
