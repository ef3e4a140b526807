#include "abi/rdmacm/qp_states.h"

#include <rdma/rdma_cma.h>

#include <cstring>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/rdmacm/streams.h"

namespace softrnic::rdmacm {
namespace {

/// A verb that fails has explained itself.
Expected<void, Failure> modify(ibv_qp& qp, ibv_qp_attr& attributes, int mask) {
  if (const int error = ibv_modify_qp(&qp, &attributes, mask)) return Unexpected{Failure{error, {}}};
  return {};
}

/// With what the connection manager knows for `state`, after adjust(attributes).
template <typename Adjust>
Expected<void, Failure> modify_as_agreed(Id& id, ibv_qp& qp, ibv_qp_state state, Adjust adjust) {
  ibv_qp_attr attributes{};
  attributes.qp_state = state;
  const auto mask = init_qp_attributes(id, attributes);
  if (!mask) return Unexpected{mask.error()};
  adjust(attributes);
  return modify(qp, attributes, *mask);
}

Expected<void, Failure> modify_as_agreed(Id& id, ibv_qp& qp, ibv_qp_state state) {
  return modify_as_agreed(id, qp, state, [](ibv_qp_attr&) {});
}

void copy(ibv_qp_attr& to, const control::CmQpAttributesReply& from) {
  to = {};
  to.qp_state = static_cast<ibv_qp_state>(from.state);
  to.path_mtu = static_cast<ibv_mtu>(from.path_mtu);
  to.qkey = from.qkey;
  to.rq_psn = from.rq_psn;
  to.sq_psn = from.sq_psn;
  to.dest_qp_num = from.dest_qpn;
  to.qp_access_flags = from.access_flags;
  to.ah_attr = address_of(from.address);
  to.pkey_index = from.pkey_index;
  to.max_rd_atomic = from.max_rd_atomic;
  to.max_dest_rd_atomic = from.max_dest_rd_atomic;
  to.min_rnr_timer = from.min_rnr_timer;
  to.port_num = from.port;
  to.timeout = from.timeout;
  to.retry_cnt = from.retry_count;
  to.rnr_retry = from.rnr_retry;
}

}  // namespace

ibv_ah_attr address_of(const control::CmAddressVector& vector) {
  ibv_ah_attr address{};
  std::memcpy(address.grh.dgid.raw, vector.gid, sizeof address.grh.dgid.raw);
  address.grh.flow_label = vector.flow_label;
  address.grh.sgid_index = vector.sgid_index;
  address.grh.hop_limit = vector.hop_limit;
  address.grh.traffic_class = vector.traffic_class;
  address.dlid = vector.lid;
  address.sl = vector.sl;
  address.src_path_bits = vector.source_path_bits;
  address.static_rate = vector.static_rate;
  address.is_global = vector.is_global;
  address.port_num = 1;
  return address;
}

Expected<int, Failure> init_qp_attributes(Id& id, ibv_qp_attr& attributes) {
  const auto reply = id.session->heard(
      id.session->daemon.qp_attributes(id.number, static_cast<std::uint32_t>(attributes.qp_state)));
  if (!reply) return Unexpected{reply.error()};
  copy(attributes, *reply);
  return static_cast<int>(reply->mask);
}

Expected<void, Failure> make_ready(Id& id, ibv_qp& qp) {
  auto done = modify_as_agreed(id, qp, IBV_QPS_INIT);
  if (!done || !id.datagrams()) return done;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  done = modify(qp, attributes, IBV_QP_STATE);
  if (!done) return done;
  attributes.qp_state = IBV_QPS_RTS;
  return modify(qp, attributes, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

Expected<void, Failure> modify_to_rtr(Id& id, std::uint8_t responder_resources) {
  if (id.qp == nullptr || has_streams(id)) return {};
  // INIT again: what was assumed when the QP was created may not be what was agreed on since.
  if (auto done = modify_as_agreed(id, *id.qp, IBV_QPS_INIT); !done) return done;
  return modify_as_agreed(id, *id.qp, IBV_QPS_RTR, [&](ibv_qp_attr& attributes) {
    if (responder_resources != RDMA_MAX_RESP_RES) attributes.max_dest_rd_atomic = responder_resources;
  });
}

Expected<void, Failure> modify_to_rts(Id& id, std::uint8_t initiator_depth) {
  if (id.qp == nullptr || has_streams(id)) return {};
  return modify_as_agreed(id, *id.qp, IBV_QPS_RTS, [&](ibv_qp_attr& attributes) {
    if (initiator_depth != RDMA_MAX_INIT_DEPTH) attributes.max_rd_atomic = initiator_depth;
  });
}

Expected<void, Failure> modify_to_error(Id& id) {
  if (id.qp == nullptr) return {};
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  return modify(*id.qp, attributes, IBV_QP_STATE);
}

Expected<void, Failure> confirm(Id& id) {
  auto done = modify_to_rtr(id, RDMA_MAX_RESP_RES);
  if (done) done = modify_to_rts(id, RDMA_MAX_INIT_DEPTH);
  if (done) {
    const auto sent = id.session->heard(id.session->daemon.accept(id.number, id.cookie, {}, {}));
    if (!sent) done = Unexpected{sent.error()};
  }
  if (!done) static_cast<void>(modify_to_error(id));
  return done;
}

}  // namespace softrnic::rdmacm

using namespace softrnic;
using namespace softrnic::rdmacm;

SOFTRNIC_EXPORT int rdma_init_qp_attr(rdma_cm_id* id, ibv_qp_attr* qp_attr, int* qp_attr_mask) {
  return abi::minus_one_call([&]() -> Expected<void, Failure> {
    if (id == nullptr || qp_attr == nullptr || qp_attr_mask == nullptr) return abi::null_argument();
    const auto mask = init_qp_attributes(*Id::of(id), *qp_attr);
    if (!mask) return Unexpected{mask.error()};
    *qp_attr_mask = *mask;
    return {};
  });
}
