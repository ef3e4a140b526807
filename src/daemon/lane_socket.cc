#include "daemon/lane_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/unique_file.h"
#include "wire/headers.h"

namespace softrnic::daemon {
namespace {

struct SocketOption {
  int level;
  int name;
  int value;
  bool required;
};

constexpr SocketOption kCommonOptions[] = {
    // the IP identification is known only with DF set (see ICRC in wire/); see link::set_send_options
    {IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE, true},
    {IPPROTO_IP, IP_PKTINFO, 1, true},
    {IPPROTO_IP, IP_RECVTOS, 1, true},
    {IPPROTO_IP, IP_RECVTTL, 1, true},
    {IPPROTO_IP, IP_MULTICAST_ALL, 0, true},
    {SOL_SOCKET, SO_RXQ_OVFL, 1, false},
    {IPPROTO_UDP, UDP_GRO, 1, false},  // Linux 5.0
};
constexpr SocketOption kIpv6Options[] = {
    {IPPROTO_IPV6, IPV6_V6ONLY, 0, true},       {IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE, true},
    {IPPROTO_IPV6, IPV6_RECVPKTINFO, 1, true},  {IPPROTO_IPV6, IPV6_RECVTCLASS, 1, true},
    {IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1, true}, {IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0, false},  // Linux 4.20
    {IPPROTO_UDP, UDP_NO_CHECK6_RX, 1, false},  // see link::set_receive_options
};

template <std::size_t n>
int set_options(int fd, const SocketOption (&options)[n]) {
  for (const SocketOption& o : options)
    if (setsockopt(fd, o.level, o.name, &o.value, sizeof o.value) != 0 && o.required) return errno;
  return 0;
}

void enlarge_receive_buffer(int fd) {
  if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBuffer, sizeof kReceiveBuffer) == 0) return;
  // without CAP_NET_ADMIN the kernel cuts this to net.core.rmem_max
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof kReceiveBuffer);
}

int bind_port(int fd, bool ipv6) {
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(wire::kRoceUdpPort);
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(wire::kRoceUdpPort);
  const int result = ipv6 ? bind(fd, reinterpret_cast<const sockaddr*>(&six), sizeof six)
                          : bind(fd, reinterpret_cast<const sockaddr*>(&four), sizeof four);
  return result != 0 ? errno : 0;
}

}  // namespace

Expected<LaneSocket, int> open_lane_socket(bool shared) {
  LaneSocket lane;
  lane.fd.reset(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP));
  if (!lane.fd) {
    lane.dual_stack = false;
    lane.fd.reset(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP));
  }
  if (!lane.fd) return Unexpected{errno};
  const int fd = lane.fd.get();
  const int one = 1;
  if (shared && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one) != 0) return Unexpected{errno};
  if (lane.dual_stack)
    if (const int error = set_options(fd, kIpv6Options)) return Unexpected{error};
  if (const int error = set_options(fd, kCommonOptions)) return Unexpected{error};
  if (shared) enlarge_receive_buffer(fd);
  int error = bind_port(fd, lane.dual_stack);
  // IPv6 that is there but has no address at all (disable_ipv6 on every netdev) still
  // binds; EADDRNOTAVAIL does not
  if (error == EADDRNOTAVAIL && lane.dual_stack) {
    lane.dual_stack = false;
    lane.fd.reset(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP));
    if (shared) setsockopt(lane.fd.get(), SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
    error = set_options(lane.fd.get(), kCommonOptions);
    if (shared) enlarge_receive_buffer(lane.fd.get());
    if (error == 0) error = bind_port(lane.fd.get(), false);
  }
  if (error != 0) return Unexpected{error};
  return lane;
}

std::size_t drain(int fd, std::size_t limit) {
  std::size_t count = 0;
  char scrap;
  while (count < limit) {
    if (recv(fd, &scrap, sizeof scrap, MSG_DONTWAIT | MSG_TRUNC) >= 0) {
      ++count;
    } else if (errno == EAGAIN) {
      break;
    }
    // other errors are reports about packets that were sent; each is told once
    if (errno == EBADF || errno == ENOTSOCK) break;
  }
  return count;
}

void leave_all_groups(int fd, bool dual_stack) {
  // no call lists a socket's groups, but these files list the host's: leaving one that was not joined does
  // nothing
  if (const UniqueFile file{std::fopen("/proc/self/net/igmp", "re")}) {
    char line[256];
    int interface = 0;
    while (std::fgets(line, sizeof line, file.get()) != nullptr) {
      ip_mreqn request{};
      unsigned group = 0;
      if (line[0] != '\t') {  // a netdev; its groups follow, indented
        interface = static_cast<int>(std::strtol(line, nullptr, 10));
        continue;
      }
      if (std::sscanf(line, " %8X", &group) != 1) continue;
      request.imr_multiaddr.s_addr = group;  // printed as it lies in memory
      request.imr_ifindex = interface;
      setsockopt(fd, IPPROTO_IP, IP_DROP_MEMBERSHIP, &request, sizeof request);
    }
  }
  if (!dual_stack) return;
  if (const UniqueFile file{std::fopen("/proc/self/net/igmp6", "re")}) {
    char line[256];
    while (std::fgets(line, sizeof line, file.get()) != nullptr) {
      ipv6_mreq request{};
      char digits[33] = {};
      if (std::sscanf(line, "%u %*s %32[0-9a-f]", &request.ipv6mr_interface, digits) != 2) continue;
      for (int i = 0; i < 16; ++i) {
        unsigned byte = 0;
        std::sscanf(digits + 2 * i, "%2x", &byte);
        request.ipv6mr_multiaddr.s6_addr[i] = static_cast<std::uint8_t>(byte);
      }
      setsockopt(fd, IPPROTO_IPV6, IPV6_DROP_MEMBERSHIP, &request, sizeof request);
    }
  }
}

std::uint32_t receive_buffer_of(int fd) {
  std::uint32_t bytes = 0;
  socklen_t length = sizeof bytes;
  getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &length);
  return bytes;
}

}  // namespace softrnic::daemon
