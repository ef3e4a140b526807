// The path of a RoCE connection, which nobody has to be asked for: it follows from the port, the
// addresses and the options. That of InfiniBand: infiniband_path.h.
#pragma once

#include <cstdint>

#include "cm/types.h"
#include "cma/id.h"
#include "device/device_info.h"

namespace softrnic::cma {

/// local_ca_ack_delay of ibv_query_device
inline constexpr std::uint8_t kOwnAckDelay = 15;

/// The codes of enum ibv_mtu and enum ibv_rate (0: unknown) for bytes and Mbit/s.
std::uint8_t mtu_code(std::uint32_t bytes);
std::uint8_t rate_code(std::uint64_t mbps);

/// The 5-bit code of an ACK time-out that allows for `packet_life_time` both ways and `ack_delay` at the peer
/// (IBTA 12.7.34). At most 31.
std::uint8_t ack_timeout_code(std::uint8_t ack_delay, std::uint8_t packet_life_time);

/// Half of what RDMA_OPTION_ID_ACK_TIMEOUT asks for, else 1.1 s.
std::uint8_t packet_life_time_of(const Id& id);

/// From the binding of `id` to its destination_gid.
cm::Path make_path(const Id& id, const device::PortInfo& port, std::uint8_t packet_life_time);

/// How datagrams and packets of the connection are addressed: on InfiniBand without a GRH where the path does
/// not leave the subnet.
AddressVector address_vector(const cm::Path& path, std::uint8_t gid_index);

}  // namespace softrnic::cma
