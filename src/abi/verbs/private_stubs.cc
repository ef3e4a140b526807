// The provider interface, refused: every row of private_stubs.def becomes an exported function.
#include <cerrno>

#include "abi/export.h"
#include "base/reason.h"

namespace {

int refuse_private() {
  softrnic::explain({.reason = softrnic::because(softrnic::ReasonId::provider_interface)});
  errno = EOPNOTSUPP;
  return EOPNOTSUPP;
}

}  // namespace

// The C calling convention lets a callee ignore arguments, so the stubs declare none.
#define STUB_ERRNO(name)      \
  SOFTRNIC_EXPORT int name(); \
  int name() { return refuse_private(); }
#define STUB_NEGATIVE(name)   \
  SOFTRNIC_EXPORT int name(); \
  int name() { return -refuse_private(); }
#define STUB_POINTER(name)      \
  SOFTRNIC_EXPORT void* name(); \
  void* name() { return refuse_private(), nullptr; }
#define STUB_VOID(name)        \
  SOFTRNIC_EXPORT void name(); \
  void name() {}
#include "abi/verbs/private_stubs.def"

// The size of an ioctl command buffer: the attributes asked for. A chained buffer comes from a provider only.
SOFTRNIC_EXPORT unsigned __ioctl_final_num_attrs(unsigned count, void* chain);
unsigned __ioctl_final_num_attrs(unsigned count, void* /*chain*/) { return count; }

// Read by providers when their device vanishes.
extern "C" {
SOFTRNIC_VISIBLE bool verbs_allow_disassociate_destroy;
}
