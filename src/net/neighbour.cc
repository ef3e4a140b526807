#include "net/neighbour.h"

#include <ifaddrs.h>
#include <linux/if_vlan.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/kernel_socket.h"
#include "base/reason_id.h"
#include "net/route_netlink.h"

namespace softrnic::net {
namespace {

using Clock = std::chrono::steady_clock;
using Mac = std::array<std::uint8_t, 6>;

constexpr std::chrono::seconds kPatience{3};
constexpr std::uint16_t kDiscardPort = 9;

/// RFC 1112 6.4, RFC 2464 7
Mac multicast_mac(const wire::Gid& group) {
  const auto byte = [&](std::size_t i) { return std::to_integer<std::uint8_t>(group.raw[i]); };
  if (group.is_ipv4())
    return {0x01, 0x00, 0x5e, static_cast<std::uint8_t>(byte(13) & 0x7f), byte(14), byte(15)};
  return {0x33, 0x33, byte(12), byte(13), byte(14), byte(15)};
}

wire::Gid gid_of(const sockaddr& address) {
  wire::Gid gid;
  if (address.sa_family == AF_INET)
    return wire::Gid::from_ipv4_be(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr);
  if (address.sa_family == AF_INET6)
    std::memcpy(gid.raw.data(), &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, gid.raw.size());
  return gid;
}

/// The MAC of the netdev that holds `own`, zeros when it has none.
Mac own_mac(const wire::Gid& own) {
  Mac mac{};
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return mac;
  const char* name = nullptr;
  for (const ifaddrs* at = all; at != nullptr; at = at->ifa_next)
    if (at->ifa_addr != nullptr && gid_of(*at->ifa_addr) == own) name = at->ifa_name;
  for (const ifaddrs* at = all; at != nullptr && name != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_PACKET ||
        std::strcmp(at->ifa_name, name) != 0)
      continue;
    const auto& link = reinterpret_cast<const sockaddr_ll&>(*at->ifa_addr);
    if (link.sll_halen == mac.size()) std::memcpy(mac.data(), link.sll_addr, mac.size());
  }
  freeifaddrs(all);
  return mac;
}

/// The VLAN of a netdev; kNoVlan when it is none.
std::uint16_t vlan_of(std::uint32_t interface_index) {
  vlan_ioctl_args question{};
  const UniqueFd fd(kernel_socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  question.cmd = GET_VLAN_VID_CMD;
  char name[IF_NAMESIZE];
  if (!fd || if_indextoname(interface_index, name) == nullptr) return Neighbour::kNoVlan;
  static_assert(sizeof question.device1 >= IF_NAMESIZE);
  std::memcpy(question.device1, name, sizeof name);
  if (ioctl(fd.get(), SIOCGIFVLAN, &question) != 0) return Neighbour::kNoVlan;
  return static_cast<std::uint16_t>(question.u.VID);
}

Expected<Mac, Failure> ask_link(RouteNetlink& kernel, const RouteNetlink::Route& route) {
  const auto deadline = Clock::now() + kPatience;
  auto entry = kernel.neighbour(route.next_hop, route.interface_index);
  if (!entry || !entry->usable) solicit(route.next_hop, route.interface_index);
  for (bool first = true;; first = false) {
    if (!first) entry = kernel.neighbour(route.next_hop, route.interface_index);
    if (entry && entry->usable) return entry->mac;
    const bool failed = !first && entry && entry->failed;
    const auto left = deadline - Clock::now();
    if (failed || left <= Duration::zero() || !kernel.wait_for_change(left))
      return Unexpected{refuse(EHOSTUNREACH, ReasonId::no_neighbour, route.interface_index,
                               route.next_hop.high_half(), route.next_hop.low_half())};
  }
}

}  // namespace

void solicit(const wire::Gid& address, std::uint32_t interface_index) {
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(kDiscardPort);
  std::memcpy(&to.sin6_addr, address.raw.data(), address.raw.size());
  if (address.is_link_local()) to.sin6_scope_id = interface_index;
  sockaddr_in to4{};
  to4.sin_family = AF_INET;
  to4.sin_port = to.sin6_port;
  to4.sin_addr.s_addr = address.ipv4_be();
  const bool is_ipv4 = address.is_ipv4();
  const UniqueFd fd(socket(is_ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const std::uint32_t leave_by = htonl(interface_index);
  setsockopt(fd.get(), is_ipv4 ? SOL_IP : SOL_IPV6, is_ipv4 ? IP_UNICAST_IF : IPV6_UNICAST_IF, &leave_by,
             sizeof leave_by);
  const auto* const where =
      is_ipv4 ? reinterpret_cast<const sockaddr*>(&to4) : reinterpret_cast<const sockaddr*>(&to);
  static_cast<void>(sendto(fd.get(), "", 0, MSG_DONTWAIT, where, is_ipv4 ? sizeof to4 : sizeof to));
}

Expected<Neighbour, Failure> resolve_neighbour(const wire::Gid& destination, std::uint32_t interface_index) {
  Neighbour neighbour;
  neighbour.vlan = vlan_of(interface_index);
  if (destination.is_multicast()) {
    neighbour.mac = multicast_mac(destination);
    return neighbour;
  }
  RouteNetlink kernel;
  if (!kernel.valid()) return Unexpected{refuse(errno, ReasonId::out_of_fds, errno)};
  RouteNetlink::Query query{.destination = destination};
  // A link-local address means nothing without its link; any other destination is the
  // routing table's to decide.
  if (destination.is_link_local()) query.interface_index = interface_index;
  const auto route = kernel.route(query);
  if (!route)
    return Unexpected{refuse(EHOSTUNREACH, ReasonId::no_route, destination.high_half(),
                             destination.low_half(), route.error())};
  if (route->is_local) {
    neighbour.mac = own_mac(destination);
    return neighbour;
  }
  const auto mac = ask_link(kernel, *route);
  if (!mac) return Unexpected{mac.error()};
  neighbour.mac = *mac;
  return neighbour;
}

}  // namespace softrnic::net
