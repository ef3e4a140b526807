// Work requests on their way into the queues.
#include <cerrno>
#include <mutex>

#include "base/hot_path.h"
#include "base/reason_id.h"
#include "rnic/qp_states.h"
#include "rnic/queue_pair.h"
#include "rnic/send_wqe.h"
#include "rnic/work_requests.h"

namespace softrnic::rnic {

SOFTRNIC_HOT_PATH Expected<void, Failure> QueuePair::post_send(ibv_send_wr* wr, ibv_send_wr** bad_wr) {
  const std::lock_guard lock(lane_.mutex());
  Expected<void, Failure> result;
  bool done = true;
  for (; wr != nullptr; wr = wr->next) {
    const auto posted = post_one(*wr);
    done = done && posted && *posted == Posted::done;
    if (!posted) {
      *bad_wr = wr;
      result = refused_here(posted.error(), &wr->wr_id);
      break;
    }
  }
  posted(done);
  return result;
}

SOFTRNIC_HOT_PATH Expected<void, Failure> QueuePair::post_batch(const ibv_send_wr* first) {
  const std::lock_guard lock(lane_.mutex());
  std::uint32_t room = init_.cap.max_send_wr - posted_sends();
  const bool flushes = rules_[state_].flushes_sends;
  for (const ibv_send_wr* wr = first; wr != nullptr; wr = wr->next) {
    if (const auto ok = check_send(*wr); !ok) return refused_here(ok.error(), &wr->wr_id);
    if (room-- == 0 && !flushes) return refused_here(queue_full(), &wr->wr_id);
  }
  bool done = true;
  for (const ibv_send_wr* wr = first; wr != nullptr; wr = wr->next) {
    if (flushes) {
      flush_send(*wr);
      done = false;
    } else {
      done = enqueue(*wr, endpoint_->reserve()) == Posted::done && done;
    }
  }
  posted(done);
  return {};
}

void QueuePair::posted(bool all_done) {
  if (all_done) {
    lane_.completed_direct(*this);
  } else {
    lane_.transmit(*this);
  }
}

Expected<void, Failure> QueuePair::check_send(const ibv_send_wr& wr) const {
  if (init_.table != nullptr) return Unexpected{refuse(EINVAL, ReasonId::rss_sends_nothing)};
  if (!rules_[state_].accepts_sends) return Unexpected{refuse(EINVAL, ReasonId::post_send_state, state_)};
  const SendLimits limits{sends_as_,
                          init_.cap.max_send_sge,
                          init_.cap.max_inline_data,
                          attributes_.verbs.max_rd_atomic,
                          init_.max_tso_header,
                          !by_stream() || iwarp_->extensions()};
  return check_send_request(wr, limits);
}

Failure QueuePair::queue_full() const { return refuse(ENOMEM, ReasonId::send_queue_full, posted_sends()); }

Expected<QueuePair::Posted, Failure> QueuePair::post_one(const ibv_send_wr& wr) {
  if (auto ok = check_send(wr); !ok) return Unexpected{ok.error()};
  if (rules_[state_].flushes_sends) {
    flush_send(wr);
    return Posted::queued;
  }
  if (rendezvous_ != nullptr && posted_sends() >= init_.cap.max_send_wr) [[unlikely]]
    return Unexpected{queue_full()};
  const ib::SendSlot slot = endpoint_->reserve();
  if (slot.wqe == nullptr) return Unexpected{queue_full()};
  return enqueue(wr, slot);
}

QueuePair::Posted QueuePair::enqueue(const ibv_send_wr& wr, ib::SendSlot slot) {
  fill_send(slot, wr, {type_, init_.signal_all, qpn_, attributes_.transport.qkey});
  endpoint_->commit();
  const SendRules& kind = *send_rules(wr.opcode);
  const bool one_sided = kind.has_remote_memory || kind.uses_reads;
  return one_sided && packets_->go_at_once() ? Posted::done : Posted::queued;
}

void QueuePair::flush_send(const ibv_send_wr& wr) {
  ib::SendDone done;
  done.wr_id = wr.wr_id;
  done.op = static_cast<ib::SendOp>(wr.opcode);
  done.status = ib::Status::flushed;
  done.reason = because(ReasonId::flushed);
  ended(done.op, false, 0);
  complete(done);
}

SOFTRNIC_HOT_PATH Expected<void, Failure> QueuePair::post_recv(ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  const std::lock_guard lock(lane_.mutex());
  const StateRules& rules = rules_[state_];
  Expected<void, Failure> result;
  for (; wr != nullptr; wr = wr->next) {
    Expected<void, Failure> ok;
    if (!receives_.has_queue()) {
      const auto why = init_.table != nullptr ? ReasonId::rss_sends_nothing
                       : has_receives(type_)  ? ReasonId::recv_on_srq_qp
                                              : ReasonId::recv_on_xrc_qp;
      ok = Unexpected{refuse(EINVAL, why, type_)};
    } else if (!rules.accepts_receives) {
      ok = Unexpected{refuse(EINVAL, ReasonId::post_recv_state, state_)};
    } else {
      ok = receives_.post(*wr);
    }
    if (!ok) {
      *bad_wr = wr;
      result = refused_here(ok.error(), &wr->wr_id);
      break;
    }
  }
  if (receives_wanted() && receives_.posted().value_or(0) != 0) [[unlikely]] {
    packets_->receives_posted();
    lane_.transmit(*this);
  }
  if (rules.flushes_receives) {
    flush_receives();
    lane_.transmit(*this);
  }
  return result;
}

}  // namespace softrnic::rnic
