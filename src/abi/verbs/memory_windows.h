// The operations of memory windows that programs reach through struct ibv_context_ops.
#pragma once

#include <infiniband/verbs.h>

namespace softrnic::abi {

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type);
int dealloc_mw(ibv_mw* mw);
/// Posts to `qp`; mw->rkey is the new key from then on.
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind);

}  // namespace softrnic::abi
