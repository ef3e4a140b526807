// What this host knows of the MTU on the way to a peer. For explanations alone: part of it comes from ICMP,
// which anybody can forge (RFC 5927), so nothing is decided by it.
#pragma once

#include <cstdint>

#include "wire/gid.h"

namespace softrnic::link {

/// The MTU of a netdev, which alone limits what a lane sends; 0: there is no such netdev.
std::uint32_t netdev_mtu(std::uint32_t interface_index);

/// Bytes of an IP packet: the netdev's MTU, or less where a route or an ICMP message has said so. 0:
/// nothing is known, as there is no route. `interface_index` is the scope of link-local addresses.
/// Takes some system calls.
std::uint32_t mtu_hint(const wire::Gid& source, const wire::Gid& destination, std::uint32_t interface_index);

}  // namespace softrnic::link
