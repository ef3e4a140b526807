#include "engine/qp_table.h"

namespace softrnic::engine {

/// QP0 and QP1 are the management QPs (IBTA 3.9.2) and are never handed out; 0xffffff means multicast.
bool QpTable::reserved(std::uint16_t index) const {
  return index == Qpn::kLaneIndex || (lane_ == 0 && index < 2) ||
         Qpn::of(lane_, index).value == Qpn::kMulticast;
}

std::optional<Qpn> QpTable::insert(rnic::QueuePair& qp) {
  for (std::size_t tried = 0; tried < kNumbers; ++tried) {
    const std::uint16_t index = order_.at(next_turn_++);
    if (reserved(index)) continue;
    std::unique_ptr<Group>& group = groups_[index / kGroup];
    if (group == nullptr) group = std::make_unique<Group>();
    QpSlot& slot = (*group)[index % kGroup];
    if (slot.qp != nullptr) continue;
    slot = QpSlot{};
    slot.qp = &qp;
    ++size_;
    return Qpn::of(lane_, index);
  }
  return std::nullopt;
}

void QpTable::erase(Qpn qpn) {
  if (QpSlot* slot = find(qpn)) {
    *slot = QpSlot{};
    --size_;
  }
}

}  // namespace softrnic::engine
