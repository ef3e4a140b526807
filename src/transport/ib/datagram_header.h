// What stands before a datagram in the memory of its receiver.
#pragma once

#include <array>
#include <cstddef>

#include "transport/ib/rx_packet.h"
#include "transport/ib/types.h"

namespace softrnic::ib {

/// The 40 bytes that precede a datagram in its receive: the IPv6 header, or 20 zero bytes and the IPv4 header
/// (IBTA A17.4.5.1). The IPv4 identification is not known here and stands as 0.
std::array<std::byte, wire::kGrhBytes> datagram_header(const RxPacket& packet);

}  // namespace softrnic::ib
