// Fork safety. The adapter is software: it reaches registered memory through the process's own page tables,
// so copy-on-write after a fork does no harm and no page needs to be kept from the child.
#include <infiniband/verbs.h>

#include "abi/export.h"

SOFTRNIC_EXPORT int ibv_dontfork_range(void* base, size_t size);
SOFTRNIC_EXPORT int ibv_dofork_range(void* base, size_t size);

int ibv_dontfork_range(void* /*base*/, size_t /*size*/) { return 0; }
int ibv_dofork_range(void* /*base*/, size_t /*size*/) { return 0; }

SOFTRNIC_EXPORT int ibv_fork_init(void) { return 0; }

SOFTRNIC_EXPORT ibv_fork_status ibv_is_fork_initialized(void) { return IBV_FORK_UNNEEDED; }
