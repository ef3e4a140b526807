// What the control page shows of a lane.
#include "base/clock.h"
#include "engine/lane.h"

namespace softrnic::engine {
namespace {

constexpr Duration kRowInterval = std::chrono::milliseconds(100);  ///< how stale the control page may be

}  // namespace

void Lane::count(ib::Counter counter, std::uint64_t by) {
  if (ib::Total* const all = totals()) ib::add(all[static_cast<std::size_t>(counter)], by);
}

void Lane::changed(rnic::QueuePair& qp) {
  direct_.show(qp);
  QpSlot* const slot = qps_.find(qp.qpn());
  if (slot != nullptr) slot->route = {};
  if (slot != nullptr && qp.state() <= IBV_QPS_RTR) eager_acks_.begin_connection(*slot);
  row_is_old(qp);
}

void Lane::row_is_old(rnic::QueuePair& qp) {
  if (QpSlot* const slot = qps_.find(qp.qpn())) row_is_old(*slot);
}

void Lane::row_is_old(QpSlot& slot) {
  if (slot.dirty || slot.row == 0) return;
  slot.dirty = true;
  dirty_.push_back(slot.qp->qpn());
  if (rows_due_ != kNever) return;
  rows_due_ = clock_.now() + kRowInterval;
  if (!clock_.in_batch()) arm(Duration::zero());
}

void Lane::write_rows() {
  for (const Qpn qpn : dirty_) {
    QpSlot* slot = qps_.find(qpn);
    if (slot == nullptr || !slot->dirty) continue;
    slot->dirty = false;
    page_.write_row(slot->row, *slot->qp, static_cast<std::uint8_t>(direct_state(*slot->qp)));
  }
  dirty_.clear();
  rows_due_ = kNever;
}

}  // namespace softrnic::engine
