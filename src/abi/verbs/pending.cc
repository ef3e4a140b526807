// Verbs that wait for the layers below: they fail.
#include <cerrno>

#include "abi/verbs/export.h"

#define PENDING(name)                                             \
  SOFTRNIC_DEFAULT_VERSION(softrnic_##name, name, "IBVERBS_1.1"); \
  SOFTRNIC_EXPORT long softrnic_##name();                         \
  long softrnic_##name() {                                        \
    errno = EOPNOTSUPP;                                           \
    return 0;                                                     \
  }
#define PENDING1(name)         \
  SOFTRNIC_EXPORT long name(); \
  long name() {                \
    errno = EOPNOTSUPP;        \
    return 0;                  \
  }
PENDING1(_ibv_query_gid_ex)
PENDING1(_ibv_query_gid_table)
PENDING(ibv_ack_async_event)
PENDING(ibv_ack_cq_events)
PENDING(ibv_alloc_pd)
PENDING(ibv_attach_mcast)
PENDING(ibv_close_device)
PENDING(ibv_create_ah)
PENDING1(ibv_create_ah_from_wc)
PENDING1(ibv_create_comp_channel)
PENDING(ibv_create_cq)
PENDING(ibv_create_qp)
PENDING(ibv_create_srq)
PENDING(ibv_dealloc_pd)
PENDING(ibv_dereg_mr)
PENDING(ibv_destroy_ah)
PENDING1(ibv_destroy_comp_channel)
PENDING(ibv_destroy_cq)
PENDING(ibv_destroy_qp)
PENDING(ibv_destroy_srq)
PENDING(ibv_detach_mcast)
PENDING(ibv_free_device_list)
PENDING(ibv_get_async_event)
PENDING(ibv_get_cq_event)
PENDING(ibv_get_device_guid)
PENDING1(ibv_get_device_index)
PENDING(ibv_get_device_list)
PENDING(ibv_get_device_name)
PENDING1(ibv_get_pkey_index)
PENDING1(ibv_import_device)
PENDING1(ibv_import_dm)
PENDING1(ibv_import_mr)
PENDING1(ibv_import_pd)
PENDING1(ibv_init_ah_from_wc)
PENDING(ibv_modify_qp)
PENDING(ibv_modify_srq)
PENDING(ibv_open_device)
PENDING1(ibv_qp_to_qp_ex)
PENDING(ibv_query_device)
PENDING1(ibv_query_ece)
PENDING(ibv_query_gid)
PENDING1(ibv_query_gid_type)
PENDING(ibv_query_pkey)
PENDING(ibv_query_port)
PENDING(ibv_query_qp)
PENDING1(ibv_query_qp_data_in_order)
PENDING(ibv_query_srq)
PENDING1(ibv_reg_dmabuf_mr)
PENDING(ibv_reg_mr)
PENDING1(ibv_reg_mr_iova)
PENDING1(ibv_reg_mr_iova2)
PENDING1(ibv_rereg_mr)
PENDING(ibv_resize_cq)
PENDING1(ibv_resolve_eth_l2_from_gid)
PENDING1(ibv_set_ece)
PENDING1(ibv_unimport_dm)
PENDING1(ibv_unimport_mr)
PENDING1(ibv_unimport_pd)
