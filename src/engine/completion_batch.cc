#include "engine/completion_batch.h"

#include <new>

namespace softrnic::engine {

bool CompletionBatch::add(const Completion& completion, bool at_once) {
  rnic::CompletionQueue& cq = *completion.cq;
  if (sink_ != nullptr && sink_->cq == &cq && sink_->next != sink_->end) {
    *sink_->next++ = completion.wc;
    return true;
  }
  if (at_once && waiting_.empty() && push(completion)) return true;
  try {
    waiting_.push_back(completion);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

std::optional<CompletionBatch::Completion> CompletionBatch::publish() {
  while (published_ < waiting_.size()) {
    const Completion next = waiting_[published_++];
    if (!push(next)) return next;
  }
  waiting_.clear();
  published_ = 0;
  return std::nullopt;
}

bool CompletionBatch::push(const Completion& completion) {
  const rnic::Pushed pushed = completion.cq->push(completion.wc, completion.solicited);
  if (pushed == rnic::Pushed::event_waits) looks_.enter(*completion.cq);
  return pushed != rnic::Pushed::lost;
}

void CompletionBatch::discard(Qpn qpn) {
  std::erase_if(waiting_, [qpn](const Completion& completion) { return completion.wc.qp_num == qpn.value; });
}

}  // namespace softrnic::engine
