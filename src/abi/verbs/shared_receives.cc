// Shared receive queues.
#include "abi/verbs/shared_receives.h"

#include <cerrno>
#include <memory>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/verbs/live_objects.h"
#include "abi/verbs/open_device.h"
#include "abi/verbs/xrc_domains.h"
#include "base/reason_id.h"

namespace softrnic::abi {
namespace {

void fill(Srq& srq, ibv_pd* pd, void* srq_context) {
  srq.context = pd->context;
  srq.srq_context = srq_context;
  srq.pd = pd;
  srq.opened = Pd::of(pd)->opened;
  srq.handle = srq.opened->next_handle();
  pthread_mutex_init(&srq.mutex, nullptr);
  pthread_cond_init(&srq.cond, nullptr);
  srq.impl->owner = static_cast<ibv_srq*>(&srq);
}

Expected<ibv_srq*, Failure> create(ibv_pd* pd, ibv_srq_init_attr* attributes) {
  if (auto given = check_given(pd, attributes); !given) return Unexpected{given.error()};
  auto srq = std::make_unique<Srq>();
  auto made = rnic::SharedReceiveQueue::create(*Pd::of(pd)->impl, attributes->attr);
  if (!made) return Unexpected{made.error()};
  srq->impl = std::move(*made);
  fill(*srq, pd, attributes->srq_context);
  return srq.release();
}

Expected<ibv_srq*, Failure> create_xrc(const ibv_srq_init_attr_ex& wanted, ibv_srq_attr& attributes) {
  constexpr std::uint32_t kNeeded = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  if ((wanted.comp_mask & kNeeded) != kNeeded || wanted.pd == nullptr || wanted.xrcd == nullptr ||
      wanted.cq == nullptr)
    return rnic::refused(EINVAL, ReasonId::xrc_srq_incomplete, wanted.comp_mask);
  if (auto given = check_given(wanted.pd, wanted.cq); !given) return Unexpected{given.error()};
  if (auto given = check_given_or(EINVAL, wanted.xrcd); !given) return Unexpected{given.error()};
  auto srq = std::make_unique<Srq>();
  auto made =
      rnic::SharedReceiveQueue::create(*Pd::of(wanted.pd)->impl, *Cq::of(wanted.cq)->impl, attributes);
  if (!made) return Unexpected{made.error()};
  srq->impl = std::move(*made);
  srq->domain = Xrcd::of(wanted.xrcd);
  fill(*srq, wanted.pd, wanted.srq_context);
  add_srq(*srq);
  return srq.release();
}

// A CQ that is not extended could not tell what message a buffer was matched by.
Expected<ibv_srq*, Failure> create_tag_matching(const ibv_srq_init_attr_ex& wanted,
                                                ibv_srq_attr& attributes) {
  constexpr std::uint32_t kNeeded = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM;
  const bool complete =
      (wanted.comp_mask & kNeeded) == kNeeded && wanted.pd != nullptr && wanted.cq != nullptr;
  const ibv_tm_cap cap = complete ? wanted.tm_cap : ibv_tm_cap{};
  if (complete) {
    if (auto given = check_given(wanted.pd, wanted.cq); !given) return Unexpected{given.error()};
  }
  if (!complete || !Cq::of(wanted.cq)->extended || cap.max_num_tags == 0 || cap.max_ops == 0)
    return rnic::refused(EINVAL, ReasonId::tm_srq_incomplete, wanted.comp_mask, cap.max_num_tags,
                         cap.max_ops);
  auto srq = std::make_unique<Srq>();
  auto made = rnic::SharedReceiveQueue::create(*Pd::of(wanted.pd)->impl, *Cq::of(wanted.cq)->impl, attributes,
                                               wanted.tm_cap);
  if (!made) return Unexpected{made.error()};
  srq->impl = std::move(*made);
  fill(*srq, wanted.pd, wanted.srq_context);
  return srq.release();
}

Expected<ibv_srq*, Failure> create_extended(ibv_srq_init_attr_ex* attributes) {
  constexpr std::uint32_t kKnown = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
                                   IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM;
  if (attributes == nullptr) return null_argument();
  const std::uint32_t mask = attributes->comp_mask;
  const ibv_srq_type type = (mask & IBV_SRQ_INIT_ATTR_TYPE) != 0 ? attributes->srq_type : IBV_SRQT_BASIC;
  if ((mask & ~kKnown) != 0 || (type != IBV_SRQT_BASIC && type != IBV_SRQT_XRC && type != IBV_SRQT_TM))
    return rnic::refused(EOPNOTSUPP, ReasonId::extended_srq, mask, type);
  if (type == IBV_SRQT_XRC) return create_xrc(*attributes, attributes->attr);
  if (type == IBV_SRQT_TM) return create_tag_matching(*attributes, attributes->attr);
  if ((mask & IBV_SRQ_INIT_ATTR_PD) == 0) return null_argument();
  // The extended structure begins with the plain one (infiniband/verbs.h).
  return create(attributes->pd, reinterpret_cast<ibv_srq_init_attr*>(attributes));
}

Expected<void, Failure> destroy_srq(ibv_srq* verbs) {
  Srq* const srq = Srq::of(verbs);
  if (srq->domain != nullptr) remove_srq(*srq);  // whose destruction cannot be refused: no QP is made with it
  const auto done = srq->impl->destroy();
  if (!done) return done;
  pthread_cond_destroy(&srq->cond);
  pthread_mutex_destroy(&srq->mutex);
  delete srq;
  return {};
}

}  // namespace

ibv_srq* create_srq_ex(ibv_context* /*context*/, ibv_srq_init_attr_ex* attributes) {
  return pointer_call([&] { return alive(create_extended(attributes)); });
}

int post_srq_operations(ibv_srq* srq, ibv_ops_wr* wr, ibv_ops_wr** bad_wr) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (srq == nullptr || bad_wr == nullptr) return null_argument();
    return Srq::of(srq)->impl->post_operations(wr, bad_wr);
  });
}

int get_srq_number(ibv_srq* srq, std::uint32_t* number) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (auto given = check_given(srq, number); !given) return given;
    if (Srq::of(srq)->domain == nullptr) return rnic::refused(EINVAL, ReasonId::srq_without_number);
    *number = Srq::of(srq)->impl->srq_number();
    return {};
  });
}

}  // namespace softrnic::abi

using namespace softrnic;
using namespace softrnic::abi;

SOFTRNIC_VERB(ibv_srq*, ibv_create_srq, (ibv_pd * pd, ibv_srq_init_attr* attributes)) {
  return pointer_call([&] { return alive(create(pd, attributes)); });
}

SOFTRNIC_VERB(int, ibv_modify_srq, (ibv_srq * srq, ibv_srq_attr* attributes, int mask)) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (auto given = check_given(srq, attributes); !given) return given;
    return Srq::of(srq)->impl->modify(*attributes, mask);
  });
}

SOFTRNIC_VERB(int, ibv_query_srq, (ibv_srq * srq, ibv_srq_attr* attributes)) {
  return errno_call([&]() -> Expected<void, Failure> {
    if (auto given = check_given(srq, attributes); !given) return given;
    *attributes = Srq::of(srq)->impl->query();
    return {};
  });
}

SOFTRNIC_VERB(int, ibv_destroy_srq, (ibv_srq * srq)) {
  return errno_call([&] { return end_life(srq, destroy_srq); });
}
