// The path of an InfiniBand connection, which the subnet administrator knows: what it is asked, and what is
// believed of its answer.
#pragma once

#include <cstdint>

#include "base/expected.h"
#include "base/reason.h"
#include "base/time.h"
#include "cm/types.h"
#include "cma/host.h"
#include "cma/id.h"
#include "device/device_info.h"

namespace softrnic::cma {

/// As Linux' rdma_cm asks: what it calls type of service is the QoS class of IPv4, and of the other families
/// the traffic class is in the flow information of the source.
PathQuery path_query(const Id& id, TimePoint deadline);

/// From the port of `id` to its destination_gid. EINVAL: the record is not one of this port and partition, or
/// asks for what they cannot do.
Expected<cm::Path, Failure> path_by(const PathRecord& record, const Id& id, const device::DeviceInfo& device);

}  // namespace softrnic::cma
