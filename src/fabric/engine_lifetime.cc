// Engine: packets that have waited too long in a switch (IBTA 18.2.5.4).
#include <algorithm>

#include "fabric/engine.h"

namespace softrnic::fabric {
namespace {

/// How long a VL stays stalled, in head-of-queue lifetimes.
constexpr int kStalledLifetimes = 8;

}  // namespace

TimePoint Engine::deadline_at(const EnginePort& output, const Packet& packet, std::uint8_t vl) const {
  const EngineNode& node = nodes_[output.node.value];
  if (!node.is_switch() || !output.is_external() || vl == kManagementVl) return kNever;
  TimePoint deadline = kNever;
  if (output.hoq_life != Duration::max()) deadline = now_ + output.hoq_life;
  if (node.lifetime != Duration::max()) deadline = std::min(deadline, packet.arrived + node.lifetime);
  return deadline;
}

void Engine::watch(EnginePort& output, TimePoint deadline) {
  if (deadline >= output.lifetime_look) return;
  output.lifetime_look = deadline;
  events_.push({.time = deadline, .port = &output, .kind = EventKind::lifetimes});
}

// A lifetime that is set ends waits that last already: the cure of a deadlock.
void Engine::renew_deadlines(EnginePort& output) {
  for (const OutputVl& lane : output.out) {
    for (Bid* bid = lane.bids.front(); bid != nullptr; bid = bid->next) {
      bid->deadline = deadline_at(output, *bid->from->head, bid->vl);
      if (bid->deadline != kNever) watch(output, bid->deadline);
    }
  }
}

void Engine::drop_expired(EnginePort& output) {
  output.lifetime_look = kNever;
  TimePoint next = kNever;
  for (std::uint8_t vl = 0; vl < kDataVls; ++vl) next = std::min(next, drop_expired(output, vl));
  if (next != kNever) watch(output, next);
}

/// The deadline of the first bid that stays.
TimePoint Engine::drop_expired(EnginePort& output, std::uint8_t vl) {
  TimePoint first = kNever;
  const OutputVl& lane = output.out[vl];
  Bid* next = nullptr;
  for (Bid* bid = lane.bids.front(); bid != nullptr; bid = next) {
    next = bid->next;
    if (bid->deadline > now_ && lane.stalled_until <= now_) {
      first = std::min(first, bid->deadline);
      continue;
    }
    count_expired(output, *bid);
    unqueue(bid);
    drop(bid);
  }
  return first;
}

void Engine::count_expired(EnginePort& output, const Bid& bid) {
  const Duration lifetime = nodes_[output.node.value].lifetime;
  if (lifetime != Duration::max() && bid.from->head->arrived + lifetime <= now_) {
    ++output.counters.switch_lifetime_discards;
    return;
  }
  ++output.counters.hoq_lifetime_discards;
  OutputVl& lane = output.out[bid.vl];
  const std::uint8_t limit = output.attributes.vl_stall_count;
  if (limit == 0 || lane.stalled_until > now_ || ++lane.drops_in_row < limit) return;
  lane.drops_in_row = 0;
  lane.stalled_until = now_ + kStalledLifetimes * output.hoq_life;
}

}  // namespace softrnic::fabric
