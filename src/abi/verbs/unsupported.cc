#include "abi/verbs/unsupported.h"

namespace softrnic::abi {
namespace {

void refuse_memory(verbs_context& verbs) {
  refuse_in(verbs.advise_mr);
  refuse_in(verbs.alloc_null_mr);
  refuse_in(verbs.reg_dm_mr);
  refuse_in(verbs.alloc_dm);
  refuse_in(verbs.free_dm);
  refuse_in(verbs.context.ops.alloc_mw);
  refuse_in(verbs.context.ops.bind_mw);
  refuse_in(verbs.context.ops.dealloc_mw);
}

void refuse_queues(verbs_context& verbs) {
  refuse_in(verbs.create_cq_ex);
  refuse_in(verbs.modify_cq);
  refuse_in(verbs.create_srq_ex);
  refuse_in(verbs.get_srq_num);
  refuse_in(verbs.post_srq_ops);
  refuse_in(verbs.open_xrcd);
  refuse_in(verbs.close_xrcd);
  refuse_in(verbs.open_qp);
  refuse_in(verbs.modify_qp_rate_limit);
  refuse_in(verbs.create_wq);
  refuse_in(verbs.modify_wq);
  refuse_in(verbs.destroy_wq);
  refuse_in(verbs.create_rwq_ind_table);
  refuse_in(verbs.destroy_rwq_ind_table);
}

void refuse_flows_and_domains(verbs_context& verbs) {
  refuse_in(verbs.ibv_create_flow);
  refuse_in(verbs.ibv_destroy_flow);
  refuse_in(verbs.create_flow_action_esp);
  refuse_in(verbs.modify_flow_action_esp);
  refuse_in(verbs.destroy_flow_action);
  refuse_in(verbs.create_counters);
  refuse_in(verbs.destroy_counters);
  refuse_in(verbs.attach_counters_point_flow);
  refuse_in(verbs.read_counters);
  refuse_in(verbs.alloc_parent_domain);
  refuse_in(verbs.alloc_td);
  refuse_in(verbs.dealloc_td);
  refuse_in(verbs.query_rt_values);
  // Where programs built with libibverbs 1.1.8 look for the two flow calls.
  verbs.ABI_placeholder1 = reinterpret_cast<void (*)()>(verbs.ibv_create_flow);
  verbs.ABI_placeholder2 = reinterpret_cast<void (*)()>(verbs.ibv_destroy_flow);
}

}  // namespace

void refuse_unsupported(verbs_context& verbs) {
  refuse_memory(verbs);
  refuse_queues(verbs);
  refuse_flows_and_domains(verbs);
}

}  // namespace softrnic::abi
