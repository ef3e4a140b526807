#include "link/socket_address.h"

#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>

#include <iterator>

#ifndef IPV6_MULTICAST_ALL
#define IPV6_MULTICAST_ALL 29  // linux/in6.h
#endif
#ifndef IPV6_FLOWINFO_SEND
#define IPV6_FLOWINFO_SEND 33
#endif
#ifndef IPV6_FLOWINFO
#define IPV6_FLOWINFO 11
#endif

namespace softrnic::link {
namespace {

struct Option {
  int level;
  int name;
  int value;
};

// Options that a kernel lacks, or that do not fit the family, fail and are done without.
template <std::size_t count>
void set_all(int fd, const Option (&options)[count]) {
  for (const Option& option : options) {
    setsockopt(fd, option.level, option.name, &option.value, sizeof option.value);
  }
}

}  // namespace

SocketAddress to_socket_address(Family family, const wire::Gid& gid, std::uint16_t port,
                                std::uint32_t interface_index, std::uint32_t flow_label) {
  SocketAddress out{};
  if (family == Family::inet) {
    out.inet.sin_family = AF_INET;
    out.inet.sin_port = htons(port);
    out.inet.sin_addr.s_addr = gid.ipv4_be();
    return out;
  }
  out.inet6 = sockaddr_in6{};
  out.inet6.sin6_family = AF_INET6;
  out.inet6.sin6_port = htons(port);
  out.inet6.sin6_addr = to_in6(gid);
  if (gid.is_ipv4()) return out;
  out.inet6.sin6_flowinfo = htonl(flow_label & 0xfffff);
  if (gid.is_link_local() || gid.is_multicast()) out.inet6.sin6_scope_id = interface_index;
  return out;
}

wire::Gid to_gid(const SocketAddress& address) {
  if (address.generic.sa_family == AF_INET) return wire::Gid::from_ipv4_be(address.inet.sin_addr.s_addr);
  return to_gid(address.inet6.sin6_addr);
}

std::uint16_t port_of(const SocketAddress& address) {
  return ntohs(address.generic.sa_family == AF_INET ? address.inet.sin_port : address.inet6.sin6_port);
}

Family family_of(int fd) {
  int domain = AF_INET6;
  socklen_t size = sizeof domain;
  getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
  return domain == AF_INET ? Family::inet : Family::dual;
}

void set_send_options(int fd, Family family) {
  constexpr Option common[] = {{SOL_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE}};
  constexpr Option dual[] = {{SOL_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE},
                             {SOL_IPV6, IPV6_FLOWINFO_SEND, 1}};
  set_all(fd, common);
  if (family == Family::dual) set_all(fd, dual);
}

void set_receive_options(int fd, Family family) {
  constexpr Option common[] = {{SOL_SOCKET, SO_RXQ_OVFL, 1},
                               {SOL_UDP, UDP_GRO, 1},
                               {SOL_IP, IP_RECVTOS, 1},
                               {SOL_IP, IP_RECVTTL, 1},
                               {SOL_IP, IP_MULTICAST_ALL, 0}};
  constexpr Option inet[] = {{SOL_IP, IP_PKTINFO, 1}};
  // Adapters and rxe send UDP checksum 0 over IPv6 too, as the ICRC covers the packet; a receiver has to say
  // that it takes that (RFC 6936).
  constexpr Option dual[] = {{SOL_UDP, UDP_NO_CHECK6_RX, 1}, {SOL_IPV6, IPV6_RECVPKTINFO, 1},
                             {SOL_IPV6, IPV6_RECVTCLASS, 1}, {SOL_IPV6, IPV6_RECVHOPLIMIT, 1},
                             {SOL_IPV6, IPV6_FLOWINFO, 1},   {SOL_IPV6, IPV6_MULTICAST_ALL, 0}};
  set_all(fd, common);
  if (family == Family::inet) {
    set_all(fd, inet);
  } else {
    set_all(fd, dual);
  }
}

void set_send_buffer(int fd) {
  constexpr Option options[] = {{SOL_SOCKET, SO_SNDBUF, kSocketBuffer}};
  set_all(fd, options);
}

void set_buffer_sizes(int fd) {
  constexpr Option options[] = {
      {SOL_SOCKET, SO_RCVBUF, kSocketBuffer},
      {SOL_SOCKET, SO_RCVBUFFORCE, kSocketBuffer},  // beyond rmem_max, when privileged
  };
  set_send_buffer(fd);
  set_all(fd, options);
}

}  // namespace softrnic::link
