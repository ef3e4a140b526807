// LIDs for programs that know nothing else.
//
// RoCE addresses peers by GID, and a port has no LID. But some programs exchange LIDs only (qperf, samples of
// the InfiniBand days). For them a port has the LID that its first IPv4 address ends with, and an address
// without GRH leads to the host of the same /16 whose IPv4 address ends with the LID.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "device/device_info.h"

namespace softrnic::device {

/// The LID of a port: the low 16 bits of its first IPv4 address, one that is not 127.x if it has any. 0:
/// none.
std::uint16_t port_lid(const PortInfo& port);

struct LidRoute {
  std::uint8_t source_gid_index;
  wire::Gid destination;
};
/// Where an address without GRH leads from this port; nothing when it has no LID itself or `dlid` is 0.
std::optional<LidRoute> route_of_lid(const PortInfo& port, std::uint16_t dlid);

}  // namespace softrnic::device
