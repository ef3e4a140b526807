#include "abi/verbs/unsupported.h"

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/verbs/newer_verbs.h"

namespace softrnic::abi {
namespace {

void refuse_queues(verbs_context& verbs) {
  refuse_in<LaterVerb::create_wq>(verbs.create_wq);
  refuse_in<LaterVerb::modify_wq>(verbs.modify_wq);
  refuse_in<LaterVerb::destroy_wq>(verbs.destroy_wq);
  refuse_in<LaterVerb::create_rwq_ind_table>(verbs.create_rwq_ind_table);
  refuse_in<LaterVerb::destroy_rwq_ind_table>(verbs.destroy_rwq_ind_table);
}

void refuse_flows_and_domains(verbs_context& verbs) {
  refuse_in<LaterVerb::create_flow>(verbs.ibv_create_flow);
  refuse_in<LaterVerb::destroy_flow>(verbs.ibv_destroy_flow);
  refuse_in<LaterVerb::create_flow_action_esp>(verbs.create_flow_action_esp);
  refuse_in<LaterVerb::modify_flow_action_esp>(verbs.modify_flow_action_esp);
  refuse_in<LaterVerb::destroy_flow_action>(verbs.destroy_flow_action);
  refuse_in<LaterVerb::create_counters>(verbs.create_counters);
  refuse_in<LaterVerb::destroy_counters>(verbs.destroy_counters);
  refuse_in<LaterVerb::attach_counters_point_flow>(verbs.attach_counters_point_flow);
  refuse_in<LaterVerb::read_counters>(verbs.read_counters);
  // Where programs built with libibverbs 1.1.8 look for the two flow calls.
  verbs.ABI_placeholder1 = reinterpret_cast<void (*)()>(verbs.ibv_create_flow);
  verbs.ABI_placeholder2 = reinterpret_cast<void (*)()>(verbs.ibv_destroy_flow);
}

}  // namespace

void refuse_unsupported(verbs_context& verbs) {
  refuse_queues(verbs);
  refuse_flows_and_domains(verbs);
}

}  // namespace softrnic::abi

using namespace softrnic;
using namespace softrnic::abi;

// DMA handles are hints for PCIe, which is not there.

SOFTRNIC_VERSIONED(Dmah*, ibv_alloc_dmah, "IBVERBS_1.15", (ibv_context*, DmahInitAttr*)) {
  return pointer_call([]() -> Expected<Dmah*, Failure> {
    return rnic::refused(EOPNOTSUPP, ReasonId::not_supported, LaterVerb::alloc_dmah);
  });
}

SOFTRNIC_VERSIONED(int, ibv_dealloc_dmah, "IBVERBS_1.15", (Dmah*)) {
  return errno_call([]() -> Expected<void, Failure> {
    return rnic::refused(EOPNOTSUPP, ReasonId::not_supported, LaterVerb::dealloc_dmah);
  });
}

SOFTRNIC_VERSIONED(int, ibv_dm_export_dmabuf_fd, "IBVERBS_1.16", (ibv_dm*)) {
  return minus_one_call([]() -> Expected<void, Failure> {
    return rnic::refused(EOPNOTSUPP, ReasonId::not_supported, LaterVerb::dm_export_dmabuf_fd);
  });
}
