#include "abi/verbs/unsupported.h"

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/verbs/newer_verbs.h"
#include "base/reason_id.h"

namespace softrnic::abi {

void refuse_unsupported(verbs_context& verbs) {
  refuse_in<LaterVerb::create_flow_action_esp>(verbs.create_flow_action_esp);
  refuse_in<LaterVerb::modify_flow_action_esp>(verbs.modify_flow_action_esp);
  refuse_in<LaterVerb::destroy_flow_action>(verbs.destroy_flow_action);
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
