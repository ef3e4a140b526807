#include "link/packet_socket.h"

#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/kernel_socket.h"
#include "base/reason_id.h"

namespace softrnic::link {
namespace {

constexpr int kReceiveBuffer = 8 << 20;  ///< some milliseconds at 10 Gb/s
constexpr int kOn = 1;
#ifndef PACKET_IGNORE_OUTGOING
constexpr int kIgnoreOutgoing = 23;  // linux/if_packet.h since 4.20
#else
constexpr int kIgnoreOutgoing = PACKET_IGNORE_OUTGOING;
#endif

Unexpected<Failure> no(std::uint32_t interface_index) {
  const int error = errno;
  if (error == EPERM || error == EACCES) return Unexpected{refuse(EPERM, ReasonId::raw_not_permitted)};
  return Unexpected{refuse(error, ReasonId::packet_socket, error, interface_index)};
}

/// Without CAP_NET_ADMIN the buffer is what net.core.rmem_max allows.
void enlarge(int fd) {
  if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBuffer, sizeof kReceiveBuffer) == 0) return;
  static_cast<void>(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof kReceiveBuffer));
}

}  // namespace

// The kernel asks for CAP_NET_RAW here as for a packet socket; to close one of those takes it a grace period
// of RCU, which is several milliseconds.
Expected<void, Failure> PacketSocket::check_permission() {
  const UniqueFd tried(kernel_socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW));
  if (!tried) return no(0);
  return {};
}

Expected<PacketSocket, Failure> PacketSocket::open(std::uint32_t interface_index, Use use) {
  PacketSocket made;
  // Protocol 0: nothing is received before it is bound to one.
  made.fd.reset(above_stdio(kernel_socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
  if (!made.fd) return no(interface_index);
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_ifindex = static_cast<int>(interface_index);
  if (bind(made.fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return no(interface_index);
  socklen_t length = sizeof address;
  if (getsockname(made.fd.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
    return no(interface_index);
  if (address.sll_hatype != ARPHRD_ETHER && address.sll_hatype != ARPHRD_LOOPBACK)
    return Unexpected{refuse(EOPNOTSUPP, ReasonId::netdev_not_ethernet, address.sll_hatype)};
  made.loops = address.sll_hatype == ARPHRD_LOOPBACK;
  std::memcpy(made.address.data(), address.sll_addr, made.address.size());
  if (use == Use::send) return made;
  // It comes in again, and would be seen twice.
  if (made.loops) static_cast<void>(setsockopt(made.fd.get(), SOL_PACKET, kIgnoreOutgoing, &kOn, sizeof kOn));
  for (const int option : {PACKET_AUXDATA, PACKET_VNET_HDR})
    if (setsockopt(made.fd.get(), SOL_PACKET, option, &kOn, sizeof kOn) != 0) return no(interface_index);
  enlarge(made.fd.get());
  address.sll_protocol = htons(ETH_P_ALL);
  if (bind(made.fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return no(interface_index);
  return made;
}

}  // namespace softrnic::link
