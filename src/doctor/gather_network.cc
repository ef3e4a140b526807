#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/unique_fd.h"
#include "doctor/gather.h"
#include "doctor/small_files.h"
#include "link/kernel_drops.h"
#include "link/socket_address.h"

namespace softrnic::doctor {
namespace {

int error_of_option(int fd, int name, int value) {
  return setsockopt(fd, IPPROTO_UDP, name, &value, sizeof value) == 0 ? 0 : errno;
}

}  // namespace

void gather_sockets(NetworkFacts& network) {
  constexpr int kSegment = 1024;
  network.rmem_max = number_in("/proc/sys/net/core/rmem_max");
  network.wmem_max = number_in("/proc/sys/net/core/wmem_max");
  network.send_wanted = link::kSocketBuffer;
  UniqueFd socket(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  network.ipv6 = static_cast<bool>(socket);
  if (!socket) socket.reset(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  link::set_send_buffer(socket.get());
  int bytes = 0;
  socklen_t length = sizeof bytes;
  if (getsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &bytes, &length) == 0)
    network.send_buffer = static_cast<std::uint64_t>(bytes);
  network.segment_error = error_of_option(socket.get(), UDP_SEGMENT, kSegment);
  network.gro_error = error_of_option(socket.get(), UDP_GRO, 1);
  network.drops = link::kernel_drops();
}

}  // namespace softrnic::doctor
