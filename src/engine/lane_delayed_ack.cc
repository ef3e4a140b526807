// ACKs that wait for what the program answers, and leave along with it: one packet and one wake-up less at
// both ends. Only where it takes turns with its peer by short WRITEs, which tell nobody but by memory: see
// delayed_ack_predictor.h. The ACK is shorter than the answer, so that one datagram carries both
// (UDP_SEGMENT), and the peer finds both when it polls for the ACK.
#include "engine/lane.h"

namespace softrnic::engine {
namespace {

/// A WRITE of one packet that raises no completion here, and whose sender waits for the ACK.
bool is_short_write(const ib::RxPacket& rx) {
  const wire::OpcodeInfo& info = *rx.packet.info;
  return info.operation == wire::Operation::write && rx.packets == 1 && info.starts() && info.ends() &&
         !info.has(wire::kImmDt) && rx.packet.headers.bth.ack_request;
}

}  // namespace

void Lane::written(QpSlot& slot, const ib::RxPacket& packet) {
  if (!is_short_write(packet) || !slot.delayed_ack.written(now_)) return;
  if (holding_ != &slot) send_delayed_ack();
  holding_ = &slot;
  held_until_ = now_ + DelayedAckPredictor::kSoon;
  slot.qp->endpoint().delay_ack();
}

void Lane::posted(rnic::QueuePair& qp) {
  QpSlot* const slot = qps_.find(qp.qpn());
  if (slot == nullptr) return;
  slot->delayed_ack.posted(now_);
  if (slot == holding_) send_delayed_ack();
}

void Lane::send_delayed_ack() {
  if (holding_ == nullptr) return;
  holding_->qp->endpoint().send_delayed_ack();
  touch(*holding_->qp);
  holding_ = nullptr;
  held_until_ = kNever;
}

}  // namespace softrnic::engine
