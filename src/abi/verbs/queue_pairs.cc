// Queue pairs and multicast groups.
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/verbs/live_objects.h"
#include "abi/verbs/open_device.h"
#include "abi/verbs/queries.h"
#include "abi/verbs/work_queues.h"
#include "abi/verbs/xrc_domains.h"
#include "base/reason_id.h"
#include "base/reason_words.h"
#include "rnic/work_requests.h"

namespace softrnic::abi {
namespace {

/// Of the queues that a new queue pair is to use.
Expected<rnic::QueuePairInit, Failure> init_of(const ibv_qp_init_attr& attributes) {
  if (auto given = check_optional(attributes.send_cq); !given) return Unexpected{given.error()};
  if (auto given = check_optional(attributes.recv_cq); !given) return Unexpected{given.error()};
  if (auto given = check_optional(attributes.srq); !given) return Unexpected{given.error()};
  rnic::QueuePairInit init;
  init.type = attributes.qp_type;
  init.send_cq = attributes.send_cq == nullptr ? nullptr : Cq::of(attributes.send_cq)->impl.get();
  init.recv_cq = attributes.recv_cq == nullptr ? nullptr : Cq::of(attributes.recv_cq)->impl.get();
  init.srq = attributes.srq == nullptr ? nullptr : Srq::of(attributes.srq)->impl.get();
  init.cap = attributes.cap;
  init.signal_all = attributes.sq_sig_all != 0;
  return init;
}

void fill(Qp& qp, ibv_context* context, void* qp_context) {
  ibv_qp& verbs = qp.qp_base;
  verbs.context = context;
  verbs.qp_context = qp_context;
  verbs.handle = qp.opened->next_handle();
  verbs.qp_num = qp.impl->qpn().value;
  verbs.state = IBV_QPS_RESET;
  verbs.qp_type = qp.impl->type();
  pthread_mutex_init(&verbs.mutex, nullptr);
  pthread_cond_init(&verbs.cond, nullptr);
}

Expected<ibv_qp*, Failure> create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes, rnic::QueuePairInit init) {
  auto qp = std::make_unique<Qp>();
  auto made = rnic::QueuePair::create(*Pd::of(pd)->impl, init);
  if (!made) return Unexpected{made.error()};
  attributes->cap = init.cap;
  qp->opened = Pd::of(pd)->opened;
  qp->impl = std::move(*made);
  fill(*qp, pd->context, attributes->qp_context);
  qp->qp_base.pd = pd;
  qp->qp_base.send_cq = attributes->send_cq;
  qp->qp_base.recv_cq = attributes->recv_cq;
  qp->qp_base.srq = attributes->srq;
  qp->impl->owner = qp->verbs();
  qp->opened->add(*qp->impl);
  return qp.release()->verbs();
}

Expected<ibv_qp*, Failure> create_plain(ibv_pd* pd, ibv_qp_init_attr* attributes) {
  if (auto given = check_given(pd, attributes); !given) return Unexpected{given.error()};
  const auto init = init_of(*attributes);
  if (!init) return Unexpected{init.error()};
  return create_qp(pd, attributes, *init);
}

/// An XRC target has a domain in place of a PD, and no queues.
Expected<ibv_qp*, Failure> create_target(ibv_context* context, ibv_qp_init_attr_ex& attributes) {
  if ((attributes.comp_mask & IBV_QP_INIT_ATTR_XRCD) == 0 || attributes.xrcd == nullptr)
    return rnic::refused(EINVAL, ReasonId::xrc_target_without_domain);
  if (auto given = check_given_or(EINVAL, attributes.xrcd); !given) return Unexpected{given.error()};
  auto qp = std::make_unique<Qp>();
  qp->domain = Xrcd::of(attributes.xrcd);
  qp->opened = Context::of(context)->opened.get();
  rnic::QueuePairInit init;
  init.type = attributes.qp_type;
  auto made = rnic::QueuePair::create(qp->opened->context(), qp->domain->impl->domain, init);
  if (!made) return Unexpected{made.error()};
  attributes.cap = init.cap;
  qp->impl = std::move(*made);
  fill(*qp, context, attributes.qp_context);
  qp->impl->owner = qp->verbs();
  qp->opened->add(*qp->impl);
  add_target(*qp);
  return qp.release()->verbs();
}

/// One more of an XRC target that is there (ibv_open_qp(3)).
Expected<ibv_qp*, Failure> open_target(ibv_context* context, const ibv_qp_open_attr* attributes) {
  constexpr std::uint32_t kNeeded = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  if (context == nullptr || attributes == nullptr) return null_argument();
  const std::uint32_t mask = attributes->comp_mask;
  if ((mask & kNeeded) != kNeeded || (mask & ~(kNeeded | IBV_QP_OPEN_ATTR_CONTEXT)) != 0 ||
      attributes->xrcd == nullptr || attributes->qp_type != IBV_QPT_XRC_RECV)
    return rnic::refused(EINVAL, ReasonId::open_qp_attributes, mask, attributes->qp_type);
  if (auto given = check_given_or(EINVAL, attributes->xrcd); !given) return Unexpected{given.error()};
  auto qp = std::make_unique<Qp>();
  qp->domain = Xrcd::of(attributes->xrcd);
  if (auto joined = join_target(*qp, attributes->qp_num); !joined) return Unexpected{joined.error()};
  fill(*qp, context, (mask & IBV_QP_OPEN_ATTR_CONTEXT) != 0 ? attributes->qp_context : nullptr);
  ibv_qp_attr now;
  rnic::QueuePairInit made;
  qp->impl->query(now, made);
  qp->qp_base.state = now.qp_state;
  return qp.release()->verbs();
}

/// What says which operations there are.
ibv_qp_type sends_as(ibv_context* context, ibv_qp_type type) {
  return Context::of(context)->opened->context().has_streams() ? rnic::kStreamType : type;
}

/// The create flags that there are for a QP of this type (docs/verbs.md, "Create flags").
constexpr std::uint32_t create_flags(ibv_qp_type type) {
  const std::uint32_t of_frames = type == IBV_QPT_RAW_PACKET ? IBV_QP_CREATE_CVLAN_STRIPPING : 0;
  return IBV_QP_CREATE_BLOCK_SELF_MCAST_LB | of_frames;
}

Expected<ibv_qp*, Failure> create_extended(ibv_context* context, ibv_qp_init_attr_ex* attributes) {
  constexpr std::uint32_t kKnown = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
                                   IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  constexpr std::uint32_t kOfFrames =
      IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
  if (context == nullptr || attributes == nullptr) return null_argument();
  const bool raw = attributes->qp_type == IBV_QPT_RAW_PACKET;
  const std::uint32_t mask = attributes->comp_mask;
  const std::uint32_t flags = (mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 ? attributes->create_flags : 0;
  const std::uint32_t known_mask = raw ? kKnown | kOfFrames : kKnown;
  if ((mask & ~known_mask) != 0 || (flags & ~create_flags(attributes->qp_type)) != 0)
    return rnic::refused(EOPNOTSUPP, ReasonId::extended_qp, mask, flags);
  if (attributes->qp_type == IBV_QPT_XRC_RECV) return create_target(context, *attributes);
  if ((mask & IBV_QP_INIT_ATTR_PD) == 0) return null_argument();
  if (auto given = check_given(attributes->pd); !given) return Unexpected{given.error()};
  const bool extended = (mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
  const std::uint64_t operations = extended ? attributes->send_ops_flags : 0;
  const std::uint64_t unknown = operations & ~rnic::send_operations(sends_as(context, attributes->qp_type));
  if (unknown != 0) return rnic::refused(EOPNOTSUPP, ReasonId::send_operations, unknown, attributes->qp_type);
  // The extended structure begins with the plain one (reference: infiniband/verbs.h).
  auto* const plain = reinterpret_cast<ibv_qp_init_attr*>(attributes);
  auto init = init_of(*plain);
  if (!init) return Unexpected{init.error()};
  init->blocks_own_multicast = (flags & IBV_QP_CREATE_BLOCK_SELF_MCAST_LB) != 0;
  if (raw) {
    if (auto taken = take_frame_attributes(*attributes, *init); !taken) return Unexpected{taken.error()};
  }
  const auto made = create_qp(attributes->pd, plain, *init);
  if (made && extended) {
    Qp& qp = *Qp::of(*made);
    qp.batch.emplace(*qp.impl, attributes->cap, operations, Pd::of(attributes->pd)->impl->single_threaded());
    fill_send_operations(qp, qp.newer_operations.size());
  }
  return made;
}

Expected<void, Failure> modify(ibv_qp* qp, const ibv_qp_attr* attributes, int mask) {
  if (auto given = check_given(qp, attributes); !given) return given;
  const auto done = Qp::of(qp)->impl->modify(*attributes, mask);
  if (done && (mask & IBV_QP_STATE) != 0) qp->state = attributes->qp_state;
  return done;
}

Expected<void, Failure> query(ibv_qp* qp, ibv_qp_attr* attributes, ibv_qp_init_attr* init) {
  if (auto given = check_given(qp, attributes, init); !given) return given;
  rnic::QueuePairInit made;
  Qp::of(qp)->impl->query(*attributes, made);
  *init = {};
  init->qp_context = qp->qp_context;
  init->send_cq = qp->send_cq;
  init->recv_cq = qp->recv_cq;
  init->srq = qp->srq;
  init->cap = made.cap;
  init->qp_type = qp->qp_type;
  init->sq_sig_all = made.signal_all ? 1 : 0;
  qp->state = attributes->qp_state;
  return {};
}

Expected<void, Failure> destroy_qp(ibv_qp* verbs) {
  Qp* const qp = Qp::of(verbs);
  if (qp->domain == nullptr || remove_target(*qp)) {
    const auto done = qp->impl->destroy();
    if (!done) return done;  // no XRC target: those are in no group
    qp->opened->forget(*qp->impl);
  }
  pthread_cond_destroy(&verbs->cond);
  pthread_mutex_destroy(&verbs->mutex);
  delete qp;
  return {};
}

wire::Gid group_of(const ibv_gid& gid) {
  wire::Gid group;
  std::memcpy(group.raw.data(), gid.raw, sizeof gid.raw);
  return group;
}

}  // namespace

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes) {
  return pointer_call([&] { return alive(create_extended(context, attributes)); });
}

int modify_qp_rate_limit(ibv_qp* qp, ibv_qp_rate_limit_attr* attributes) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (auto given = check_given(qp, attributes); !given) return given;
    if (attributes->comp_mask != 0)
      return rnic::refused(EINVAL, ReasonId::bad_comp_mask, attributes->comp_mask);
    return Qp::of(qp)->impl->limit_rate(
        {attributes->rate_limit, attributes->max_burst_sz, attributes->typical_pkt_sz});
  });
}

ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attributes) {
  return pointer_call([&] { return alive(open_target(context, attributes)); });
}

}  // namespace softrnic::abi

