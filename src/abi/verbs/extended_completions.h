// Extended completion queues: the operations of struct verbs_context and struct ibv_cq_ex.
#pragma once

#include <infiniband/verbs.h>

namespace softrnic::abi {

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes);
int query_rt_values(ibv_context* context, ibv_values_ex* values);

}  // namespace softrnic::abi
