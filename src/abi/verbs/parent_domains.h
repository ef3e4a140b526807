// Thread domains and parent domains.
#pragma once

#include <infiniband/verbs.h>

namespace softrnic::abi {

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attributes);
int dealloc_td(ibv_td* td);
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes);

}  // namespace softrnic::abi
