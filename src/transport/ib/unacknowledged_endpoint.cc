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
  const TimePoint when = path != nullptr ? path->admit(packet.payload_bytes + kPacketOverhead, now) : now;
  send_at_ = when > now ? when : kNever;
  return when <= now;
}

void UnacknowledgedEndpoint::flush_sends() {
  send_at_ = kNever;
  flush_all(host_, queue_);
}

void UnacknowledgedEndpoint::forget_sends() {
  send_at_ = kNever;
  queue_.clear();
}

}  // namespace softrnic::ib
