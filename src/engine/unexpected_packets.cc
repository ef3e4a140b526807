#include "engine/unexpected_packets.h"

#include "base/reason_id.h"
#include "transport/ib/ordered_copy.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::engine {

bool UnexpectedBounds::may_wait(UnexpectedQueue& queue, TimePoint now) {
  if (queue.since_ == kNever) {
    queue.since_ = now;
    ++starving_;
  }
  return now - queue.since_ < kPatience;
}

void UnexpectedBounds::fed(UnexpectedQueue& queue) {
  if (std::exchange(queue.since_, kNever) != kNever) --starving_;
}

Expected<UnexpectedBounds::Packets, Reason> UnexpectedBounds::copy_of(const UnexpectedQueue& queue,
                                                                      const ib::RxPacket& packet,
                                                                      std::uint16_t sender) const {
  const std::size_t payload = packet.payload_bytes();
  const std::size_t bytes = kOverhead + payload;
  if (queue.bytes_ + bytes > capacity_ - bytes_)
    return Unexpected{because(ReasonId::drop_unexpected_full, queue.bytes_, bytes_, capacity_)};
  Packets added;
  UnexpectedQueue::Packet& kept = added.emplace_back();
  kept.payload.reset(new std::byte[payload]);
  if (!ib::copy(packet.payload(), 0, kept.payload.get(), payload))
    return Unexpected{because(ReasonId::payload_gone, payload)};
  kept.rx = packet;
  kept.rx.packet.payload = {kept.payload.get(), payload};
  kept.rx.rendezvous = nullptr;
  kept.rx.rendezvous_bytes = kept.rx.rendezvous_offset = 0;
  kept.bytes = bytes;
  kept.sender = sender;
  return added;
}

void UnexpectedBounds::append(UnexpectedQueue& queue, Packets& copied) {
  const std::size_t bytes = copied.front().bytes;
  queue.bytes_ += bytes;
  bytes_ += bytes;
  ++held_of_[copied.front().sender];
  queue.packets_.splice(queue.packets_.end(), copied);
}

UnexpectedBounds::Packets UnexpectedBounds::take_first(UnexpectedQueue& queue) {
  Packets first;
  first.splice(first.end(), queue.packets_, queue.packets_.begin());
  queue.bytes_ -= first.front().bytes;
  bytes_ -= first.front().bytes;
  --held_of_[first.front().sender];
  return first;
}

}  // namespace softrnic::engine
