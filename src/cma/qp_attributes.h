// rdma_init_qp_attr: what the queue pair of an id needs on its way to INIT, RTR and RTS. The masks are those
// of Linux' ib_cm and rdma_cm.
#pragma once

#include <cstdint>

#include "base/expected.h"
#include "base/reason.h"
#include "cma/device_table.h"
#include "cma/id.h"

namespace softrnic::cma {

/// For `state` (enum ibv_qp_state). EINVAL: the id has no device, the two sides have not agreed yet, or the
/// port is not in the partition of the path any more.
Expected<QpAttributes, Failure> qp_attributes_of(const Id& id, std::uint32_t state,
                                                 const DeviceTable& devices);

}  // namespace softrnic::cma
