#include "samehost/ring_link.h"

#include "samehost/doorbell.h"

namespace softrnic::samehost {

bool RingLink::has_packet(TimePoint now) const {
  if (inbound_.have_packet()) return true;
  if (!activity_.polled(now)) return below_->has_packet(now);
  if (!activity_.below_is_due(now)) return false;
  const bool below = below_->has_packet(now);
  if (below) {
    activity_.poll_below_next();
  } else {
    activity_.polled_below(now);
  }
  return below;
}

std::size_t RingLink::receive(link::Receiver& receiver, TimePoint now) {
  outbound_.report(receiver);
  const std::size_t packets = inbound_.receive(receiver);
  if (packets != 0) activity_.had_packets(now);
  if (!activity_.looks_below(now)) return packets;
  activity_.polled_below(now);
  return packets + below_->receive(receiver, now);
}

std::size_t RingLink::receive_eagers(link::Receiver& receiver, std::size_t most) {
  const std::size_t eagers = inbound_.receive_eagers(receiver, most);
  if (eagers != 0) activity_.note_traffic();
  return eagers;
}

// ---- sleep

bool RingLink::arm_doorbell() {
  inbox_.asleep.exchange(1, std::memory_order_acq_rel);
  if (!inbound_.have_packet()) return true;
  disarm_doorbell();
  return false;
}

// Who has cleared `asleep` rings a moment later, and this side may be awake by then: a ring that nobody takes
// would end every sleep to come.
void RingLink::disarm_doorbell() {
  if (inbox_.asleep.exchange(0, std::memory_order_acq_rel) == 0) ++rings_due_;
  if (rings_due_ != 0) rings_due_ -= take_rings(doorbell_, rings_due_);
}

}  // namespace softrnic::samehost
