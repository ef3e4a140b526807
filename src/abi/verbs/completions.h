// What ibv_create_cq and ibv_create_cq_ex have in common.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "abi/verbs/objects.h"
#include "base/expected.h"
#include "base/reason.h"

namespace softrnic::abi {

struct CqRequest {
  std::uint32_t entries = 0;
  void* cq_context = nullptr;
  ibv_comp_channel* channel = nullptr;
  int vector = 0;
  bool keeps_times = false;
  ibv_pd* parent = nullptr;  ///< parent domain
  bool ignores_overrun = false;
};

/// Failures: see rnic::CompletionQueue::create().
Expected<Cq*, Failure> make_cq(ibv_context* context, const CqRequest& request);

int modify_cq(ibv_cq* cq, ibv_modify_cq_attr* attributes);

}  // namespace softrnic::abi
