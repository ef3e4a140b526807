// Conversions between the kernel's structures and those of the library. librdmacm calls them.
#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>

#include <cstring>

#include "abi/export.h"

SOFTRNIC_EXPORT void ibv_copy_ah_attr_from_kern(ibv_ah_attr* to, ib_uverbs_ah_attr* from);
SOFTRNIC_EXPORT void ibv_copy_qp_attr_from_kern(ibv_qp_attr* to, ib_uverbs_qp_attr* from);
SOFTRNIC_EXPORT void ibv_copy_path_rec_from_kern(ibv_sa_path_rec* to, ib_user_path_rec* from);
SOFTRNIC_EXPORT void ibv_copy_path_rec_to_kern(ib_user_path_rec* to, ibv_sa_path_rec* from);

namespace {

/// Copies a field of the same name, whatever its two types are.
template <typename To, typename From>
void copy(To& to, const From& from) {
  to = static_cast<To>(from);
}

template <typename To, typename From>
void copy_path_fields(To& to, const From& from) {
  copy(to.dlid, from.dlid);
  copy(to.slid, from.slid);
  copy(to.raw_traffic, from.raw_traffic);
  copy(to.flow_label, from.flow_label);
  copy(to.hop_limit, from.hop_limit);
  copy(to.traffic_class, from.traffic_class);
  copy(to.reversible, from.reversible);
  copy(to.numb_path, from.numb_path);
  copy(to.pkey, from.pkey);
  copy(to.sl, from.sl);
  copy(to.mtu_selector, from.mtu_selector);
  copy(to.mtu, from.mtu);
  copy(to.rate_selector, from.rate_selector);
  copy(to.rate, from.rate);
  copy(to.packet_life_time, from.packet_life_time);
  copy(to.packet_life_time_selector, from.packet_life_time_selector);
  copy(to.preference, from.preference);
}

}  // namespace

void ibv_copy_ah_attr_from_kern(ibv_ah_attr* to, ib_uverbs_ah_attr* from) {
  std::memcpy(to->grh.dgid.raw, from->grh.dgid, sizeof to->grh.dgid.raw);
  to->grh.flow_label = from->grh.flow_label;
  to->grh.sgid_index = from->grh.sgid_index;
  to->grh.hop_limit = from->grh.hop_limit;
  to->grh.traffic_class = from->grh.traffic_class;
  to->dlid = from->dlid;
  to->sl = from->sl;
  to->src_path_bits = from->src_path_bits;
  to->static_rate = from->static_rate;
  to->is_global = from->is_global;
  to->port_num = from->port_num;
}

// qp_state stays as it is: the kernel's structure has cur_qp_state only at the place that matters to
// librdmacm.
void ibv_copy_qp_attr_from_kern(ibv_qp_attr* to, ib_uverbs_qp_attr* from) {
  copy(to->cur_qp_state, from->cur_qp_state);
  copy(to->path_mtu, from->path_mtu);
  copy(to->path_mig_state, from->path_mig_state);
  copy(to->qkey, from->qkey);
  copy(to->rq_psn, from->rq_psn);
  copy(to->sq_psn, from->sq_psn);
  copy(to->dest_qp_num, from->dest_qp_num);
  copy(to->qp_access_flags, from->qp_access_flags);
  copy(to->cap.max_send_wr, from->max_send_wr);
  copy(to->cap.max_recv_wr, from->max_recv_wr);
  copy(to->cap.max_send_sge, from->max_send_sge);
  copy(to->cap.max_recv_sge, from->max_recv_sge);
  copy(to->cap.max_inline_data, from->max_inline_data);
  ibv_copy_ah_attr_from_kern(&to->ah_attr, &from->ah_attr);
  ibv_copy_ah_attr_from_kern(&to->alt_ah_attr, &from->alt_ah_attr);
  copy(to->pkey_index, from->pkey_index);
  copy(to->alt_pkey_index, from->alt_pkey_index);
  copy(to->en_sqd_async_notify, from->en_sqd_async_notify);
  copy(to->sq_draining, from->sq_draining);
  copy(to->max_rd_atomic, from->max_rd_atomic);
  copy(to->max_dest_rd_atomic, from->max_dest_rd_atomic);
  copy(to->min_rnr_timer, from->min_rnr_timer);
  copy(to->port_num, from->port_num);
  copy(to->timeout, from->timeout);
  copy(to->retry_cnt, from->retry_cnt);
  copy(to->rnr_retry, from->rnr_retry);
  copy(to->alt_port_num, from->alt_port_num);
  copy(to->alt_timeout, from->alt_timeout);
}

void ibv_copy_path_rec_from_kern(ibv_sa_path_rec* to, ib_user_path_rec* from) {
  std::memcpy(to->dgid.raw, from->dgid, sizeof to->dgid.raw);
  std::memcpy(to->sgid.raw, from->sgid, sizeof to->sgid.raw);
  copy_path_fields(*to, *from);
}

void ibv_copy_path_rec_to_kern(ib_user_path_rec* to, ibv_sa_path_rec* from) {
  std::memcpy(to->dgid, from->dgid.raw, sizeof to->dgid);
  std::memcpy(to->sgid, from->sgid.raw, sizeof to->sgid);
  copy_path_fields(*to, *from);
}
