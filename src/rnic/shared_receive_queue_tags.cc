// A shared receive queue with tag matching: its operations, and what messages take of it.
#include <algorithm>
#include <cerrno>
#include <mutex>

#include "base/reason_id.h"
#include "base/reason_words.h"
#include "rnic/completion_queue.h"
#include "rnic/context.h"
#include "rnic/limits.h"
#include "rnic/protection_domain.h"
#include "rnic/refusal.h"
#include "rnic/shared_receive_queue.h"

namespace softrnic::rnic {
namespace {

Expected<void, Failure> check_cap(const ibv_tm_cap& cap) {
  if (cap.max_num_tags > limits::kMaxTags)
    return refused(EINVAL, ReasonId::bad_cap, cap.max_num_tags, limits::kMaxTags, CapField::max_num_tags);
  if (cap.max_ops > limits::kMaxTagOperations)
    return refused(EINVAL, ReasonId::bad_cap, cap.max_ops, limits::kMaxTagOperations, CapField::max_ops);
  return {};
}

/// The bytes of a message that are for nobody's memory once it is matched: of a rendezvous all.
std::uint32_t skipped_of(TagFate fate) {
  if (fate == TagFate::rendezvous) return limits::kMaxRendezvousHeader;
  return fate == TagFate::eager ? TagMessage::kEagerHeader : 0;
}

}  // namespace

Expected<std::unique_ptr<SharedReceiveQueue>, Failure> SharedReceiveQueue::create(ProtectionDomain& pd,
                                                                                  CompletionQueue& cq,
                                                                                  ibv_srq_attr& attributes,
                                                                                  const ibv_tm_cap& cap) {
  if (&cq.context() != &pd.context()) return refused(EINVAL, ReasonId::foreign_object);
  if (auto ok = check_cap(cap); !ok) return Unexpected{ok.error()};
  auto tags = std::make_unique<TagMatching>();
  if (!tags->allocate(cap))
    return refused(ENOMEM, ReasonId::out_of_memory, std::uint64_t{cap.max_num_tags} * sizeof(TagEntry));
  auto made = create(pd, attributes);
  if (!made) return made;
  (*made)->tags_ = std::move(tags);
  (*made)->cq_ = &cq;
  cq.add_user();
  return made;
}

// An operation is over when the call returns, so that those of a list are all that can be outstanding.
Expected<void, Failure> SharedReceiveQueue::post_operations(ibv_ops_wr* wr, ibv_ops_wr** bad_wr) {
  *bad_wr = wr;
  if (tags_ == nullptr) return refused(EINVAL, ReasonId::srq_without_tags);
  const std::lock_guard lock(mutex_);
  for (std::uint32_t done = 0; wr != nullptr; wr = wr->next, ++done) {
    *bad_wr = wr;
    const Subject subject{.wr_id = wr->wr_id, .has_wr_id = true};
    if (done == tags_->cap().max_ops)
      return refused(refuse(ENOMEM, ReasonId::tag_operations_full, tags_->cap().max_ops), subject);
    const auto completion = tags_->execute(*wr);
    if (!completion) return refused(completion.error(), subject);
    if (completion->status == IBV_WC_TM_ERR) {
      explain({.wr_id = wr->wr_id, .has_wr_id = true, .reason = because(ReasonId::tag_gone, wr->tm.handle)});
    }
    if ((wr->flags & IBV_OPS_SIGNALED) != 0) cq_->push_at_once(*completion);
  }
  return {};
}

std::optional<TagMatch> SharedReceiveQueue::take(const TagMessage& message, bool reads, TakenReceive& out) {
  const std::lock_guard lock(mutex_);
  const TagMatch match = tags_->match(message, reads);
  if (match.takes_receive()) {
    if (!take_next(out)) return std::nullopt;
  } else {
    const TaggedBuffer& buffer = match.entry->buffer;
    const bool filled = match.fate != TagFate::rendezvous;
    std::copy_n(buffer.sges.begin(), buffer.sge_count, out.sges.begin());
    out.wqe = {buffer.wr_id, std::span(out.sges.data(), buffer.sge_count), filled ? buffer.length : 0,
               skipped_of(match.fate)};
  }
  tags_->begin(match);
  return match;
}

bool SharedReceiveQueue::ended(const TagMatch& match, bool success) {
  if (match.fate != TagFate::unexpected) return false;
  const std::lock_guard lock(mutex_);
  tags_->unexpected_ended(success);
  return tags_->urgent();
}

void SharedReceiveQueue::release(TagEntry& entry) {
  const std::lock_guard lock(mutex_);
  tags_->release(entry);
}

void SharedReceiveQueue::flush(const ibv_wc& wc) { cq_->push_at_once(wc); }

}  // namespace softrnic::rnic
