#include "transport/ib/unacknowledged_endpoint.h"

#include "transport/ib/packet_builder.h"

namespace softrnic::ib {

SendSlot UnacknowledgedEndpoint::reserve() {
  if (queue_.empty()) queue_.clear();
  return queue_.reserve();
}

void UnacknowledgedEndpoint::expire(TimePoint now) {
  if (now >= send_at_) send_at_ = kNever;
}

bool UnacknowledgedEndpoint::may_leave(const TxPacket& packet, PathWindow* path, TimePoint now) {
  if (!turn_.granted)
    turn_ = path == nullptr ? PathWindow::Admission{now, true}
                            : path->admit(packet.payload_bytes + kPacketOverhead, now);
  const bool leaves = turn_.granted && turn_.when <= now;
  send_at_ = leaves ? kNever : turn_.when;
  if (leaves) turn_ = {};
  return leaves;
}

void UnacknowledgedEndpoint::flush_sends() {
  turn_ = {};
  send_at_ = kNever;
  flush_all(host_, queue_);
}

void UnacknowledgedEndpoint::forget_sends() {
  turn_ = {};
  send_at_ = kNever;
  queue_.clear();
}

}  // namespace softrnic::ib
