// Which netdev the default device is bound to, and what follows from a netdev's properties. Pure functions.
#pragma once

#include "net/net_snapshot.h"

namespace softrnic::daemon {

/// The netdev of the IPv4 default route with the lowest metric, else of the IPv6 one, else the first that is
/// up and has an address (one that is more than link-local, if there is such a netdev), else loopback;
/// nullptr when there is not even that.
const net::Netdev* choose_netdev(const net::NetSnapshot& snapshot);

/// The largest IBTA path MTU whose packets fit into IP packets of `netdev_mtu` bytes, however long their
/// headers; 256 when none does.
std::uint32_t active_mtu_for(std::uint32_t netdev_mtu);
/// The least MTU of a netdev that carries it.
std::uint32_t netdev_mtu_for(std::uint32_t path_mtu);

/// EUI-64 of the MAC (RFC 4291 appendix A), else a number of the same shape made from
/// `host` and the netdev's name.
std::uint64_t guid_for(const net::Netdev& netdev, const std::string& host);
/// A locally administered EUI-64 made from a name: the same name, the same number.
std::uint64_t guid_of_name(const std::string& name);

}  // namespace softrnic::daemon
