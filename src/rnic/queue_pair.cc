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

/// The queues that a QP is to work with.
Expected<void, Failure> check_queues(const Context& context, const QueuePairInit& init) {
  if (init.send_cq == nullptr || init.recv_cq == nullptr) return refused(EINVAL, ReasonId::missing_cq);
  const bool foreign = &init.send_cq->context() != &context || &init.recv_cq->context() != &context ||
                       (init.srq != nullptr && &init.srq->pd().context() != &context);
  if (foreign) return refused(EINVAL, ReasonId::foreign_object);
  // ibv_create_qp(3)
  if (init.srq != nullptr && init.type == IBV_QPT_UC) return refused(EINVAL, ReasonId::srq_on_uc);
  return {};
}

Expected<void, Failure> check_init(const Context& context, const QueuePairInit& init) {
  if (init.type != IBV_QPT_RC && init.type != IBV_QPT_UC && init.type != IBV_QPT_UD) {
    return refused(EOPNOTSUPP, ReasonId::bad_qp_type, init.type);
  }
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
  const std::uint32_t room = std::max({cap.max_inline_data, kLeastInline, cap.max_send_sge * kSgeBytes});
  cap.max_send_wr = std::bit_ceil(cap.max_send_wr);
  cap.max_inline_data = std::min(room, limits::kMaxInlineBytes);
  cap.max_send_sge = std::min(room / kSgeBytes, limits::kMaxSges);
  cap.max_recv_wr = init.srq != nullptr ? 0 : std::bit_ceil(cap.max_recv_wr);
  cap.max_recv_sge = init.srq != nullptr ? 0 : std::max(cap.max_recv_sge, 1U);
}

}  // namespace

namespace {

std::uint32_t next_serial() {
  static std::atomic<std::uint32_t> last{0};
  const std::uint32_t next = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return next != 0 ? next : next_serial();
}

}  // namespace

QueuePair::QueuePair(ProtectionDomain& pd, LanePort& lane, const QueuePairInit& init)
    : EventTarget(Kind::queue_pair),
      Host(counters_, lane.totals()),
      pd_(pd),
      lane_(lane),
      type_(init.type),
      serial_(next_serial()),
      init_(init) {
  attributes_.verbs.path_mig_state = IBV_MIG_MIGRATED;
  attributes_.verbs.cap = init.cap;
}

QueuePair::~QueuePair() = default;

Expected<std::unique_ptr<QueuePair>, Failure> QueuePair::create(ProtectionDomain& pd, QueuePairInit& init) {
  Context& context = pd.context();
  if (auto ok = check_init(context, init); !ok) return Unexpected{ok.error()};
  if (context.counts.qps.users() >= limits::kMaxQps) {
    return refused(ENOMEM, ReasonId::too_many_objects, limits::kMaxQps, ObjectKind::qp);
  }
  auto lane = context.lanes().choose();
  if (!lane) return Unexpected{lane.error()};
  QueuePairInit rounded = init;
  round_up(rounded);
  std::unique_ptr<QueuePair> qp(new QueuePair(pd, **lane, rounded));
  const ibv_qp_cap& cap = rounded.cap;
  if (init.srq == nullptr && !qp->receives_.allocate(cap.max_recv_wr, cap.max_recv_sge)) {
    return refused(ENOMEM, ReasonId::out_of_memory, std::uint64_t{cap.max_recv_wr} * cap.max_recv_sge * 16);
  }
  if (auto ok = qp->attach_to_lane(); !ok) return Unexpected{ok.error()};
  rounded.send_cq->add_user(**lane);
  rounded.recv_cq->add_user(**lane);
  if (rounded.srq != nullptr) rounded.srq->uses.add();
  pd.uses.add();
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
  init_.send_cq->purge(qpn_.value);
  if (init_.recv_cq != init_.send_cq) init_.recv_cq->purge(qpn_.value);
  context().events().retire(*this);
  init_.send_cq->remove_user();
  init_.recv_cq->remove_user();
  if (init_.srq != nullptr) init_.srq->uses.release();
  release_counters();
  pd_.uses.release();
  context().counts.qps.release();
  return {};
}

Context& QueuePair::context() const { return pd_.context(); }

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
