// The completions of a batch, which programs see when its packets have left.
#include <new>

#include "engine/lane.h"
#include "rnic/completion_queue.h"

namespace softrnic::engine {

void Lane::deliver(rnic::CompletionQueue& cq, const ibv_wc& wc, bool solicited) {
  if (unexpected_.any_starving() && (wc.opcode & IBV_WC_RECV) != 0) {
    if (QpSlot* slot = qps_.find(Qpn(wc.qp_num))) unexpected_.fed(*slot);
  }
  if (sink_ != nullptr && sink_->cq == &cq && sink_->next != sink_->end) {
    *sink_->next++ = wc;
    return;
  }
  // Outside a batch nobody is owed anything for a request that is done.
  if (!in_batch_ && (wc.opcode & IBV_WC_RECV) == 0 && completions_.empty() && cq.push(wc, solicited)) return;
  const Completion completion{&cq, wc, solicited};
  try {
    completions_.push_back(completion);
  } catch (const std::bad_alloc&) {  // better too early than not at all
    publish();
    publish(completion);
  }
}

// Completions that come later than others of this lane which lie in the queue must not overtake
// them: so at once or never.
void Lane::open_sink(rnic::CompletionSink& sink) {
  if (sink.cq != nullptr && sink.cq->may_pass()) sink_ = &sink;
}

void Lane::discard(rnic::QueuePair& qp) {
  scheduler_.remove(qp);
  if (QpSlot* const slot = qps_.find(qp.qpn())) unexpected_.forget(*slot);
  const std::uint32_t number = qp.qpn().value;
  std::erase_if(completions_,
                [number](const Completion& completion) { return completion.wc.qp_num == number; });
}

// A QP that loses one delivers more: all that it flushes. deliver() may come back here for want of memory.
void Lane::publish() {
  while (published_ < completions_.size()) {
    const Completion next = completions_[published_++];
    publish(next);
  }
  completions_.clear();
  published_ = 0;
}

void Lane::publish(const Completion& completion) {
  if (completion.cq->push(completion.wc, completion.solicited)) return;
  const QpSlot* slot = qps_.find(Qpn(completion.wc.qp_num));
  if (slot == nullptr) return;
  slot->qp->completion_lost(*completion.cq, completion.wc.wr_id);
  touch(*slot->qp);
}

}  // namespace softrnic::engine
