#include "net/netlink_socket.h"

#include <sys/socket.h>

#include <cerrno>

#include "base/kernel_socket.h"

namespace softrnic::net {

UniqueFd open_netlink(std::uint32_t groups) {
  UniqueFd fd(kernel_socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  sockaddr_nl own{};
  own.nl_family = AF_NETLINK;
  own.nl_groups = groups;
  if (!fd || bind(fd.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0) return fd;
  const int error = errno;
  fd.reset();
  errno = error;
  return fd;
}

}  // namespace softrnic::net
