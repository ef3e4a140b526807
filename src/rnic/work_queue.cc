#include "rnic/work_queue.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <mutex>

#include "base/reason_id.h"
#include "base/reason_words.h"
#include "rnic/completion_queue.h"
#include "rnic/context.h"
#include "rnic/frame_completion.h"
#include "rnic/key_table.h"
#include "rnic/limits.h"
#include "rnic/protection_domain.h"
#include "rnic/refusal.h"
#include "rnic/work_completion.h"
#include "transport/ib/failed_receive.h"

namespace softrnic::rnic {
namespace {

/// EINVAL, explained.
Expected<void, Failure> check(const Context& context, const WorkQueueInit& init) {
  if (init.cq == nullptr) return refused(EINVAL, ReasonId::missing_cq);
  if (&init.cq->context() != &context || &init.pd->context() != &context)
    return refused(EINVAL, ReasonId::foreign_object);
  if (init.max_wr > limits::kMaxQpWrs)
    return refused(EINVAL, ReasonId::bad_cap, init.max_wr, limits::kMaxQpWrs, CapField::max_wr);
  if (init.max_sge > limits::kMaxSges)
    return refused(EINVAL, ReasonId::bad_cap, init.max_sge, limits::kMaxSges, CapField::max_sge);
  return {};
}

}  // namespace

WorkQueue::WorkQueue(Context& context, LanePort& lane, const WorkQueueInit& init)
    : Host(counters_, lane.totals()),
      context_(context),
      lane_(lane),
      init_(init),
      receives_(&init.pd->root(), nullptr, init.cq) {}

Expected<std::unique_ptr<WorkQueue>, Failure> WorkQueue::create(Context& context, WorkQueueInit& init) {
  if (context.has_streams()) return refused(EOPNOTSUPP, ReasonId::iwarp_no_object, ObjectKind::wq);
  if (auto ok = check(context, init); !ok) return Unexpected{ok.error()};
  WorkQueueInit fit = init;
  fit.max_wr = std::bit_ceil(std::max(init.max_wr, 1U));
  fit.max_sge = std::max(init.max_sge, 1U);
  auto lane = context.lanes().choose_for_frames();
  if (!lane) return Unexpected{lane.error()};
  std::unique_ptr<WorkQueue> queue(new WorkQueue(context, **lane, fit));
  if (!queue->receives_.allocate(fit.max_wr, fit.max_sge, fit.pd->memory_source()))
    return refused(ENOMEM, ReasonId::out_of_memory,
                   std::uint64_t{fit.max_wr} * fit.max_sge * sizeof(ib::Sge));
  {
    const std::lock_guard lock((*lane)->mutex());
    const auto number = (*lane)->attach(*queue);
    if (!number) return refused(number.error());
    queue->number_ = *number;
  }
  fit.cq->add_user(**lane);
  fit.pd->uses.add();
  init = fit;
  return queue;
}

Expected<void, Failure> WorkQueue::destroy() {
  if (uses.users() != 0) return refused(EBUSY, ReasonId::wq_in_use, uses.users());
  {
    const std::lock_guard lock(lane_.mutex());
    lane_.detach(*this);
  }
  init_.cq->purge(number_);
  init_.cq->remove_user();
  receives_.give_up_memory();
  init_.pd->uses.release();
  return {};
}

// ---- states

Expected<void, Failure> WorkQueue::check_modify(const ibv_wq_attr& attributes) const {
  constexpr std::uint32_t kKnown = IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE;
  const std::uint32_t mask = attributes.attr_mask;
  const ibv_wq_state to = (mask & IBV_WQ_ATTR_STATE) != 0 ? attributes.wq_state : state_;
  const bool assumed_right = (mask & IBV_WQ_ATTR_CURR_STATE) == 0 || attributes.curr_wq_state == state_;
  const bool way = to == IBV_WQS_RESET || to == state_ || (state_ == IBV_WQS_RESET && to == IBV_WQS_RDY) ||
                   (state_ == IBV_WQS_RDY && to == IBV_WQS_ERR);
  if ((mask & ~kKnown) != 0 || !assumed_right || !way)
    return refused(EINVAL, ReasonId::wq_state, state_, to, mask);
  return {};
}

Expected<void, Failure> WorkQueue::modify(const ibv_wq_attr& attributes) {
  const std::lock_guard lock(lane_.mutex());
  if (auto ok = check_modify(attributes); !ok) return ok;
  if ((attributes.attr_mask & IBV_WQ_ATTR_STATE) != 0) enter(attributes.wq_state);
  lane_.publish_completions();
  return {};
}

void WorkQueue::enter(ibv_wq_state to) {
  if (to == state_) return;
  state_ = to;
  if (to == IBV_WQS_ERR) flush();
  if (to != IBV_WQS_RESET) return;
  receives_.clear();
  placement_.reset();
  init_.cq->purge(number_);
}

void WorkQueue::flush() {
  placement_.flush(*this);
  while (const auto wr_id = receives_.flush_next()) complete(ib::flushed_receive(*wr_id));
}

// ---- receives

Expected<void, Failure> WorkQueue::post_recv(ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  const std::lock_guard lock(lane_.mutex());
  Expected<void, Failure> result;
  for (; wr != nullptr && result; wr = wr->next) {
    result = state_ == IBV_WQS_RESET
                 ? Expected<void, Failure>(Unexpected{refuse(EINVAL, ReasonId::wq_post_state)})
                 : receives_.post(*wr);
    if (result) continue;
    *bad_wr = wr;
    result = refused(result.error(), {.qpn = number_, .wr_id = wr->wr_id, .has_wr_id = true});
  }
  if (state_ == IBV_WQS_ERR) {
    flush();
    lane_.publish_completions();
  }
  return result;
}

void WorkQueue::receive_frame(const ethernet::ReceivedFrame& frame, const ethernet::ParsedFrame& parsed,
                              std::uint32_t flow_tag) {
  if (state_ != IBV_WQS_RDY) return count(ib::Counter::drop_not_ready);
  if (!placement_.receive(*this, inbound(frame, parsed, init_.strips_vlan, flow_tag))) enter(IBV_WQS_ERR);
}

Expected<ib::HostMemory, Reason> WorkQueue::local_memory(MemoryKey lkey, std::uint64_t address,
                                                         std::uint64_t length, ib::LocalUse) {
  return KeyTable::process().local(receives_.pd(), lkey, address, length, IBV_ACCESS_LOCAL_WRITE);
}

Expected<ib::HostMemory, Reason> WorkQueue::remote_memory(MemoryKey rkey, std::uint64_t, std::uint64_t,
                                                          std::uint32_t) {
  return Unexpected{because(ReasonId::nak_rkey_unknown, rkey.value)};
}

Expected<void, Reason> WorkQueue::invalidate(MemoryKey rkey) {
  return Unexpected{because(ReasonId::nak_rkey_unknown, rkey.value)};
}

void WorkQueue::complete(const ib::RecvDone& done) {
  receives_.completed();
  ibv_wc wc = work_completion(done.wr_id, done.status, done.reason, number_);
  wc.opcode = IBV_WC_RECV;
  wc.byte_len = done.length;
  describe_frame(done, wc);
  lane_.deliver(*init_.cq, wc, false);
}

void WorkQueue::explain(const Reason& reason, const std::uint64_t* wr_id) {
  softrnic::explain({.qpn = number_,
                     .wr_id = wr_id != nullptr ? *wr_id : 0,
                     .has_wr_id = wr_id != nullptr,
                     .reason = reason});
}

}  // namespace softrnic::rnic
