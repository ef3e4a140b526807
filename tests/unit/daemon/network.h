// Made-up networks for the tests of the daemon's pure parts.
#pragma once

#include <arpa/inet.h>

#include <cstring>
#include <string>

#include "net/net_snapshot.h"

namespace softrnic::daemon {

inline wire::Gid gid(const std::string& text) {
  wire::Gid out;
  if (inet_pton(AF_INET6, text.c_str(), out.raw.data()) == 1) return out;
  in_addr four{};
  inet_pton(AF_INET, text.c_str(), &four);
  return wire::Gid::from_ipv4_be(four.s_addr);
}

struct Network : net::NetSnapshot {
  Network& netdev(std::uint32_t index, const std::string& name, bool up = true) {
    net::Netdev n;
    n.index = index;
    n.name = name;
    n.up = up;
    n.loopback = name == "lo";
    n.mtu = 1500;
    if (!n.loopback) n.mac = {0x02, 0x11, 0x22, 0x33, 0x44, static_cast<std::uint8_t>(index)};
    netdevs.push_back(n);
    return *this;
  }
  Network& address(std::uint32_t index, const std::string& text, bool secondary = false) {
    addresses.push_back({index, gid(text), secondary});
    return *this;
  }
  Network& route(std::uint32_t index, std::uint32_t metric, bool ipv6 = false) {
    routes.push_back({index, metric, ipv6});
    return *this;
  }
};

}  // namespace softrnic::daemon
