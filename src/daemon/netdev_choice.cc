#include "daemon/netdev_choice.h"

#include <algorithm>

namespace softrnic::daemon {

namespace {

bool has_address(const net::NetSnapshot& snapshot, std::uint32_t index, bool link_local_will_do) {
  return std::any_of(snapshot.addresses.begin(), snapshot.addresses.end(), [=](const net::Address& a) {
    return a.interface_index == index && (link_local_will_do || !a.gid.is_link_local());
  });
}

}  // namespace

const net::Netdev* choose_netdev(const net::NetSnapshot& snapshot) {
  const net::DefaultRoute* best = nullptr;
  for (const net::DefaultRoute& route : snapshot.routes) {
    const net::Netdev* netdev = snapshot.find(route.interface_index);
    if (netdev == nullptr || !has_address(snapshot, netdev->index, true)) continue;
    const auto rank = [](const net::DefaultRoute& r) { return std::pair(r.ipv6, r.metric); };
    if (best == nullptr || rank(route) < rank(*best)) best = &route;
  }
  if (best != nullptr) return snapshot.find(best->interface_index);
  for (const bool link_local_will_do : {false, true})
    for (const net::Netdev& netdev : snapshot.netdevs)
      if (netdev.up && !netdev.loopback && has_address(snapshot, netdev.index, link_local_will_do))
        return &netdev;
  for (const net::Netdev& netdev : snapshot.netdevs)
    if (netdev.loopback) return &netdev;
  return nullptr;
}

std::uint32_t netdev_mtu_for(std::uint32_t path_mtu) {
  // IPv6, UDP, BTH, XRCETH, AtomicETH, ICRC: no packet has more around its payload (IBTA 9.2, A17.4)
  constexpr std::uint32_t kOverhead = 40 + 8 + 12 + 4 + 28 + 4;
  return path_mtu + kOverhead;
}

std::uint32_t active_mtu_for(std::uint32_t netdev_mtu) {
  for (std::uint32_t mtu = 4096; mtu > 256; mtu /= 2)
    if (netdev_mtu_for(mtu) <= netdev_mtu) return mtu;
  return 256;
}

std::uint64_t guid_for(const net::Netdev& netdev, const std::string& host) {
  std::uint64_t guid = 0;
  if (netdev.mac.size() == 6) {
    const std::uint8_t* m = netdev.mac.data();
    for (const unsigned byte :
         {m[0] ^ 2U, m[1] + 0U, m[2] + 0U, 0xffU, 0xfeU, m[3] + 0U, m[4] + 0U, m[5] + 0U})
      guid = (guid << 8) | byte;
    return guid;
  }
  return guid_of_name(host + "/" + netdev.name);
}

std::uint64_t guid_of_name(const std::string& name) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, 64 bits
  for (const char c : name) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
  constexpr std::uint64_t kUniversal = std::uint64_t{2} << 56;  // cleared: locally administered
  constexpr std::uint64_t kGroup = std::uint64_t{1} << 56;
  return hash & ~(kUniversal | kGroup);
}

}  // namespace softrnic::daemon
