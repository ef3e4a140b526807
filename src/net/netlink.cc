#include "net/netlink.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>

#include "base/kernel_socket.h"
#include "net/netlink_socket.h"

namespace softrnic::net {
namespace {

constexpr std::size_t kBufferBytes = 65536;  ///< the kernel fills dumps in pieces of at most 32 KiB

template <typename Fixed>
const Fixed* fixed_part(const nlmsghdr& message) {
  return message.nlmsg_len < NLMSG_LENGTH(sizeof(Fixed)) ? nullptr
                                                         : static_cast<const Fixed*>(NLMSG_DATA(&message));
}

std::uint32_t number(std::span<const std::uint8_t> value) {
  std::uint32_t out = 0;
  if (value.size() >= sizeof out) std::memcpy(&out, value.data(), sizeof out);
  return out;
}

template <typename Command>
bool ask_ethtool(int socket, const std::string& name, Command& command) {
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char*>(&command);
  return ioctl(socket, SIOCETHTOOL, &request) == 0;
}

/// Their drivers say a constant, whatever they carry: veth 10 Gb/s.
bool has_no_wire(int socket, const std::string& name) {
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  if (!ask_ethtool(socket, name, info)) return false;
  const std::string_view driver(info.driver, strnlen(info.driver, sizeof info.driver));
  return driver == "veth" || driver == "tun";
}

std::uint64_t query_speed(const std::string& name) {
  const UniqueFd fd(kernel_socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ethtool_cmd command{};
  command.cmd = ETHTOOL_GSET;
  if (!fd || has_no_wire(fd.get(), name) || !ask_ethtool(fd.get(), name, command)) return 0;
  const std::uint32_t speed = ethtool_cmd_speed(&command);
  return speed == static_cast<std::uint32_t>(SPEED_UNKNOWN) ? 0 : speed;
}

void take_link(const nlmsghdr& message, NetSnapshot& out) {
  const auto* fixed = fixed_part<ifinfomsg>(message);
  if (message.nlmsg_type != RTM_NEWLINK || fixed == nullptr) return;
  Netdev netdev;
  netdev.index = static_cast<std::uint32_t>(fixed->ifi_index);
  netdev.up = (fixed->ifi_flags & IFF_UP) != 0 && (fixed->ifi_flags & IFF_RUNNING) != 0;
  netdev.loopback = (fixed->ifi_flags & IFF_LOOPBACK) != 0;
  net::each_attribute<ifinfomsg>(message, [&](unsigned type, std::span<const std::uint8_t> value) {
    if (type == IFLA_IFNAME)
      netdev.name.assign(reinterpret_cast<const char*>(value.data()),
                         strnlen(reinterpret_cast<const char*>(value.data()), value.size()));
    if (type == IFLA_MTU) netdev.mtu = number(value);
    if (type == IFLA_ADDRESS && fixed->ifi_type == ARPHRD_ETHER)
      netdev.mac.assign(value.begin(), value.end());
  });
  netdev.speed_mbps = query_speed(netdev.name);
  out.netdevs.push_back(std::move(netdev));
}

void take_address(const nlmsghdr& message, NetSnapshot& out) {
  const auto* fixed = fixed_part<ifaddrmsg>(message);
  if (message.nlmsg_type != RTM_NEWADDR || fixed == nullptr) return;
  Address address;
  address.interface_index = fixed->ifa_index;
  std::uint32_t flags = fixed->ifa_flags;
  bool local_seen = false;
  net::each_attribute<ifaddrmsg>(message, [&](unsigned type, std::span<const std::uint8_t> value) {
    if (type == IFA_FLAGS) flags = number(value);
    // on point-to-point links IFA_ADDRESS is the peer's and IFA_LOCAL ours (rtnetlink(7))
    if (type != IFA_LOCAL && (type != IFA_ADDRESS || local_seen)) return;
    local_seen = local_seen || type == IFA_LOCAL;
    if (fixed->ifa_family == AF_INET && value.size() == 4)
      address.gid = wire::Gid::from_ipv4_be(number(value));
    if (fixed->ifa_family == AF_INET6 && value.size() == 16)
      std::memcpy(address.gid.raw.data(), value.data(), value.size());
  });
  address.secondary = fixed->ifa_family == AF_INET && (flags & IFA_F_SECONDARY) != 0;
  // a tentative address is taken: it is usable in a moment, and its index must not depend on that moment
  if ((flags & IFA_F_DADFAILED) == 0 && !address.gid.is_zero()) out.addresses.push_back(address);
}

void take_route(const nlmsghdr& message, NetSnapshot& out) {
  const auto* fixed = fixed_part<rtmsg>(message);
  if (message.nlmsg_type != RTM_NEWROUTE || fixed == nullptr) return;
  if (fixed->rtm_dst_len != 0 || fixed->rtm_table != RT_TABLE_MAIN || fixed->rtm_type != RTN_UNICAST) return;
  DefaultRoute route;
  route.ipv6 = fixed->rtm_family == AF_INET6;
  net::each_attribute<rtmsg>(message, [&](unsigned type, std::span<const std::uint8_t> value) {
    if (type == RTA_OIF) route.interface_index = number(value);
    if (type == RTA_PRIORITY) route.metric = number(value);
    if (type == RTA_MULTIPATH && value.size() >= sizeof(rtnexthop) && route.interface_index == 0) {
      rtnexthop hop;
      std::memcpy(&hop, value.data(), sizeof hop);
      route.interface_index = static_cast<std::uint32_t>(hop.rtnh_ifindex);
    }
  });
  if (route.interface_index != 0) out.routes.push_back(route);
}

using Take = void (*)(const nlmsghdr&, NetSnapshot&);

/// Reads one dump to its end. 0 or a positive errno.
int read_dump(int fd, std::uint32_t sequence, Take take, NetSnapshot& out) {
  alignas(nlmsghdr) static std::array<char, kBufferBytes> buffer;  // the daemon has one thread
  for (;;) {
    const ssize_t got = recv(fd, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0 ? EIO : errno;
    auto left = static_cast<std::size_t>(got);
    for (auto* m = reinterpret_cast<nlmsghdr*>(buffer.data()); NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
      if (m->nlmsg_seq != sequence) continue;
      if (m->nlmsg_type == NLMSG_DONE) return 0;
      if (m->nlmsg_type == NLMSG_ERROR) {
        const auto* error = fixed_part<nlmsgerr>(*m);
        return error != nullptr && error->error != 0 ? -error->error : EIO;
      }
      take(*m, out);
    }
  }
}

template <typename Fixed>
int dump(int fd, std::uint32_t sequence, std::uint16_t type, unsigned char family, Take take,
         NetSnapshot& out) {
  struct {
    nlmsghdr header;
    Fixed fixed;
  } request{};
  request.header.nlmsg_len = NLMSG_LENGTH(sizeof(Fixed));
  request.header.nlmsg_type = type;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.header.nlmsg_seq = sequence;
  std::memcpy(&request.fixed, &family, sizeof family);  // the first byte of each of these structures
  if (send(fd, &request, request.header.nlmsg_len, 0) < 0) return errno;
  return read_dump(fd, sequence, take, out);
}

}  // namespace

Expected<Netlink, int> Netlink::open() {
  Netlink netlink;
  netlink.changes_ = net::open_netlink(RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR);
  if (!netlink.changes_) return Unexpected{errno};
  netlink.queries_ = net::open_netlink(0);
  if (!netlink.queries_) return Unexpected{errno};
  return netlink;
}

void Netlink::consume_changes() {
  char scrap[4096];
  // ENOBUFS says that some were lost, which is no matter: all is read anew
  while (recv(changes_.get(), scrap, sizeof scrap, MSG_DONTWAIT) >= 0 || errno == ENOBUFS || errno == EINTR) {
  }
}

Expected<NetSnapshot, int> Netlink::snapshot(bool with_routes) {
  NetSnapshot out;
  const int fd = queries_.get();
  int error = dump<ifinfomsg>(fd, ++sequence_, RTM_GETLINK, AF_UNSPEC, take_link, out);
  if (error == 0) error = dump<ifaddrmsg>(fd, ++sequence_, RTM_GETADDR, AF_UNSPEC, take_address, out);
  if (error == 0 && with_routes) {
    error = dump<rtmsg>(fd, ++sequence_, RTM_GETROUTE, AF_INET, take_route, out);
    dump<rtmsg>(fd, ++sequence_, RTM_GETROUTE, AF_INET6, take_route, out);  // fails where IPv6 is off
  }
  if (error != 0) return Unexpected{error};
  return out;
}

}  // namespace softrnic::net
