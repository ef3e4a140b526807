// Regions that are not made by the exported functions.
#pragma once

#include <infiniband/verbs.h>

#include "base/expected.h"
#include "base/reason.h"
#include "rnic/memory_region.h"

namespace softrnic::abi {

/// Not alive yet (live_objects.h).
Expected<ibv_mr*, Failure> register_memory(ibv_pd* pd, const rnic::Registration& wanted);

ibv_mr* alloc_null_mr(ibv_pd* pd);
int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* ranges,
              std::uint32_t count);

}  // namespace softrnic::abi
