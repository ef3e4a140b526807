#include "link/fault_link.h"

#include <algorithm>
#include <utility>

#include "base/reason_id.h"

namespace softrnic::link {

FaultLink::FaultLink(std::unique_ptr<Link> inner, const FaultPlan& plan)
    : inner_(std::move(inner)), plan_(plan), dice_(plan.seed) {}

void FaultLink::send(const ib::TxPacket& packet, TimePoint now) {
  for_each_packet(packet, segmenter_, [&](const ib::TxPacket& part) { send_one(part, now); });
}

void FaultLink::send_one(const ib::TxPacket& packet, TimePoint now) {
  // Every packet draws the same number of times, so that one fault's chance does not shift the others' dice.
  const bool drop = dice_.roll() < plan_.drop;
  const bool duplicate = dice_.roll() < plan_.duplicate;
  const bool reorder = dice_.roll() < plan_.reorder;
  const bool corrupt = dice_.roll() < plan_.corrupt;
  const auto bit = static_cast<std::uint32_t>(dice_.draw());
  const unsigned overtakers = 1 + static_cast<unsigned>(dice_.draw() % kReorderDepth);
  if (drop) {
    dropped_.push_back(packet.headers.bth.destination);
    return;
  }
  if (reorder) {
    hold(packet, now + plan_.delay + kReorderTime, overtakers, corrupt, bit);
  } else {
    mistreat(packet, corrupt, bit, now);
  }
  if (duplicate) mistreat(packet, false, 0, now);
  if (plan_.reorder > 0) release_due(now);
}

void FaultLink::send_damaged(const ib::TxPacket& packet, std::uint32_t bit, TimePoint now) {
  mistreat(packet, true, bit, now);
}

void FaultLink::mistreat(const ib::TxPacket& packet, bool damaged, std::uint32_t bit, TimePoint now) {
  if (plan_.delay > Duration::zero()) {
    hold(packet, now + plan_.delay, 0, damaged, bit);
  } else {
    pass(packet, damaged, bit, now);
  }
}

void FaultLink::hold(const ib::TxPacket& packet, TimePoint due, unsigned overtakers, bool damaged,
                     std::uint32_t bit) {
  auto held = std::make_unique<Held>();
  held->path = *packet.path;
  held->packet = packet;
  held->packet.path = &held->path;
  held->payload.reserve(packet.payload_bytes);
  for (std::size_t i = 0; i < packet.fragment_count; ++i) {
    const ib::Fragment& fragment = packet.fragments[i];
    held->payload.insert(held->payload.end(), fragment.data, fragment.data + fragment.size);
  }
  held->packet.fragment_count = held->payload.empty() ? 0 : 1;
  held->packet.fragments[0] = {held->payload.data(), held->payload.size()};
  held->due = due;
  held->overtakers = overtakers;
  held->damaged = damaged;
  held->bit = bit;
  held_.push_back(std::move(held));
}

void FaultLink::pass(const ib::TxPacket& packet, bool damaged, std::uint32_t bit, TimePoint now) {
  if (damaged) {
    inner_->send_damaged(packet, bit, now);
  } else {
    inner_->send(packet, now);
  }
  for (const auto& held : held_) {
    // Overtaken often enough: release_due() sends it before the batch is flushed.
    if (held->overtakers != 0 && --held->overtakers == 0) held->due = now;
  }
}

void FaultLink::release(std::size_t index, TimePoint now) {
  std::unique_ptr<Held> held = std::move(held_[index]);
  held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
  pass(held->packet, held->damaged, held->bit, now);
  leaving_.push_back(std::move(held));
}

// What a full network does not take stays: it would be lost, which is another fault.
void FaultLink::release_due(TimePoint now) {
  while (!inner_->is_full()) {
    const auto due =
        std::find_if(held_.begin(), held_.end(), [now](const auto& held) { return held->due <= now; });
    if (due == held_.end()) return;
    release(static_cast<std::size_t>(due - held_.begin()), now);
  }
}

void FaultLink::flush(TimePoint now) {
  release_due(now);
  inner_->flush(now);
  leaving_.clear();
}

std::size_t FaultLink::receive(Receiver& receiver, TimePoint now) {
  for (const Qpn qpn : dropped_) {
    receiver.dropped(because(ReasonId::drop_injected, qpn.value), ib::Counter::drop_injected, qpn, 1);
  }
  dropped_.clear();
  return inner_->receive(receiver, now);
}

TimePoint FaultLink::deadline() const {
  TimePoint earliest = dropped_.empty() ? inner_->deadline() : TimePoint::min();
  if (inner_->is_full()) return earliest;
  for (const auto& held : held_) earliest = std::min(earliest, held->due);
  return earliest;
}

}  // namespace softrnic::link
