// A queue pair's way through its states.
#include <cerrno>
#include <mutex>
#include <utility>

#include "base/hot_path.h"
#include "base/reason_id.h"
#include "rnic/completion_queue.h"
#include "rnic/context.h"
#include "rnic/qp_states.h"
#include "rnic/queue_pair.h"
#include "transport/ib/failed_receive.h"

namespace softrnic::rnic {

Expected<void, Failure> QueuePair::modify(const ibv_qp_attr& attributes, int mask) {
  const std::lock_guard lock(lane_.mutex());
  lane_.transmit(*this);  // an ACK that waits leaves before the state may forbid it
  const std::uint32_t bits = static_cast<std::uint32_t>(mask) & ~passed_over(type_);
  const ibv_qp_state to = (bits & IBV_QP_STATE) != 0 ? attributes.qp_state : state_;
  // A peer that has what it wanted disconnects, and its ACK may lie unread beside the news of that.
  if (to == IBV_QPS_ERR && endpoint_->outstanding_sends() != 0) lane_.take_arrived();
  if (auto ok = check_modify(attributes, bits, to); !ok) return refused_here(ok.error());
  const bool migrates = (bits & IBV_QP_PATH_MIG_STATE) != 0 &&
                        attributes.path_mig_state == IBV_MIG_MIGRATED &&
                        attributes_.transport.migration == ib::Migration::armed;
  const std::uint8_t reads_out = attributes_.verbs.max_rd_atomic;
  const std::uint8_t reads_in = attributes_.verbs.max_dest_rd_atomic;
  if (auto ok = take_attributes(context(), attributes, bits, attributes_); !ok)
    return refused_here(ok.error());
  if (port_ != nullptr) keep_to_agreement(reads_out, reads_in);
  if ((bits & IBV_QP_RATE_LIMIT) != 0) set_rate_limit({.kilobits_per_second = attributes.rate_limit});
  if (to == IBV_QPS_SQD && state_ == IBV_QPS_RTS) {
    events_.notify_drained((bits & IBV_QP_EN_SQD_ASYNC_NOTIFY) != 0 && attributes.en_sqd_async_notify != 0);
  }
  if ((bits & IBV_QP_ALT_PATH) != 0) choose_ways();
  // An IB queue pair takes attributes by entering its state once more; that of RESET forgets what is posted.
  if (!is_iwarp() || (bits & IBV_QP_STATE) != 0) enter(to);
  if (migrates) packets_->migrate();
  lane_.changed(*this);
  lane_.transmit(*this);
  return {};
}

// A path's window is made while memory may run out, and finds out which way the path takes before it is
// taken.
void QueuePair::choose_ways() {
  const ib::Attributes& t = attributes_.transport;
  plain_ = rate_limit_ == nullptr && !is_iwarp();
  by_packets_ = rate_limit_ != nullptr || by_stream() || t.alternate.loaded;
  if (t.alternate.loaded) window_of(t.alternate.path);
}

ib::PathWindow& QueuePair::window_of(const ib::AddressVector& path) {
  const Qpn remote = attributes_.transport.remote;
  const bool acknowledged = type_ != IBV_QPT_UC && type_ != IBV_QPT_UD;
  ib::PathWindow* const gauged = acknowledged ? nullptr : lane_.gauged_window(path, remote);
  return gauged != nullptr ? *gauged : lane_.window(path, remote);
}

ib::PathWindow* QueuePair::migrated() {
  attributes_.migrate();
  lane_.leave_window(*this);
  return &window_of(attributes_.transport.path);
}

Expected<void, Failure> QueuePair::check_modify(const ibv_qp_attr& attributes, std::uint32_t mask,
                                                ibv_qp_state to) const {
  // The states are those of its work queues; so answer adapters.
  if (init_.table != nullptr) return Unexpected{refuse(EOPNOTSUPP, ReasonId::rss_sends_nothing)};
  if (is_iwarp()) return check_modify_stream(attributes, mask, to);
  if (auto ok = check_transition(type_, state_, to, mask); !ok) return ok;
  if ((mask & IBV_QP_CUR_STATE) != 0 && attributes.cur_qp_state != state_) {
    return Unexpected{refuse(EINVAL, ReasonId::cur_state_mismatch, attributes.cur_qp_state, state_)};
  }
  // IBTA 10.3.1.5: what has begun is finished before anything new starts.
  if (state_ == IBV_QPS_SQD && to == IBV_QPS_RTS && !endpoint_->drained()) {
    return Unexpected{refuse(EINVAL, ReasonId::sq_drain_async)};
  }
  return {};
}

void QueuePair::enter(ibv_qp_state to) {
  const ibv_qp_state from = state_;
  if (to == IBV_QPS_RESET) return reset();
  if (to == IBV_QPS_ERR) return enter_error();
  if (is_iwarp()) return enter_stream(to);
  state_ = to;
  if (to == IBV_QPS_RTR) return start_responder();
  if (from == IBV_QPS_RTR) return start_requester();
  if (from == IBV_QPS_RTS && to == IBV_QPS_SQD) return packets_->drain();
  if (from < IBV_QPS_RTR) return;  // INIT: the endpoint is told when it starts
  packets_->update(attributes_.transport);
  if (to == IBV_QPS_RTS && from != IBV_QPS_RTS) packets_->resume();
}

void QueuePair::start_responder() {
  ib::Attributes& t = attributes_.transport;
  if (type_ == IBV_QPT_RAW_PACKET) {
    const auto info = context().info();
    t.path.interface_index = info->interface_index;
    t.path_mtu = info->port.netdev_mtu + ethernet::kHeaderBytes + ethernet::kVlanTagBytes;
    return packets_->start_responder(t);
  }
  if (type_ == IBV_QPT_UD) t.path_mtu = context().info()->port.active_mtu;
  packets_->set_window(&window_of(t.path));
  packets_->start_responder(t);
}

void QueuePair::start_requester() { packets_->start_requester(attributes_.transport); }

void QueuePair::reset() {
  state_ = IBV_QPS_RESET;
  leave_stream();
  endpoint_->reset();
  leave_same_host();
  if (rendezvous_ != nullptr) give_up_tags();
  rate_limit_.reset();
  receives_.clear();
  events_.reset();
  receive_failed_ = broken_ = completion_lost_ = false;
  lane_.discard(*this);
  purge_completions();
  QpAttributes fresh;
  fresh.verbs.cap = init_.cap;
  fresh.verbs.path_mig_state = IBV_MIG_MIGRATED;
  fresh.transport.local = qpn_;
  attributes_ = fresh;
  choose_ways();
}

// IBTA 10.3.1.7: what is posted is flushed; posts are still accepted and flushed at once.
SOFTRNIC_OUT_OF_LINE void QueuePair::enter_error() {
  if (state_ == IBV_QPS_ERR) return;
  state_ = IBV_QPS_ERR;
  endpoint_->flush();
  if (rendezvous_ != nullptr) flush_waiting_rendezvous();
  flush_receives();
  events_.raise(ib::QpEvent::last_wqe_reached);
}

void QueuePair::flush_receives() {
  while (const auto wr_id = receives_.flush_next()) complete(ib::flushed_receive(*wr_id));
}

SOFTRNIC_OUT_OF_LINE void QueuePair::completion_lost(const CompletionQueue& cq, std::uint64_t wr_id) {
  if (std::exchange(completion_lost_, true)) return;
  explain(because(ReasonId::cq_overrun, cq.capacity()), &wr_id);
  if (state_ == IBV_QPS_ERR) return;
  broken_ = true;
  events_.raise(ib::QpEvent::fatal);
  enter_error();
  lane_.changed(*this);
}

// Takes over the state that the endpoint has put itself into.
void QueuePair::settle() {
  if (!endpoint_->in_error() || state_ == IBV_QPS_ERR) return;
  broken_ = true;
  const bool unconnected = type_ == IBV_QPT_UD || type_ == IBV_QPT_RAW_PACKET;
  if (unconnected && !receive_failed_) {  // IBTA 10.3.1.6
    if (state_ == IBV_QPS_SQE) return;
    state_ = IBV_QPS_SQE;
  } else {
    enter_error();
  }
  lane_.changed(*this);
}

}  // namespace softrnic::rnic
