#include "rnic/receive_source.h"

#include <utility>

#include "base/reason_id.h"
#include "rnic/shared_receive_queue.h"
#include "rnic/work_requests.h"
#include "rnic/xrc_domain.h"

namespace softrnic::rnic {

// IBTA 10.2.3: receives of an SRQ use the keys of its protection domain, which may be another than the queue
// pair's.
ReceiveSource::ReceiveSource(const ProtectionDomain* pd, SharedReceiveQueue* srq, CompletionQueue* cq,
                             XrcDomain* domain)
    : domain_(domain), from_{srq, srq != nullptr ? &srq->pd() : pd, cq} {
  if (matches_tags()) from_.cq = srq->cq();  // all that it receives goes there
}

bool ReceiveSource::matches_tags() const { return from_.srq != nullptr && from_.srq->matches_tags(); }

ReceiveSource::From ReceiveSource::from(SharedReceiveQueue& srq) { return {&srq, &srq.pd(), srq.cq()}; }

const ib::RecvWqe* ReceiveSource::take() {
  if (selected_ != nullptr) from_ = from(*selected_);
  if (from_.srq != nullptr) {
    if (!from_.srq->take(taken_)) return nullptr;
    match_ = {};
  } else {
    if (queue_.size() == 0) return nullptr;
    taken_.take_from(queue_);
  }
  taken_out_ = true;
  return &taken_.wqe;
}

const ib::RecvWqe* ReceiveSource::take(const TagMessage& message, bool reads) {
  const auto match = from_.srq->take(message, reads, taken_);
  if (!match) return nullptr;
  match_ = *match;
  message_ = message;
  taken_out_ = true;
  return &taken_.wqe;
}

Expected<void, Failure> ReceiveSource::post(const ibv_recv_wr& wr) {
  auto ok = check_receive(wr, queue_.size() + (taken_out_ ? 1 : 0), queue_);
  if (ok) queue_.push(wr);
  return ok;
}

std::optional<std::uint64_t> ReceiveSource::flush_next() {
  if (queue_.size() == 0) return std::nullopt;
  const std::uint64_t wr_id = queue_.front().wr_id;
  queue_.pop();
  return wr_id;
}

void ReceiveSource::clear() {
  queue_.clear();
  taken_out_ = false;
}

Expected<void, Reason> ReceiveSource::select(std::uint32_t number) {
  if (selected_ != nullptr && selected_->srq_number() == number) return {};
  SharedReceiveQueue* const found = domain_ == nullptr ? nullptr : domain_->find(number);
  if (found == nullptr) return Unexpected{because(ReasonId::nak_xrc_srq, number)};
  selected_ = found;
  return {};
}

const ProtectionDomain* ReceiveSource::selected_pd() const {
  return selected_ != nullptr ? &selected_->pd() : nullptr;
}

bool ReceiveSource::forget(const SharedReceiveQueue& srq) {
  if (selected_ == &srq) selected_ = nullptr;
  return from_.srq == &srq && give_up_taken();
}

bool ReceiveSource::leave_domain() {
  domain_ = nullptr;
  selected_ = nullptr;
  return give_up_taken();
}

bool ReceiveSource::give_up_taken() {
  from_ = {};
  return std::exchange(taken_out_, false);
}

}  // namespace softrnic::rnic
