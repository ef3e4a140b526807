#include "link/mtu_hint.h"

#include <net/if.h>
#include <sys/ioctl.h>

#include "base/kernel_socket.h"
#include "base/unique_fd.h"
#include "link/socket_address.h"

namespace softrnic::link {
namespace {

constexpr std::uint16_t kAnyPort = 9;  // discard; nothing is sent

}  // namespace

std::uint32_t netdev_mtu(std::uint32_t interface_index) {
  ifreq request{};
  const UniqueFd fd(kernel_socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (if_indextoname(interface_index, request.ifr_name) == nullptr ||
      ioctl(fd.get(), SIOCGIFMTU, &request) != 0)
    return 0;
  return static_cast<std::uint32_t>(request.ifr_mtu);
}

std::uint32_t mtu_hint(const wire::Gid& source, const wire::Gid& destination, std::uint32_t interface_index) {
  const bool ipv4 = destination.is_ipv4();
  const Family family = ipv4 ? Family::inet : Family::dual;
  const UniqueFd fd(socket(ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP));
  const SocketAddress from = to_socket_address(family, source, 0, interface_index, 0);
  const SocketAddress to = to_socket_address(family, destination, kAnyPort, interface_index, 0);
  // The source may have been taken from this host: then the way from another one tells as much.
  static_cast<void>(bind(fd.get(), &from.generic, from.size()));
  int mtu = 0;
  socklen_t size = sizeof mtu;
  if (connect(fd.get(), &to.generic, to.size()) != 0 ||
      getsockopt(fd.get(), ipv4 ? SOL_IP : SOL_IPV6, ipv4 ? IP_MTU : IPV6_MTU, &mtu, &size) != 0)
    return 0;
  return static_cast<std::uint32_t>(mtu);
}

}  // namespace softrnic::link
