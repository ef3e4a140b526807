#include "cma/qp_attributes.h"

#include <cerrno>

#include "base/reason_id.h"
#include "cma/path.h"

namespace softrnic::cma {
namespace {

constexpr std::uint32_t kBasic = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

// Which half of a reliable connection the queue pair is, or has.
bool responds(const Id& id) { return id.qp_type == IBV_QPT_RC || id.qp_type == IBV_QPT_XRC_RECV; }
bool requests(const Id& id) { return id.qp_type == IBV_QPT_RC || id.qp_type == IBV_QPT_XRC_SEND; }

/// Before there is a connection; and of a datagram queue pair in every state, as it has nothing to connect.
void fill_unconnected(const Id& id, std::uint32_t qkey, QpAttributes& out) {
  out.mask = kBasic | (id.is_datagram() ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
  out.qkey = qkey;
}

void fill_init(const Id& id, QpAttributes& out) {
  out.mask = kBasic | IBV_QP_ACCESS_FLAGS;
  out.access_flags = IBV_ACCESS_REMOTE_WRITE;
  if (id.agreement.responder_resources != 0)
    out.access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
}

void fill_rtr(const Id& id, QpAttributes& out) {
  out.mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  out.address = address_vector(id.path, id.binding.gid_index);
  out.path_mtu = id.path.mtu;
  out.dest_qpn = id.agreement.remote_qpn;
  out.rq_psn = id.starting_psn;
  if (!responds(id)) return;
  out.mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  out.max_dest_rd_atomic = id.agreement.responder_resources;
  out.min_rnr_timer = 0;
}

void fill_rts(const Id& id, QpAttributes& out) {
  out.mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  out.sq_psn = id.agreement.remote_starting_psn;
  if (!responds(id) && !requests(id)) return;
  out.mask |= IBV_QP_TIMEOUT;
  out.timeout = id.qp_timeout.value_or(id.agreement.ack_timeout);
  if (!requests(id)) return;
  out.mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  out.retry_count = id.agreement.retry_count;
  out.rnr_retry = id.agreement.rnr_retry_count;
  out.max_rd_atomic = id.agreement.initiator_depth;
}

/// As the kernel's iw_cm: access is all there is to be set, and the connection itself brings the queue pair
/// to RTS. Atomics of RFC 7306 are in it, which the kernel's knows nothing of.
Expected<QpAttributes, Failure> stream_attributes(std::uint32_t state) {
  if (state != IBV_QPS_INIT && state != IBV_QPS_RTR && state != IBV_QPS_RTS)
    return Unexpected{refuse(EINVAL, ReasonId::cma_qp_state, state)};
  QpAttributes out;
  out.state = static_cast<ibv_qp_state>(state);
  if (state == IBV_QPS_RTS) return out;
  out.mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS;
  out.access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  return out;
}

}  // namespace

Expected<QpAttributes, Failure> qp_attributes_of(const Id& id, std::uint32_t state,
                                                 const DeviceTable& devices) {
  if (!id.binding) return Unexpected{refuse(EINVAL, ReasonId::cma_no_device)};
  if (id.binding.has_streams()) return stream_attributes(state);
  QpAttributes out;
  out.state = static_cast<ibv_qp_state>(state);
  const bool after_agreement = state == IBV_QPS_RTR || state == IBV_QPS_RTS;
  if (id.is_datagram() || id.connection.value == 0) {
    fill_unconnected(id, id.qkey != 0 ? id.qkey : RDMA_UDP_QKEY, out);
  } else if (state == IBV_QPS_INIT) {
    fill_init(id, out);
  } else if (after_agreement && id.agreed) {
    (state == IBV_QPS_RTR ? fill_rtr : fill_rts)(id, out);
  } else {
    return Unexpected{refuse(EINVAL, ReasonId::cma_qp_state, state)};
  }
  const std::uint16_t pkey = id.has_path ? id.path.pkey : id.binding.pkey;
  const auto pkey_index = devices.pkey_index_of(id.binding, pkey);
  if (!pkey_index) return Unexpected{refuse(EINVAL, ReasonId::no_such_pkey, pkey)};
  out.pkey_index = *pkey_index;
  return out;
}

}  // namespace softrnic::cma
