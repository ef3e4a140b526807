// The provider interface, refused: every row of provider_interface.def becomes an exported function.
#include <cerrno>

#include "abi/provider_nodes.h"
#include "base/reason_id.h"

namespace {

int refuse_private() {
  softrnic::explain({.reason = softrnic::because(softrnic::ReasonId::provider_interface)});
  errno = EOPNOTSUPP;
  return EOPNOTSUPP;
}

}  // namespace

// The C calling convention lets a callee ignore arguments, so the stubs declare none.
#define STUB(since, type, name, answer)   \
  since(softrnic_##name, name);           \
  SOFTRNIC_EXPORT type softrnic_##name(); \
  type softrnic_##name() { return answer; }
#define STUB_ERRNO(since, name) STUB(since, int, name, refuse_private())
#define STUB_NEGATIVE(since, name) STUB(since, int, name, -refuse_private())
#define STUB_POINTER(since, name) STUB(since, void*, name, (refuse_private(), nullptr))
#define STUB_VOID(since, name) STUB(since, void, name, void())
#include "abi/verbs/provider_interface.def"

// A provider registers itself by a name of its release. None of its devices ever comes to be.
#define REGISTRATION(node)                                                                        \
  SOFTRNIC_FIRST_NODE(softrnic_verbs_register_driver_##node, verbs_register_driver_##node, node); \
  SOFTRNIC_EXPORT void softrnic_verbs_register_driver_##node();                                   \
  void softrnic_verbs_register_driver_##node() {}
REGISTRATION(34)
REGISTRATION(57)
REGISTRATION(59)
REGISTRATION(64)
REGISTRATION(65)

// The size of an ioctl command buffer: the attributes asked for. A chained buffer comes from a provider only.
SOFTRNIC_PROVIDER_CALL(unsigned, __ioctl_final_num_attrs, (unsigned count, void* /*chain*/)) { return count; }

// Read by providers when their device vanishes.
SINCE_34(softrnic_verbs_allow_disassociate_destroy, verbs_allow_disassociate_destroy);
extern "C" {
SOFTRNIC_VISIBLE bool softrnic_verbs_allow_disassociate_destroy;
}
