// What a program says of a flow in struct ibv_flow_attr, made a rule.
#pragma once

#include <infiniband/verbs.h>

#include "base/expected.h"
#include "base/reason.h"
#include "ethernet/flow_table.h"

namespace softrnic::rnic {

struct FlowRequest {
  ethernet::FlowRule rule;
  ibv_counters* counters = nullptr;  ///< of IBV_FLOW_SPEC_ACTION_COUNT
};

/// The specifications stand behind `attributes`, one after the other, as many as it says. EINVAL: something
/// in it contradicts ibv_create_flow(3); EOPNOTSUPP: egress rules, and actions that were made by others. Not
/// explained.
Expected<FlowRequest, Failure> flow_request(const ibv_flow_attr& attributes);

}  // namespace softrnic::rnic
