#include "rnic/queue_pair.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <mutex>

#include "base/reason_words.h"
#include "rnic/completion_queue.h"
#include "rnic/context.h"
#include "rnic/limits.h"
#include "rnic/protection_domain.h"
#include "rnic/qp_states.h"
#include "rnic/refusal.h"
#include "rnic/work_requests.h"

namespace softrnic::rnic {
namespace {

/// A capability and its limit.
struct CapRow {
  std::uint32_t ibv_qp_cap::*cap;
  std::uint32_t limit;
  CapField name;
};
constexpr CapRow kCaps[] = {
    {&ibv_qp_cap::max_send_wr, limits::kMaxQpWrs, CapField::max_send_wr},
    {&ibv_qp_cap::max_recv_wr, limits::kMaxQpWrs, CapField::max_recv_wr},
    {&ibv_qp_cap::max_send_sge, limits::kMaxSges, CapField::max_send_sge},
    {&ibv_qp_cap::max_recv_sge, limits::kMaxSges, CapField::max_recv_sge},
    {&ibv_qp_cap::max_inline_data, limits::kMaxInlineBytes, CapField::max_inline_data},
};

constexpr ibv_qp_type kTypes[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV};

/// Without what this type has no use for: programs give XRC initiators a receive CQ, and targets none at all.
QueuePairInit only_used(const QueuePairInit& wanted) {
  QueuePairInit init = wanted;
  if (!has_receives(init.type)) {
    init.srq = nullptr;
    init.recv_cq = nullptr;
    init.cap.max_recv_wr = init.cap.max_recv_sge = 0;
  }
  if (!sends(init.type)) {
    init.send_cq = nullptr;
    init.cap = {};
  }
  return init;
}

/// The queues that a QP is to work with.
Expected<void, Failure> check_queues(const Context& context, const QueuePairInit& init) {
  const bool missing =
      (sends(init.type) && init.send_cq == nullptr) || (has_receives(init.type) && init.recv_cq == nullptr);
  if (missing) return refused(EINVAL, ReasonId::missing_cq);
  const auto is_foreign = [&](const CompletionQueue* cq) {
    return cq != nullptr && &cq->context() != &context;
  };
  const bool foreign = is_foreign(init.send_cq) || is_foreign(init.recv_cq) ||
                       (init.srq != nullptr && &init.srq->pd().context() != &context);
  if (foreign) return refused(EINVAL, ReasonId::foreign_object);
  if (init.srq != nullptr && init.srq->cq() != nullptr)
    return refused(EINVAL, ReasonId::srq_is_xrc, init.type);
  // ibv_create_qp(3)
  if (init.srq != nullptr && init.type == IBV_QPT_UC) return refused(EINVAL, ReasonId::srq_on_uc);
  return {};
}

Expected<void, Failure> check_init(const Context& context, const QueuePairInit& init) {
  if (std::find(std::begin(kTypes), std::end(kTypes), init.type) == std::end(kTypes))
    return refused(EOPNOTSUPP, ReasonId::bad_qp_type, init.type);
  if (auto ok = check_queues(context, init); !ok) return ok;
  for (const CapRow& row : kCaps) {
    const bool of_receives = row.cap == &ibv_qp_cap::max_recv_wr || row.cap == &ibv_qp_cap::max_recv_sge;
    if (init.srq != nullptr && of_receives) continue;
    if (init.cap.*row.cap > row.limit)
      return refused(EINVAL, ReasonId::bad_cap, init.cap.*row.cap, row.limit, row.name);
  }
  return {};
}

// What drivers round up to, programs have come to rely on: Debian's rdma_xclient asks for no inline data and
// sends 16 bytes inline. SGEs and inline data share their room in the send queue.
void round_up(QueuePairInit& init) {
  constexpr std::uint32_t kLeastInline = 64;
  constexpr auto kSgeBytes = static_cast<std::uint32_t>(sizeof(ib::Sge));
  ibv_qp_cap& cap = init.cap;
  if (!sends(init.type)) return;
  const bool receives = has_receives(init.type) && init.srq == nullptr;
  const std::uint32_t room = std::max({cap.max_inline_data, kLeastInline, cap.max_send_sge * kSgeBytes});
  cap.max_send_wr = std::bit_ceil(cap.max_send_wr);
  cap.max_inline_data = std::min(room, limits::kMaxInlineBytes);
  cap.max_send_sge = std::min(room / kSgeBytes, limits::kMaxSges);
  cap.max_recv_wr = receives ? std::bit_ceil(cap.max_recv_wr) : 0;
  cap.max_recv_sge = receives ? std::max(cap.max_recv_sge, 1U) : 0;
}

}  // namespace

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
      pd_(pd),
      domain_(domain),
      lane_(lane),
      type_(init.type),
      serial_(next_serial()),
      init_(init) {
  receiving_ = init.srq != nullptr ? receiving_of(init.srq) : Receiving{nullptr, pd, nullptr};
  receiving_.cq = init.recv_cq;
  attributes_.verbs.path_mig_state = IBV_MIG_MIGRATED;
  attributes_.verbs.cap = init.cap;
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
  QueuePairInit rounded = only_used(init);
  if (auto ok = check_init(context, rounded); !ok) return Unexpected{ok.error()};
  if (context.counts.qps.users() >= limits::kMaxQps) {
    return refused(ENOMEM, ReasonId::too_many_objects, limits::kMaxQps, ObjectKind::qp);
  }
  auto lane = context.lanes().choose();
  if (!lane) return Unexpected{lane.error()};
  round_up(rounded);
  std::unique_ptr<QueuePair> qp(new QueuePair(context, pd, domain, **lane, rounded));
  const ibv_qp_cap& cap = rounded.cap;
  if (cap.max_recv_wr != 0 && !qp->receives_.allocate(cap.max_recv_wr, cap.max_recv_sge)) {
    return refused(ENOMEM, ReasonId::out_of_memory, std::uint64_t{cap.max_recv_wr} * cap.max_recv_sge * 16);
  }
  if (auto ok = qp->attach_to_lane(); !ok) return Unexpected{ok.error()};
  for (CompletionQueue* queue : {rounded.send_cq, rounded.recv_cq})
    if (queue != nullptr) queue->add_user(**lane);
  if (rounded.srq != nullptr) rounded.srq->uses.add();
  if (pd != nullptr) pd->uses.add();
  context.counts.qps.add();
  init.cap = cap;
  return qp;
}

Expected<void, Failure> QueuePair::attach_to_lane() {
  const ib::Capacity capacity{init_.cap.max_send_wr, static_cast<std::uint16_t>(init_.cap.max_send_sge),
                              init_.cap.max_inline_data};
  // first, as memory may run out here; it learns its number when it starts
  endpoint_ = ib::make_endpoint(transport_type(type_), Qpn(), capacity, *this);
  const std::lock_guard lock(lane_.mutex());
  const auto qpn = lane_.attach(*this);
  if (!qpn) return Unexpected{qpn.error()};
  qpn_ = *qpn;
  attributes_.transport.local = qpn_;
  lane_.changed(*this);
  return {};
}

Expected<void, Failure> QueuePair::destroy() {
  {
    const std::lock_guard lock(lane_.mutex());
    if (!groups_.empty()) return refused_here(refuse(EBUSY, ReasonId::mcast_attached, groups_.size()));
    lane_.detach(*this);
    lane_.discard(*this);
    endpoint_.reset();  // here, as it gives back bytes of a window that is the lane's
  }
  purge_completions();
  context().events().retire(*this);
  for (CompletionQueue* queue : {init_.send_cq, init_.recv_cq})
    if (queue != nullptr) queue->remove_user();
  if (init_.srq != nullptr) init_.srq->uses.release();
  release_counters();
  if (type_ != IBV_QPT_XRC_RECV) pd_->uses.release();
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
  attributes.en_sqd_async_notify = notify_drained_ ? 1 : 0;
  if (state_ >= IBV_QPS_RTR) attributes.rq_psn = endpoint_->receive_psn();
  if (state_ >= IBV_QPS_RTS) attributes.sq_psn = endpoint_->send_psn();
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
    s.send_psn = endpoint_->send_psn();
    s.receive_psn = endpoint_->receive_psn();
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

}  // namespace softrnic::rnic
