// What the kernel says about netdevs, addresses and default routes at one moment. Plain data; see netlink.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/gid.h"

namespace softrnic::net {

struct Netdev {
  std::uint32_t index = 0;
  std::string name;
  bool up = false;  ///< administratively up and with a carrier
  bool loopback = false;
  std::uint32_t mtu = 0;
  std::vector<std::uint8_t> mac;  ///< 6 bytes of an Ethernet device, else empty
  std::uint64_t speed_mbps = 0;   ///< 0: unknown
};

struct Address {
  std::uint32_t interface_index = 0;
  wire::Gid gid;           ///< IPv4 addresses are mapped
  bool secondary = false;  ///< IPv4: a further address of a subnet that has a first one (IFA_F_SECONDARY)
};

struct DefaultRoute {
  std::uint32_t interface_index = 0;
  std::uint32_t metric = 0;  ///< the lowest wins
  bool ipv6 = false;
};

struct NetSnapshot {
  std::vector<Netdev> netdevs;
  std::vector<Address> addresses;  ///< in the kernel's order; without those that failed duplicate detection
  std::vector<DefaultRoute> routes;

  const Netdev* find(std::uint32_t index) const;
  const Netdev* find(const std::string& name) const;
  std::vector<Address> addresses_of(std::uint32_t index) const;
};

}  // namespace softrnic::net
