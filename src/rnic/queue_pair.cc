#include "rnic/queue_pair.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>

#include "base/reason_id.h"
#include "base/reason_words.h"
#include "rnic/completion_counter.h"
#include "rnic/completion_queue.h"
#include "rnic/context.h"
#include "rnic/indirection_table.h"
#include "rnic/inline_tries.h"
#include "rnic/limits.h"
#include "rnic/protection_domain.h"
#include "rnic/qp_states.h"
#include "rnic/refusal.h"
#include "rnic/shared_receive_queue.h"
#include "rnic/stream_states.h"
#include "rnic/work_requests.h"

namespace softrnic::rnic {
namespace {

std::uint32_t next_serial() {
  static std::atomic<std::uint32_t> last{0};
  const std::uint32_t next = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return next != 0 ? next : next_serial();
}

}  // namespace

QueuePair::QueuePair(Context& context, ProtectionDomain* pd, XrcDomain* domain, LanePort& lane,
                     const QueuePairInit& init)
    : EventTarget(Kind::queue_pair),
      Host(counters_, lane.totals()),
      context_(context),
      parent_(pd),
      pd_(pd != nullptr ? &pd->root() : nullptr),
      lane_(lane),
      type_(init.type),
      rules_(context.has_streams() ? kStreamStateRules : kStateRules),
      sends_as_(context.has_streams() ? kStreamType : init.type),
      serial_(next_serial()),
      init_(init),
      events_(context.events(), *this, init.srq != nullptr),
      receives_(pd_, init.srq, init.recv_cq, domain) {
  attributes_.verbs.path_mig_state = IBV_MIG_MIGRATED;
  attributes_.verbs.cap = init.cap;
  if (!receives_.matches_tags()) return;
  rendezvous_ = std::make_unique<Rendezvous>();
  look_ahead(TagMessage::kLookahead);
}

QueuePair::~QueuePair() = default;

Expected<std::unique_ptr<QueuePair>, Failure> QueuePair::create(ProtectionDomain& pd, QueuePairInit& init) {
  if (init.type == IBV_QPT_XRC_RECV) return refused(EINVAL, ReasonId::xrc_target_without_domain);
  return make(pd.context(), &pd, nullptr, init);
}

Expected<std::unique_ptr<QueuePair>, Failure> QueuePair::create(Context& context, XrcDomain& domain,
                                                                QueuePairInit& init) {
  return make(context, nullptr, &domain, init);
}

Expected<std::unique_ptr<QueuePair>, Failure> QueuePair::make(Context& context, ProtectionDomain* pd,
                                                              XrcDomain* domain, QueuePairInit& init) {
  const auto fit = fitted(context, init);
  if (!fit) return Unexpected{fit.error()};
  if (context.counts.qps.users() >= limits::kMaxQps) {
    return refused(ENOMEM, ReasonId::too_many_objects, limits::kMaxQps, ObjectKind::qp);
  }
  auto lane =
      fit->type == IBV_QPT_RAW_PACKET ? context.lanes().choose_for_frames() : context.lanes().choose();
  if (!lane) return Unexpected{lane.error()};
  std::unique_ptr<QueuePair> qp(new QueuePair(context, pd, domain, **lane, *fit));
  const ibv_qp_cap& cap = fit->cap;
  if (cap.max_recv_wr != 0 &&
      !qp->receives_.allocate(cap.max_recv_wr, cap.max_recv_sge, qp->memory_source())) {
    return refused(ENOMEM, ReasonId::out_of_memory, std::uint64_t{cap.max_recv_wr} * cap.max_recv_sge * 16);
  }
  if (auto ok = qp->attach_to_lane(); !ok) return Unexpected{ok.error()};
  for (CompletionQueue* queue : {fit->send_cq, fit->recv_cq})
    if (queue != nullptr) queue->add_user(**lane);
  if (fit->srq != nullptr) fit->srq->uses.add();
  if (qp->receives_.matches_tags()) fit->srq->cq()->add_lane(**lane);
  if (fit->table != nullptr) fit->table->uses.add();
  if (pd != nullptr) pd->uses.add();
  context.counts.qps.add();
  queue_pair_was_made();
  init.cap = cap;
  return qp;
}

MemorySource* QueuePair::memory_source() const {
  return parent_ != nullptr ? parent_->memory_source() : nullptr;
}

ib::Capacity QueuePair::capacity() const {
  ib::Capacity capacity{init_.cap.max_send_wr, static_cast<std::uint16_t>(init_.cap.max_send_sge),
                        init_.cap.max_inline_data, init_.max_tso_header};
  if (rendezvous_ != nullptr) {
    capacity.send_wqes += Rendezvous::kSendWqes;
    capacity.send_sges = std::max(capacity.send_sges, static_cast<std::uint16_t>(limits::kMaxTagSges));
  }
  capacity.send_queue = send_queue_.get();
  return capacity;
}

Expected<void, Failure> QueuePair::attach_to_lane() {
  const std::size_t bytes = ib::send_queue_bytes(capacity());
  send_queue_ = QueueMemory(bytes, memory_source(), QueueKind::send);
  if (send_queue_.get() == nullptr) return refused(ENOMEM, ReasonId::out_of_memory, bytes);
  // first, as memory may run out here; it learns its number when it starts
  make_endpoint(capacity());
  const std::lock_guard lock(lane_.mutex());
  const auto qpn = lane_.attach(*this);
  if (!qpn) return Unexpected{qpn.error()};
  qpn_ = *qpn;
  attributes_.transport.local = qpn_;
  lane_.changed(*this);
  return {};
}

void QueuePair::make_endpoint(const ib::Capacity& capacity) {
  ib::Host& host = *this;
  if (sends_as_ == kStreamType) {
    auto made = std::make_unique<iwarp::Endpoint>(capacity, host);
    no_packets_ = std::make_unique<ib::NoPackets>(host);
    packets_ = no_packets_.get();
    iwarp_ = made.get();
    own_endpoint_ = std::move(made);
  } else {
    auto made = ib::make_endpoint(transport_type(type_), Qpn(), capacity, host);
    packets_ = made.get();
    own_endpoint_ = std::move(made);
  }
  endpoint_ = own_endpoint_.get();
  choose_ways();
}

Expected<void, Failure> QueuePair::destroy() {
  {
    const std::lock_guard lock(lane_.mutex());
    if (!groups_.empty()) return refused_here(refuse(EBUSY, ReasonId::mcast_attached, groups_.size()));
    if (flows.users() != 0) return refused_here(refuse(EBUSY, ReasonId::flows_attached, flows.users()));
    leave_stream();
    lane_.detach(*this);
    lane_.discard(*this);
    endpoint_ = nullptr;
    same_host_.reset();  // here, as they give back bytes of a window that is the lane's
    own_endpoint_.reset();
    if (rendezvous_ != nullptr) give_up_tags();
  }
  purge_completions();
  context().events().retire(*this);
  for (CompletionQueue* queue : {init_.send_cq, init_.recv_cq})
    if (queue != nullptr) queue->remove_user();
  if (init_.srq != nullptr) init_.srq->uses.release();
  if (init_.table != nullptr) init_.table->uses.release();
  completion_counters_.release();
  send_queue_ = {};
  receives_.give_up_memory();
  if (parent_ != nullptr) parent_->uses.release();
  context().counts.qps.release();
  return {};
}

// What a target has received belongs to the SRQ that it came for.
void QueuePair::purge_completions() {
  if (init_.send_cq != nullptr) init_.send_cq->purge(qpn_.value);
  if (init_.recv_cq != nullptr && init_.recv_cq != init_.send_cq) init_.recv_cq->purge(qpn_.value);
}

void QueuePair::query(ibv_qp_attr& attributes, QueuePairInit& init) {
  const std::lock_guard lock(lane_.mutex());
  attributes = attributes_.verbs;
  attributes.qp_state = attributes.cur_qp_state = state_;
  attributes.sq_draining = state_ == IBV_QPS_SQD && !endpoint_->drained() ? 1 : 0;
  attributes.en_sqd_async_notify = events_.notifies_drained() ? 1 : 0;
  if (!is_iwarp() && state_ >= IBV_QPS_RTR) attributes.rq_psn = packets_->receive_psn();
  if (!is_iwarp() && state_ >= IBV_QPS_RTS) attributes.sq_psn = packets_->send_psn();
  init = init_;
}

QueuePairSummary QueuePair::summary() const {
  QueuePairSummary s;
  s.local = qpn_;
  s.remote = attributes_.transport.remote;
  s.type = type_;
  s.state = state_;
  s.path_mtu = attributes_.transport.path_mtu;
  s.peer_gid = attributes_.transport.path.destination;
  if (endpoint_ != nullptr) {
    s.send_psn = packets_->send_psn();
    s.receive_psn = packets_->receive_psn();
  }
  return s;
}

Unexpected<Failure> QueuePair::refused_here(const Failure& failure, const std::uint64_t* wr_id) {
  softrnic::explain(remember(failure.reason, wr_id));
  return Unexpected{failure};
}

// ---- multicast

bool QueuePair::attached_to(const wire::Gid& group) const {
  return std::find(groups_.begin(), groups_.end(), group) != groups_.end();
}

Expected<void, Failure> QueuePair::attach_multicast(const wire::Gid& group) {
  const std::lock_guard lock(lane_.mutex());
  if (type_ != IBV_QPT_UD || !group.is_multicast())
    return refused_here(refuse(EINVAL, ReasonId::mcast_bad, type_, group.high_half(), group.low_half()));
  if (attached_to(group)) return {};
  if (groups_.size() >= limits::kMaxMulticastGroups) {
    return refused_here(refuse(ENOMEM, ReasonId::too_many_groups, limits::kMaxMulticastGroups));
  }
  errno = 0;
  if (!lane_.join(*this, group)) return refused_here(refuse(EINVAL, ReasonId::mcast_join_failed, errno));
  groups_.push_back(group);
  return {};
}

Expected<void, Failure> QueuePair::detach_multicast(const wire::Gid& group) {
  const std::lock_guard lock(lane_.mutex());
  if (type_ != IBV_QPT_UD)
    return refused_here(refuse(EINVAL, ReasonId::mcast_bad, type_, group.high_half(), group.low_half()));
  if (!attached_to(group)) return refused_here(refuse(EINVAL, ReasonId::mcast_not_attached));
  std::erase(groups_, group);
  lane_.leave(*this, group);
  return {};
}

// ---- completion counters

Expected<void, Failure> QueuePair::attach_counter(CompletionCounter& counter, std::uint8_t operations) {
  const std::lock_guard lock(lane_.mutex());
  if (&counter.context() != &context()) return refused_here(refuse(EINVAL, ReasonId::foreign_counter));
  if (state_ != IBV_QPS_RESET && state_ != IBV_QPS_INIT)
    return refused_here(refuse(EINVAL, ReasonId::counter_too_late, state_));
  const unsigned overlap = counted() & operations;
  if (overlap != 0) return refused_here(refuse(EBUSY, ReasonId::counted_already, overlap));
  completion_counters_.attach(counter, operations);
  count_ends_of(operations);
  return {};
}

void QueuePair::add_ended(ib::Counted operation, bool success, std::uint64_t bytes) {
  completion_counters_.ended(operation, success, bytes);
}

}  // namespace softrnic::rnic
