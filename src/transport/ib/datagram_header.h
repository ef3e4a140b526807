// What stands before a datagram in the memory of its receiver.
#pragma once

#include <array>
#include <cstddef>

#include "transport/ib/rx_packet.h"
#include "transport/ib/types.h"

namespace softrnic::ib {

/// The 40 bytes that precede a datagram in its receive: the GRH; of RoCE the IPv6 header, or 20 zero bytes
/// and the IPv4 header (IBTA A17.4.5.1). The IPv4 identification is not known here and stands as 0.
/// Requires has_global_route().
std::array<std::byte, wire::kGrhBytes> datagram_header(const RxPacket& packet);

/// What a completion has for a service level, which RoCE has not: bit 3: the packet had a UDP header; bits 0
/// to 2: 1 IPv6, 2 IPv4. Adapters for Ethernet report it so, and UCX tells the two headers apart by it.
inline std::uint8_t network_header_code(const RxPacket& packet) {
  return 0x8 | (packet.source.is_ipv4() ? 2 : 1);
}

}  // namespace softrnic::ib
