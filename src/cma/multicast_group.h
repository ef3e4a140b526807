// Which InfiniBand multicast group an address of a program means, as IPoIB maps it (RFC 4391, section 4).
#pragma once

#include <cstdint>

#include "cma/address.h"
#include "cma/port_space.h"
#include "wire/gid.h"

namespace softrnic::cma {

/// The MGID of `group` in the partition `pkey`. Groups of RDMA_PS_UDP are not those of IPoIB, and have a
/// signature of rdma_cm's own. Zero for the wildcard: the subnet administrator makes a group.
wire::Gid multicast_gid(const SocketAddress& group, std::uint16_t pkey, PortSpace space);

/// The broadcast group of IPoIB in the partition.
wire::Gid broadcast_gid(std::uint16_t pkey);

}  // namespace softrnic::cma
