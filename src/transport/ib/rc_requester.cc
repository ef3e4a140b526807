// The RC requester as a whole: how it starts, drains and ends, and what always holds of it.
#include "transport/ib/rc_requester.h"

#include <algorithm>

#include "transport/ib/outbound.h"

namespace softrnic::ib {

void RcRequester::start() {
  una_ = next_ = top_ = assigned_ = Psn::first(context_.attributes.send_psn);
  recovery_.start(context_.attributes);
}

void RcRequester::reset() {
  uncharge();
  queue_.clear();
  cursor_ = begun_ = 0;
  una_ = next_ = assigned_ = top_;
  gather_cursor_ = scatter_cursor_ = {};
  ack_requests_.requested();
  direct_.reset();
  recovery_.reset();
  run_ = Run::running;
}

void RcRequester::flush() {
  uncharge();
  recovery_.stop();
  direct_.reset();
  flush_all(context_.host, queue_);
  cursor_ = begun_ = queue_.head();
  una_ = next_ = assigned_ = top_;
  run_ = Run::failed;
}

void RcRequester::drain() {
  if (failed()) return;
  run_ = Run::draining;
  check_drained();
}

void RcRequester::resume() {
  if (!failed()) run_ = Run::running;
}

void RcRequester::check_drained() {
  if (run_ != Run::draining || queue_.head() != begun_ || direct_.under_way()) return;
  run_ = Run::drained;
  context_.host.event(QpEvent::send_queue_drained);
}

const char* RcRequester::broken_invariant() const {
  if (!(una_ <= next_ && next_ <= top_ && top_ <= assigned_))
    return "not in order: una <= next <= top <= assigned";
  if (const char* broken = broken_charge()) return broken;
  if (failed()) return nullptr;
  if (const char* broken = broken_queue()) return broken;
  return recovery_.broken_invariant(una_, next_, top_);
}

// The marks of the send queue and those of the PSNs belong to each other.
const char* RcRequester::broken_queue() const {
  const SendQueue::Index cursor = cursor_ - queue_.head();
  const SendQueue::Index begun = begun_ - queue_.head();
  if (!(cursor <= begun && begun <= queue_.size())) return "not in order: head <= cursor <= begun <= tail";
  const auto contains = [](const SendEntry& entry, Psn psn) { return entry.first <= psn && psn < entry.end; };
  if (begun == 0 ? una_ != assigned_ : !contains(queue_.at(queue_.head()), una_))
    return "una is not in the front work request";
  if (cursor == begun ? next_ != assigned_ : !contains(queue_.at(cursor_), next_))
    return "next is not in the work request at the cursor";
  if (direct_.under_way() && (begun != 0 || queue_.empty())) return "a message goes both ways";
  if (run_ == Run::drained && begun != 0) return "drained with a work request that has begun";
  return nullptr;
}

// What is charged was sent, and the window knows of it.
const char* RcRequester::broken_charge() const {
  if (una_ == next_ && reads_out_ != 0) return "READs or atomics are out and nothing is in flight";
  if (reads_out_ > context_.attributes.max_reads_out) return "more READs and atomics are out than agreed";
  if (charge_.bytes() == 0) return nullptr;
  std::uint64_t cost = 0;
  for (SendQueue::Index i = queue_.head(); i != begun_ && queue_.at(i).first < next_; ++i) {
    const SendEntry& entry = queue_.at(i);
    cost += cost_of(entry, std::max(entry.first, una_), std::min(entry.end, next_));
  }
  return charge_.broken_invariant(cost);
}

}  // namespace softrnic::ib
