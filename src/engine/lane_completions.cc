// What others see of a lane: programs its completions, when the packets of a batch have left; the control
// page and local peers its queue pairs.
#include <mutex>

#include "base/hot_path.h"
#include "engine/lane.h"

namespace softrnic::engine {

namespace {

/// A work queue's number is no QPN (rnic::LanePort::attach).
bool is_of_queue_pair(const ibv_wc& wc) { return wc.qp_num >> 24 == 0; }

}  // namespace

void Lane::deliver(rnic::CompletionQueue& cq, const ibv_wc& wc, bool solicited) {
  const bool receive = (wc.opcode & IBV_WC_RECV) != 0;
  if (receive && hold_.any_starving() && is_of_queue_pair(wc)) {
    if (QpSlot* slot = qps_.find(Qpn(wc.qp_num))) hold_.fed(*slot);
  }
  const CompletionBatch::Completion completion{&cq, wc, solicited};
  if (completions_.add(completion, !clock_.in_batch() && !receive)) return;
  publish();  // better too early than not at all
  if (!completions_.push(completion)) lost(completion);
}

void Lane::forget(rnic::CompletionQueue& cq) {
  const std::lock_guard lock(mutex_);
  event_looks_.forget(cq);
}

void Lane::discard(rnic::QueuePair& qp) {
  scheduler_.remove(qp);
  if (QpSlot* const slot = qps_.find(qp.qpn())) hold_.forget(*slot);
  completions_.discard(qp.qpn());
}

void Lane::publish() {
  if (completions_.empty()) return;
  while (const auto completion = completions_.publish()) lost(*completion);
}

// A QP that loses one delivers more: all that it flushes.
SOFTRNIC_OUT_OF_LINE void Lane::lost(const CompletionBatch::Completion& completion) {
  const QpSlot* slot = is_of_queue_pair(completion.wc) ? qps_.find(Qpn(completion.wc.qp_num)) : nullptr;
  if (slot == nullptr) return;
  slot->qp->completion_lost(*completion.cq, completion.wc.wr_id);
  touch(*slot->qp);
}

SOFTRNIC_OUT_OF_LINE void Lane::changed(rnic::QueuePair& qp) {
  peers_.publish(qp);
  QpSlot* const slot = qps_.find(qp.qpn());
  if (slot == nullptr) return;
  slot->route = {};
  if (qp.state() <= IBV_QPS_RTR) eager_acks_.begin_connection(*slot);
  outdate_row(*slot);
}

void Lane::outdate_row(rnic::QueuePair& qp) {
  if (QpSlot* const slot = qps_.find(qp.qpn())) outdate_row(*slot);
}

void Lane::outdate_row(QpSlot& slot) {
  if (rows_.outdate(slot, clock_) && !clock_.in_batch()) arm(Duration::zero());
}

void Lane::write_rows() {
  rows_.write(qps_, [this](const rnic::QueuePair& qp) { return direct_state(qp); });
}

}  // namespace softrnic::engine