using namespace softrnic;
using namespace softrnic::abi;

SOFTRNIC_VERB(ibv_qp*, ibv_create_qp, (ibv_pd * pd, ibv_qp_init_attr* attributes)) {
  return pointer_call([&] { return alive(create_plain(pd, attributes)); });
}

SOFTRNIC_VERB(int, ibv_modify_qp, (ibv_qp * qp, ibv_qp_attr* attributes, int mask)) {
  return errno_call([&] { return modify(qp, attributes, mask); });
}

SOFTRNIC_VERB(int, ibv_query_qp,
              (ibv_qp * qp, ibv_qp_attr* attributes, int /*mask*/, ibv_qp_init_attr* init)) {
  return errno_call([&] { return query(qp, attributes, init); });
}

SOFTRNIC_VERB(int, ibv_destroy_qp, (ibv_qp * qp)) {
  return errno_call([&] { return end_life(qp, destroy_qp); });
}

SOFTRNIC_EXPORT ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  return qp != nullptr && Qp::of(qp)->batch ? Qp::of(qp) : nullptr;
}

SOFTRNIC_EXPORT int ibv_query_qp_data_in_order(ibv_qp* /*qp*/, ibv_wr_opcode /*opcode*/, uint32_t /*flags*/) {
  return 0;
}

