#include "engine/eager_ack_watch.h"

namespace softrnic::engine {

void EagerAckWatch::forget(QpSlot& slot) {
  if (!slot.awaits_acks) return;
  slot.awaits_acks = false;
  std::erase(awaiting_, &slot);
  watch();
}

bool EagerAckWatch::any_has_come() const {
  return std::any_of(awaiting_.begin(), awaiting_.end(), [this](const QpSlot* slot) {
    return word_of(*slot).word.load(std::memory_order_acquire) != slot->ack_seen;
  });
}

void EagerAckWatch::abandon() {
  awaiting_.clear();
  watch();
}

}  // namespace softrnic::engine
