// AF_IB: what a stream rsocket says of its addresses when it has GIDs and no IP addresses.
#pragma once

#include <array>
#include <cstddef>

#include "rsocket/inet_address.h"

namespace softrnic::rsocket {

inline constexpr std::size_t kConnectHeaderSize = 36;

/// What leads the private data of a connect request (IBTA annex A11). Between IP addresses the connection
/// manager writes it, between GIDs the program has to; so a listener at an IP address understands the request
/// as well. An IPv4 address in a GID stands as such.
std::array<std::byte, kConnectHeaderSize> connect_header(const InetAddress& from, const InetAddress& to);

}  // namespace softrnic::rsocket
