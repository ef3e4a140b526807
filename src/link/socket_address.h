// GIDs as the socket layer wants them.
//
// A lane's socket is AF_INET6 and dual-stack; IPv4 peers are IPv4-mapped addresses, which is just what their
// GIDs are. Only where the kernel has no IPv6 is it AF_INET.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

#include "wire/gid.h"

namespace softrnic::link {

enum class Family : std::uint8_t { dual, inet };

union SocketAddress {
  sockaddr generic;
  sockaddr_in inet;
  sockaddr_in6 inet6;

  socklen_t size() const { return generic.sa_family == AF_INET ? sizeof inet : sizeof inet6; }
};

/// `interface_index` names the scope of link-local and multicast addresses. `flow_label`: 20 bits, IPv6 only.
SocketAddress to_socket_address(Family family, const wire::Gid& gid, std::uint16_t port,
                                std::uint32_t interface_index, std::uint32_t flow_label);
wire::Gid to_gid(const SocketAddress& address);
std::uint16_t port_of(const SocketAddress& address);

inline in6_addr to_in6(const wire::Gid& gid) {
  in6_addr out;
  __builtin_memcpy(&out, gid.raw.data(), sizeof out);
  return out;
}
inline wire::Gid to_gid(const in6_addr& address) {
  wire::Gid out;
  __builtin_memcpy(out.raw.data(), &address, sizeof address);
  return out;
}

/// The family of an open UDP socket.
Family family_of(int fd);

/// What every softrnic socket needs for sending: DF set and identification 0, whatever ICMP says of the path
/// (IP_PMTUDISC_PROBE: of anybody, RFC 5927 7; the netdev's MTU alone is the limit), and flow labels.
void set_send_options(int fd, Family family);
/// What a lane's socket needs for receiving: UDP_GRO, destination address, traffic class, hop limit, overflow
/// counts, multicast only to groups joined here.
void set_receive_options(int fd, Family family);
/// Bytes that are asked for.
inline constexpr int kSocketBuffer = 4 * 1024 * 1024;
/// A large send buffer.
void set_send_buffer(int fd);
/// Large buffers for both ways.
void set_buffer_sizes(int fd);

}  // namespace softrnic::link
