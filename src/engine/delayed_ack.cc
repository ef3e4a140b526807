#include "engine/delayed_ack.h"

#include <utility>

#include "rnic/queue_pair.h"
#include "transport/ib/rx_packet.h"

namespace softrnic::engine {
namespace {

/// A WRITE of one packet that raises no completion here, and whose sender waits for the ACK.
bool is_short_write(const ib::RxPacket& rx) {
  const wire::OpcodeInfo& info = *rx.packet.info;
  return info.operation == wire::Operation::write && rx.packets == 1 && info.starts() && info.ends() &&
         !info.has(wire::kImmDt) && rx.packet.headers.bth.ack_request;
}

}  // namespace

QpSlot* DelayedAck::written(QpSlot& slot, const ib::RxPacket& packet, TimePoint now) {
  if (!is_short_write(packet) || !slot.turns.spoke(now)) return nullptr;
  QpSlot* const other = holding_ != &slot ? release() : nullptr;
  holding_ = &slot;
  due_ = now + TurnPredictor::kSoon;
  slot.qp->endpoint().delay_ack();
  return other;
}

QpSlot* DelayedAck::posted(QpSlot& slot, TimePoint now) {
  slot.turns.answered(now);
  return &slot == holding_ ? release() : nullptr;
}

QpSlot* DelayedAck::release() {
  QpSlot* const released = std::exchange(holding_, nullptr);
  due_ = kNever;
  if (released != nullptr) released->qp->endpoint().send_delayed_ack();
  return released;
}

}  // namespace softrnic::engine
