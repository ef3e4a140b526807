// Flows and their counters.
#pragma once

#include <infiniband/verbs.h>

namespace softrnic::abi {

/// The operations of struct verbs_context behind ibv_create_flow, ibv_create_counters and the like.
void fill_flow_operations(verbs_context& verbs);

}  // namespace softrnic::abi
