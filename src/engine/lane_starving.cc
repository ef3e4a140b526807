// Packets of UC and UD that find no receive posted: they wait for one, as on an adapter's buffers.
#include <utility>

#include "engine/lane.h"

namespace softrnic::engine {
namespace {

/// As long as a program may be off the processor on a busy machine.
constexpr Duration kPatience = std::chrono::milliseconds(100);

}  // namespace

// The packets behind the one that waits stay in the socket, where their senders see them. Only the first packet that finds
// no receive may hold up the lane: a queue pair that got none in all the time drops what comes until it gets one.
bool Lane::must_wait(QpSlot& slot, const ib::RxPacket& packet) {
  if (!slot.qp->lacks_receive(packet)) return false;
  if (slot.starved_since == kNever) {
    slot.starved_since = now_;
    ++starving_;
  }
  return now_ - slot.starved_since < kPatience;
}

void Lane::fed(QpSlot& slot) {
  if (std::exchange(slot.starved_since, kNever) != kNever) --starving_;
}

}  // namespace softrnic::engine