// What libibverbs answers for adapters without options (rxe, mlx4): programs and librdmacm know it, and go on
// without. A set of no options would be exchanged with every connection, for nothing.
SOFTRNIC_EXPORT int ibv_set_ece(ibv_qp* qp, ibv_ece* ece) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (auto given = check_given(qp, ece); !given) return given;
    return rnic::refused(EOPNOTSUPP, ReasonId::no_ece_options, ece->vendor_id, ece->options);
  });
}

// librdmacm asks for every connection: an answer, not a refusal.
SOFTRNIC_EXPORT int ibv_query_ece(ibv_qp* /*qp*/, ibv_ece* /*ece*/) { return EOPNOTSUPP; }

SOFTRNIC_VERB(int, ibv_attach_mcast, (ibv_qp * qp, const ibv_gid* gid, uint16_t /*lid*/)) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (auto given = check_given(qp, gid); !given) return given;
    return Qp::of(qp)->impl->attach_multicast(group_of(*gid));
  });
}

SOFTRNIC_VERB(int, ibv_detach_mcast, (ibv_qp * qp, const ibv_gid* gid, uint16_t /*lid*/)) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (auto given = check_given(qp, gid); !given) return given;
    return Qp::of(qp)->impl->detach_multicast(group_of(*gid));
  });
}
