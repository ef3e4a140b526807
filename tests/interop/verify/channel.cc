#include "tests/interop/verify/channel.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace interop {

void require(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "FAILED: %s (errno %d: %s)\n", what, errno, std::strerror(errno));
  std::exit(1);
}

Channel::Channel(int fd) : fd_(fd) {
  const int on = 1;
  (void)setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Channel::~Channel() { close(fd_); }

Channel Channel::accept_one(std::uint16_t port) {
  const int listener = socket(AF_INET6, SOCK_STREAM, 0);
  require(listener >= 0, "socket");
  const int on = 1;
  (void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  require(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "bind");
  require(listen(listener, 1) == 0, "listen");
  const int fd = accept(listener, nullptr, nullptr);
  require(fd >= 0, "accept");
  close(listener);
  return Channel(fd);
}

Channel Channel::connect_to(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  require(getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) == 0, "getaddrinfo");
  const int fd = socket(found->ai_family, SOCK_STREAM, 0);
  require(fd >= 0, "socket");
  require(connect(fd, found->ai_addr, found->ai_addrlen) == 0, "connect");
  freeaddrinfo(found);
  return Channel(fd);
}

void Channel::send_all(const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = send(fd_, at, size, MSG_NOSIGNAL);
    require(sent > 0, "the peer is gone (send)");
    at += sent;
    size -= static_cast<std::size_t>(sent);
  }
}

void Channel::receive_all(void* data, std::size_t size) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t received = recv(fd_, at, size, 0);
    require(received > 0, "the peer is gone (recv)");
    at += received;
    size -= static_cast<std::size_t>(received);
  }
}

bool Channel::readable() {
  pollfd waiting{fd_, POLLIN, 0};
  return poll(&waiting, 1, 0) > 0;
}

}  // namespace interop
