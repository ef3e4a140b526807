// Owners of what the plain C API of libibverbs and librdmacm gives.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <memory>

#include "base/destroy_with.h"

namespace softrnic::rsocket {

using ChannelPtr = std::unique_ptr<rdma_event_channel, DestroyWith<rdma_destroy_event_channel>>;
using IdPtr = std::unique_ptr<rdma_cm_id, DestroyWith<rdma_destroy_id>>;
using EventPtr = std::unique_ptr<rdma_cm_event, DestroyWith<rdma_ack_cm_event>>;
using RegionPtr = std::unique_ptr<ibv_mr, DestroyWith<ibv_dereg_mr>>;
using CompletionChannelPtr = std::unique_ptr<ibv_comp_channel, DestroyWith<ibv_destroy_comp_channel>>;
using CompletionQueuePtr = std::unique_ptr<ibv_cq, DestroyWith<ibv_destroy_cq>>;

}  // namespace softrnic::rsocket
