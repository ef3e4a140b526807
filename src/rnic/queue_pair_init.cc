#include "rnic/queue_pair_init.h"

#include <algorithm>
#include <bit>
#include <cerrno>

#include "base/reason_id.h"
#include "base/reason_words.h"
#include "rnic/completion_queue.h"
#include "rnic/context.h"
#include "rnic/indirection_table.h"
#include "rnic/inline_tries.h"
#include "rnic/limits.h"
#include "rnic/protection_domain.h"
#include "rnic/refusal.h"
#include "rnic/shared_receive_queue.h"

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

constexpr ibv_qp_type kTypes[] = {IBV_QPT_RC,       IBV_QPT_UC,       IBV_QPT_UD,
                                  IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV, IBV_QPT_RAW_PACKET};

/// Without what this type has no use for: programs give XRC initiators a receive CQ, and targets none at all.
QueuePairInit only_used(const QueuePairInit& wanted) {
  QueuePairInit init = wanted;
  if (!init.takes_receives()) {
    init.srq = nullptr;
    init.recv_cq = nullptr;
    init.cap.max_recv_wr = init.cap.max_recv_sge = 0;
  }
  if (!init.has_send_queue()) {
    init.send_cq = nullptr;
    init.cap = {};
  }
  return init;
}

/// The queues that a QP is to work with.
Expected<void, Failure> check_queues(const Context& context, const QueuePairInit& init) {
  const bool missing = (init.has_send_queue() && init.send_cq == nullptr) ||
                       (init.takes_receives() && init.recv_cq == nullptr);
  if (missing) return refused(EINVAL, ReasonId::missing_cq);
  const auto is_foreign = [&](const CompletionQueue* cq) {
    return cq != nullptr && &cq->context() != &context;
  };
  const bool foreign = is_foreign(init.send_cq) || is_foreign(init.recv_cq) ||
                       (init.srq != nullptr && &init.srq->pd().context() != &context) ||
                       (init.table != nullptr && &init.table->context() != &context);
  if (foreign) return refused(EINVAL, ReasonId::foreign_object);
  if (init.srq != nullptr && init.srq->matches_tags()) {
    if (init.type != IBV_QPT_RC) return refused(EINVAL, ReasonId::tm_srq_on_qp, init.type);
  } else if (init.srq != nullptr && init.srq->cq() != nullptr) {
    return refused(EINVAL, ReasonId::srq_is_xrc, init.type);
  }
  // ibv_create_qp(3)
  if (init.srq != nullptr && init.type == IBV_QPT_UC) return refused(EINVAL, ReasonId::srq_on_uc);
  return {};
}

Expected<void, Failure> check_init(const Context& context, const QueuePairInit& init) {
  if (std::find(std::begin(kTypes), std::end(kTypes), init.type) == std::end(kTypes))
    return refused(EOPNOTSUPP, ReasonId::bad_qp_type, init.type);
  if (context.has_streams() && init.type != IBV_QPT_RC)
    return refused(EOPNOTSUPP, ReasonId::iwarp_qp_type, init.type);
  if (auto ok = check_queues(context, init); !ok) return ok;
  if (init.max_tso_header > limits::kMaxTsoHeader)
    return refused(EINVAL, ReasonId::tso_limits, init.max_tso_header, limits::kMaxTsoHeader, 0);
  for (const CapRow& row : kCaps) {
    const bool of_receives = row.cap == &ibv_qp_cap::max_recv_wr || row.cap == &ibv_qp_cap::max_recv_sge;
    if (init.srq != nullptr && of_receives) continue;
    if (init.cap.*row.cap <= row.limit) continue;
    if (row.cap == &ibv_qp_cap::max_inline_data) return refuse_inline(init.cap.max_inline_data);
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
  if (!init.has_send_queue()) return;
  const bool receives = init.takes_receives() && init.srq == nullptr;
  const std::uint32_t room = std::max({cap.max_inline_data, kLeastInline, cap.max_send_sge * kSgeBytes});
  cap.max_send_wr = std::bit_ceil(cap.max_send_wr);
  cap.max_inline_data = std::min(room, limits::kMaxInlineBytes);
  cap.max_send_sge = std::min(room / kSgeBytes, limits::kMaxSges);
  cap.max_recv_wr = receives ? std::bit_ceil(cap.max_recv_wr) : 0;
  cap.max_recv_sge = receives ? std::max(cap.max_recv_sge, 1U) : 0;
}

}  // namespace

Expected<QueuePairInit, Failure> fitted(const Context& context, const QueuePairInit& wanted) {
  QueuePairInit init = only_used(wanted);
  if (auto ok = check_init(context, init); !ok) return Unexpected{ok.error()};
  round_up(init);
  return init;
}

}  // namespace softrnic::rnic
