// Enhanced connection establishment for QPs that the program makes itself: what is carried in REQ and REP,
// unread.
#include <rdma/rdma_cma.h>

#include <cerrno>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/rdmacm/id.h"
#include "base/reason_id.h"

using namespace softrnic;
using namespace softrnic::rdmacm;

SOFTRNIC_EXPORT int rdma_set_local_ece(rdma_cm_id* id, ibv_ece* ece) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr || ece == nullptr) return abi::null_argument();
    if (id->qp != nullptr) return rnic::refused(EINVAL, ReasonId::rdma_has_qp, id->qp->qp_num);
    if (ece->vendor_id == 0 || ece->comp_mask != 0)
      return rnic::refused(EINVAL, ReasonId::rdma_bad_ece, ece->vendor_id, ece->comp_mask);
    Id::of(id)->local_ece = {ece->vendor_id, ece->options};
    return {};
  });
}

SOFTRNIC_EXPORT int rdma_get_remote_ece(rdma_cm_id* id, ibv_ece* ece) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr || ece == nullptr) return abi::null_argument();
    if (id->qp != nullptr) return rnic::refused(EINVAL, ReasonId::rdma_has_qp, id->qp->qp_num);
    const control::CmEce& remote = Id::of(id)->remote_ece;
    *ece = {remote.vendor, remote.options, 0};
    return {};
  });
}
