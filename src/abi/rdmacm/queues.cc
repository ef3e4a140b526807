#include "abi/rdmacm/queues.h"

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <cerrno>
#include <cstring>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/rdmacm/qp_states.h"
#include "base/reason_id.h"

namespace softrnic::rdmacm {
namespace {

/// A verb that failed has explained itself.
Unexpected<Failure> verb_failed() { return Unexpected{Failure{errno, {}}}; }

/// A CQ and its channel: both or neither.
struct OwnedCq {
  ibv_comp_channel*& channel;
  ibv_cq*& cq;

  Expected<void, Failure> make(Id& id, std::uint32_t entries) const {
    channel = ibv_create_comp_channel(id.verbs);
    if (channel == nullptr) return verb_failed();
    cq = ibv_create_cq(id.verbs, static_cast<int>(entries), &id, channel, 0);
    if (cq != nullptr) return {};
    const int error = errno;
    destroy();
    return Unexpected{Failure{error, {}}};
  }
  void destroy() const {
    if (channel == nullptr) return;  // none, or a CQ of the program's
    if (cq != nullptr) ibv_destroy_cq(cq);
    ibv_destroy_comp_channel(channel);
    cq = nullptr;
    channel = nullptr;
  }
};

OwnedCq send_side(Id& id) { return {id.send_cq_channel, id.send_cq}; }
OwnedCq receive_side(Id& id) { return {id.recv_cq_channel, id.recv_cq}; }

// The completions of an XRC target are those of the SRQ that its requests name, and so is the CQ.
void destroy_cqs(Id& id) {
  if (id.qp_type == IBV_QPT_XRC_RECV && id.srq != nullptr) return;
  send_side(id).destroy();
  receive_side(id).destroy();
}

/// The CQs that neither the program nor an earlier call has given, for the directions that are used at all.
Expected<void, Failure> make_cqs(Id& id, const ibv_qp_init_attr_ex& attributes) {
  Expected<void, Failure> made;
  if (attributes.recv_cq == nullptr && id.recv_cq == nullptr && attributes.cap.max_recv_wr != 0)
    made = receive_side(id).make(id, attributes.cap.max_recv_wr);
  if (made && attributes.send_cq == nullptr && id.send_cq == nullptr && attributes.cap.max_send_wr != 0)
    made = send_side(id).make(id, attributes.cap.max_send_wr);
  return made;
}

Expected<void, Failure> check(const Id& id, const ibv_qp_init_attr_ex& attributes) {
  if (id.qp != nullptr) return rnic::refused(EINVAL, ReasonId::rdma_has_qp, id.qp->qp_num);
  if (auto bound = id.require_device(); !bound) return bound;
  if (attributes.pd->context != id.verbs) return rnic::refused(EINVAL, ReasonId::foreign_object);
  const auto differ = [](const ibv_cq* own, const ibv_cq* given) {
    return own != nullptr && given != nullptr && own != given;
  };
  if (differ(id.send_cq, attributes.send_cq) || differ(id.recv_cq, attributes.recv_cq))
    return rnic::refused(EINVAL, ReasonId::rdma_other_cqs);
  return {};
}

/// As far as the program has not given one.
template <typename Attributes>
Expected<void, Failure> set_xrc_domain(Id& id, Attributes& attributes, std::uint32_t bit) {
  if ((attributes.comp_mask & bit) != 0 && attributes.xrcd != nullptr) return {};
  const auto domain = id.session->devices.xrc_domain(*id.device);
  if (!domain) return Unexpected{domain.error()};
  attributes.comp_mask |= bit;
  attributes.xrcd = *domain;
  return {};
}

Expected<void, Failure> make_qp(Id& id, ibv_qp_init_attr_ex& attributes) {
  if (attributes.send_cq == nullptr) attributes.send_cq = id.send_cq;
  if (attributes.recv_cq == nullptr) attributes.recv_cq = id.recv_cq;
  const bool target = attributes.qp_type == IBV_QPT_XRC_RECV;
  if (attributes.srq == nullptr && !target) attributes.srq = id.srq;
  if (id.qp_type == IBV_QPT_XRC_RECV) {
    const auto set = set_xrc_domain(id, attributes, IBV_QP_INIT_ATTR_XRCD);
    if (!set) return set;
  }
  ibv_qp* const qp = ibv_create_qp_ex(id.verbs, &attributes);
  if (qp == nullptr) return verb_failed();
  auto ready = make_ready(id, *qp);
  if (!ready) {
    ibv_destroy_qp(qp);
    return ready;
  }
  id.qp = qp;
  id.pd = attributes.pd;  // which an XRC target has not
  return {};
}

}  // namespace

Expected<void, Failure> create_qp(Id& id, ibv_qp_init_attr_ex& attributes) {
  if ((attributes.comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || attributes.pd == nullptr) {
    attributes.comp_mask |= IBV_QP_INIT_ATTR_PD;
    attributes.pd = id.pd;
  }
  if (auto usable = check(id, attributes); !usable) return usable;
  auto made = make_cqs(id, attributes);
  if (made) made = make_qp(id, attributes);
  if (!made) destroy_cqs(id);
  return made;
}

// The extended structures begin with the plain ones (infiniband/verbs.h).
Expected<void, Failure> create_qp(Id& id, ibv_pd* pd, ibv_qp_init_attr& attributes) {
  ibv_qp_init_attr_ex extended{};
  std::memcpy(static_cast<void*>(&extended), &attributes, sizeof attributes);
  extended.comp_mask = IBV_QP_INIT_ATTR_PD;
  extended.pd = pd;
  auto made = create_qp(id, extended);
  std::memcpy(static_cast<void*>(&attributes), &extended, sizeof attributes);
  return made;
}

void destroy_qp(Id& id) {
  if (id.qp != nullptr) ibv_destroy_qp(id.qp);
  id.qp = nullptr;
  destroy_cqs(id);
}

void destroy_srq(Id& id) {
  if (id.srq != nullptr) ibv_destroy_srq(id.srq);
  id.srq = nullptr;
  destroy_cqs(id);
}

namespace {

/// The CQ of an SRQ of XRC. One that the library has made with the XRC target serves nothing else.
Expected<void, Failure> make_srq_cq(Id& id, const ibv_srq_init_attr_ex& attributes) {
  if (id.recv_cq == nullptr) return receive_side(id).make(id, attributes.attr.max_wr);
  if (id.recv_cq_channel == nullptr || id.recv_cq->cqe >= static_cast<int>(attributes.attr.max_wr)) return {};
  const int error = ibv_resize_cq(id.recv_cq, static_cast<int>(attributes.attr.max_wr));
  return error == 0 ? Expected<void, Failure>() : Unexpected{Failure{error, {}}};
}

Expected<void, Failure> complete_xrc(Id& id, ibv_srq_init_attr_ex& attributes) {
  if (auto set = set_xrc_domain(id, attributes, IBV_SRQ_INIT_ATTR_XRCD); !set) return set;
  if ((attributes.comp_mask & IBV_SRQ_INIT_ATTR_CQ) != 0 && attributes.cq != nullptr) return {};
  if (auto made = make_srq_cq(id, attributes); !made) return made;
  attributes.comp_mask |= IBV_SRQ_INIT_ATTR_CQ;
  attributes.cq = id.recv_cq;
  return {};
}

Expected<void, Failure> create_srq(Id& id, ibv_srq_init_attr_ex& attributes) {
  if (auto bound = id.require_device(); !bound) return bound;
  if ((attributes.comp_mask & IBV_SRQ_INIT_ATTR_TYPE) == 0)
    return rnic::refused(EINVAL, ReasonId::rdma_bad_mask, attributes.comp_mask, 0);
  if ((attributes.comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0 || attributes.pd == nullptr) {
    attributes.comp_mask |= IBV_SRQ_INIT_ATTR_PD;
    attributes.pd = id.pd;
  }
  const bool had_cq = id.recv_cq != nullptr;
  Expected<void, Failure> made;
  if (attributes.srq_type == IBV_SRQT_XRC) made = complete_xrc(id, attributes);
  if (made) {
    id.srq = ibv_create_srq_ex(id.verbs, &attributes);
    if (id.srq == nullptr) made = verb_failed();
  }
  if (!made && !had_cq) receive_side(id).destroy();
  return made;
}

}  // namespace
}  // namespace softrnic::rdmacm

using namespace softrnic;
using namespace softrnic::rdmacm;

SOFTRNIC_EXPORT int rdma_create_qp(rdma_cm_id* id, ibv_pd* pd, ibv_qp_init_attr* qp_init_attr) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr || qp_init_attr == nullptr) return abi::null_argument();
    return create_qp(*Id::of(id), pd, *qp_init_attr);
  });
}

