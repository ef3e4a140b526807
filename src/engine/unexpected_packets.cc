#include "engine/unexpected_packets.h"

#include <algorithm>

#include "transport/ib/ordered_copy.h"

namespace softrnic::engine {

bool UnexpectedPackets::may_wait(UnexpectedQueue& queue, TimePoint now) {
  if (queue.since_ == kNever) {
    queue.since_ = now;
    ++starving_;
  }
  return now - queue.since_ < kPatience;
}

void UnexpectedPackets::fed(UnexpectedQueue& queue) {
  if (std::exchange(queue.since_, kNever) != kNever) --starving_;
}

Expected<void, Reason> UnexpectedPackets::keep(UnexpectedQueue& queue, const ib::RxPacket& packet,
                                               std::uint16_t sender) {
  const std::size_t payload = packet.payload_bytes();
  const std::size_t bytes = kOverhead + payload;
  if (queue.bytes_ + bytes > capacity_ - bytes_)
    return Unexpected{because(ReasonId::drop_unexpected_full, queue.bytes_, bytes_, capacity_)};
  std::list<UnexpectedQueue::Packet> added;
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
  if (queue.packets_.empty()) queues_.push_back(&queue);
  queue.packets_.splice(queue.packets_.end(), added);
  queue.bytes_ += bytes;
  bytes_ += bytes;
  ++held_of_[sender];
  return {};
}

std::list<UnexpectedQueue::Packet> UnexpectedPackets::take_first(UnexpectedQueue& queue) {
  std::list<UnexpectedQueue::Packet> first;
  first.splice(first.end(), queue.packets_, queue.packets_.begin());
  queue.bytes_ -= first.front().bytes;
  bytes_ -= first.front().bytes;
  --held_of_[first.front().sender];
  return first;
}

void UnexpectedPackets::remove_from_turn() {
  queues_[turn_] = queues_.back();
  queues_.pop_back();
}

void UnexpectedPackets::forget(UnexpectedQueue& queue) {
  fed(queue);
  if (queue.packets_.empty()) return;
  while (!queue.packets_.empty()) take_first(queue);
  std::erase(queues_, &queue);
}

}  // namespace softrnic::engine
