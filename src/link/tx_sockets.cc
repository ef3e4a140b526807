#include "link/tx_sockets.h"

#include <unistd.h>

#include <algorithm>

#include "base/kernel_socket.h"
#include "base/unique_fd.h"

namespace softrnic::link {

TxSockets::TxSockets(int lane_fd, std::uint16_t lane_port, Family family)
    : lane_{lane_fd, lane_port}, family_(family), latest_(lane_) {
  entries_.reserve(kMaxSockets);
}

TxSockets::~TxSockets() {
  for (const Entry& entry : entries_) {
    if (entry.choice.fd != lane_.fd) close(entry.choice.fd);
  }
}

TxSockets::Choice TxSockets::find(std::uint16_t port) {
  if (port == 0 || port == lane_.port) return lane_;
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [port](const Entry& entry) { return entry.wanted == port; });
  if (found != entries_.end()) {
    if (found != entries_.begin()) std::swap(*found, *(found - 1));  // the busy ones move to the front
    return (found == entries_.begin() ? found : found - 1)->choice;
  }
  if (entries_.size() == kMaxSockets) return lane_;
  entries_.push_back({port, open(port)});
  return entries_.back().choice;
}

TxSockets::Choice TxSockets::open(std::uint16_t port) const {
  const int domain = family_ == Family::inet ? AF_INET : AF_INET6;
  const int fd = above_stdio(kernel_socket(domain, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP));
  if (fd < 0) return lane_;
  constexpr int kOn = 1;
  constexpr int kOff = 0;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &kOn, sizeof kOn);  // processes share ports: nobody reads them
  setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &kOn, sizeof kOn);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kOff, sizeof kOff);
  if (family_ == Family::dual) setsockopt(fd, SOL_IPV6, IPV6_V6ONLY, &kOff, sizeof kOff);
  set_send_options(fd, family_);
  set_send_buffer(fd);
  const SocketAddress any = to_socket_address(family_, wire::Gid{}, port, 0, 0);
  if (bind(fd, &any.generic, any.size()) != 0) {
    close(fd);
    return lane_;
  }
  return {fd, port};
}

}  // namespace softrnic::link