SOFTRNIC_EXPORT int rdma_create_qp_ex(rdma_cm_id* id, ibv_qp_init_attr_ex* qp_init_attr) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr || qp_init_attr == nullptr) return abi::null_argument();
    return create_qp(*Id::of(id), *qp_init_attr);
  });
}

SOFTRNIC_EXPORT void rdma_destroy_qp(rdma_cm_id* id) {
  if (id != nullptr) destroy_qp(*Id::of(id));
}

SOFTRNIC_EXPORT int rdma_create_srq(rdma_cm_id* id, ibv_pd* pd, ibv_srq_init_attr* attr) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr || attr == nullptr) return abi::null_argument();
    ibv_srq_init_attr_ex extended{};
    std::memcpy(static_cast<void*>(&extended), attr, sizeof *attr);
    extended.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
    extended.srq_type = id->qp_type == IBV_QPT_XRC_RECV ? IBV_SRQT_XRC : IBV_SRQT_BASIC;
    extended.pd = pd;
    auto made = create_srq(*Id::of(id), extended);
    std::memcpy(static_cast<void*>(attr), &extended, sizeof *attr);
    return made;
  });
}

SOFTRNIC_EXPORT int rdma_create_srq_ex(rdma_cm_id* id, ibv_srq_init_attr_ex* attr) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr || attr == nullptr) return abi::null_argument();
    return create_srq(*Id::of(id), *attr);
  });
}

SOFTRNIC_EXPORT void rdma_destroy_srq(rdma_cm_id* id) {
  if (id != nullptr) destroy_srq(*Id::of(id));
}
