#include "transport/ib/send_sequence.h"

namespace softrnic::ib {

void SendSequence::flushed() {
  cursor_ = begun_ = queue_.head();
  una_ = next_ = assigned_ = top_;
  gather_cursor_ = scatter_cursor_ = {};
}

void SendSequence::reset() {
  queue_.clear();
  flushed();
}

const char* SendSequence::broken_invariant(bool whole) const {
  if (!(una_ <= next_ && next_ <= top_ && top_ <= assigned_))
    return "not in order: una <= next <= top <= assigned";
  return whole ? broken_queue() : nullptr;
}

// The marks of the send queue and those of the PSNs belong to each other.
const char* SendSequence::broken_queue() const {
  const SendQueue::Index cursor = cursor_ - queue_.head();
  const SendQueue::Index begun = begun_ - queue_.head();
  if (!(cursor <= begun && begun <= queue_.size())) return "not in order: head <= cursor <= begun <= tail";
  const auto contains = [](const SendEntry& entry, Psn psn) { return entry.first <= psn && psn < entry.end; };
  if (begun == 0 ? una_ != assigned_ : !contains(queue_.at(queue_.head()), una_))
    return "una is not in the front work request";
  if (cursor == begun ? next_ != assigned_ : !contains(queue_.at(cursor_), next_))
    return "next is not in the work request at the cursor";
  return nullptr;
}

}  // namespace softrnic::ib
