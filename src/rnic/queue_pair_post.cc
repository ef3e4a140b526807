// Work requests on their way into the queues.
#include <arpa/inet.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/hot_path.h"
#include "rnic/address_handle.h"
#include "rnic/qp_states.h"
#include "rnic/queue_pair.h"
#include "rnic/work_requests.h"

namespace softrnic::rnic {
namespace {

constexpr std::uint32_t kUseOwnQkey = 0x80000000;  // IBTA 10.2.5: the Q_Key of the QP goes out instead

void fill_inline(ib::SendSlot& slot, const ibv_send_wr& wr) {
  std::byte* to = slot.inline_data.data();
  for (int i = 0; i < wr.num_sge; ++i) {
    const ibv_sge& from = wr.sg_list[i];
    if (from.length == 0) continue;
    std::memcpy(to, reinterpret_cast<const void*>(from.addr), from.length);
    to += from.length;
    slot.wqe->length += from.length;
  }
  slot.wqe->is_inline = true;
}

void fill_sges(ib::SendSlot& slot, const ibv_send_wr& wr) {
  for (int i = 0; i < wr.num_sge; ++i) {
    const ibv_sge& from = wr.sg_list[i];
    slot.sges[static_cast<std::size_t>(i)] = {from.addr, from.length, MemoryKey(from.lkey)};
    slot.wqe->length += from.length;
  }
  slot.wqe->sge_count = static_cast<std::uint16_t>(wr.num_sge);
}

/// What LOCAL_INV, BIND_MW and SEND_WITH_INV do to a window.
SOFTRNIC_OUT_OF_LINE void fill_key(ib::SendWqe& wqe, const ibv_send_wr& wr) {
  if (wqe.op == ib::SendOp::send_with_invalidate) wqe.immediate = wr.invalidate_rkey;
  if (wqe.op == ib::SendOp::local_invalidate) wqe.rkey = MemoryKey(wr.invalidate_rkey);
  if (wqe.op != ib::SendOp::bind_window) return;
  const ibv_mw_bind_info& info = wr.bind_mw.bind_info;
  const WindowBind bind{MemoryKey(wr.bind_mw.rkey), MemoryKey(info.mr == nullptr ? 0 : info.mr->lkey),
                        info.addr, info.length, info.mw_access_flags};
  bind.put(wqe);
}

}  // namespace

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
  std::uint32_t room = init_.cap.max_send_wr - endpoint_->outstanding_sends();
  const bool flushes = state_rules(state_).flushes_sends;
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
  if (!state_rules(state_).accepts_sends)
    return Unexpected{refuse(EINVAL, ReasonId::post_send_state, state_)};
  const SendLimits limits{type_, init_.cap.max_send_sge, init_.cap.max_inline_data,
                          attributes_.verbs.max_rd_atomic};
  return check_send_request(wr, limits);
}

Failure QueuePair::queue_full() const {
  return refuse(ENOMEM, ReasonId::send_queue_full, endpoint_->outstanding_sends());
}

Expected<QueuePair::Posted, Failure> QueuePair::post_one(const ibv_send_wr& wr) {
  if (auto ok = check_send(wr); !ok) return Unexpected{ok.error()};
  if (state_rules(state_).flushes_sends) {
    flush_send(wr);
    return Posted::queued;
  }
  const ib::SendSlot slot = endpoint_->reserve();
  if (slot.wqe == nullptr) return Unexpected{queue_full()};
  return enqueue(wr, slot);
}

QueuePair::Posted QueuePair::enqueue(const ibv_send_wr& wr, ib::SendSlot slot) {
  fill(slot, wr);
  endpoint_->commit();
  const SendRules& kind = *send_rules(wr.opcode);
  const bool one_sided = kind.has_remote_memory || kind.is_atomic;
  return one_sided && endpoint_->go_at_once() ? Posted::done : Posted::queued;
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

void QueuePair::fill(ib::SendSlot& slot, const ibv_send_wr& wr) const {
  const SendRules& rules = *send_rules(wr.opcode);
  ib::SendWqe& wqe = *slot.wqe;
  wqe.wr_id = wr.wr_id;
  wqe.op = static_cast<ib::SendOp>(wr.opcode);
  wqe.signaled = init_.signal_all || (wr.send_flags & IBV_SEND_SIGNALED) != 0;
  wqe.solicited = (wr.send_flags & IBV_SEND_SOLICITED) != 0;
  wqe.fence = (wr.send_flags & IBV_SEND_FENCE) != 0;
  if (rules.has_immediate) wqe.immediate = ntohl(wr.imm_data);
  if (wqe.op >= ib::SendOp::local_invalidate) [[unlikely]]
    fill_key(wqe, wr);
  if (rules.has_remote_memory) {
    wqe.remote_address = wr.wr.rdma.remote_addr;
    wqe.rkey = MemoryKey(wr.wr.rdma.rkey);
  }
  if (rules.is_atomic) {
    wqe.remote_address = wr.wr.atomic.remote_addr;
    wqe.rkey = MemoryKey(wr.wr.atomic.rkey);
    wqe.compare = wr.wr.atomic.compare_add;
    wqe.swap_or_add = wqe.op == ib::SendOp::compare_swap ? wr.wr.atomic.swap : wr.wr.atomic.compare_add;
  }
  if (type_ >= IBV_QPT_UD) fill_destination(wqe, wr);
  if ((wr.send_flags & IBV_SEND_INLINE) != 0) {
    fill_inline(slot, wr);
  } else {
    fill_sges(slot, wr);
  }
}

// UD and XRC: where it is for, besides what the QP is connected to.
void QueuePair::fill_destination(ib::SendWqe& wqe, const ibv_send_wr& wr) const {
  if (type_ == IBV_QPT_XRC_SEND) {
    wqe.remote_srqn = wr.qp_type.xrc.remote_srqn & wire::kPsnMask;
    return;
  }
  const auto& to = wr.wr.ud;
  wqe.address = static_cast<const AddressHandle*>(to.ah)->vector();
  wqe.remote_qpn = Qpn(to.remote_qpn & wire::kPsnMask);
  wqe.remote_qkey = (to.remote_qkey & kUseOwnQkey) != 0 ? attributes_.transport.qkey : to.remote_qkey;
  if (wqe.address.source_port == 0) wqe.address.source_port = source_port(0, qpn_, wqe.remote_qpn);
}

SOFTRNIC_HOT_PATH Expected<void, Failure> QueuePair::post_recv(ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  const std::lock_guard lock(lane_.mutex());
  const StateRules& rules = state_rules(state_);
  Expected<void, Failure> result;
  for (; wr != nullptr; wr = wr->next) {
    Expected<void, Failure> ok;
    if (receives_.max_wrs() == 0) {
      const auto why = has_receives(type_) ? ReasonId::recv_on_srq_qp : ReasonId::recv_on_xrc_qp;
      ok = Unexpected{refuse(EINVAL, why, type_)};
    } else if (!rules.accepts_receives) {
      ok = Unexpected{refuse(EINVAL, ReasonId::post_recv_state, state_)};
    } else {
      ok = check_receive(*wr, receives_.size() + (receive_taken_ ? 1 : 0), receives_);
    }
    if (!ok) {
      *bad_wr = wr;
      result = refused_here(ok.error(), &wr->wr_id);
      break;
    }
    receives_.push(*wr);
  }
  if (rules.flushes_receives) {
    flush_receives();
    lane_.transmit(*this);
  }
  return result;
}

}  // namespace softrnic::rnic
