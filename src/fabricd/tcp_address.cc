#include "fabricd/tcp_address.h"

#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

namespace softrnic::fabricd {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

Unexpected<std::string> cannot(std::string_view what, const std::string& host, std::uint16_t port) {
  return Unexpected{fmt::format("{} {} port {}: {}", what, host, port, std::strerror(errno))};
}

}  // namespace

Expected<std::vector<TcpAddress>, std::string> resolve(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &first);
  const std::unique_ptr<addrinfo, FreeAddresses> list(first);
  if (error != 0) return Unexpected{fmt::format("{}: {}", host, gai_strerror(error))};
  std::vector<TcpAddress> found;
  for (const addrinfo* entry = first; entry != nullptr; entry = entry->ai_next) {
    TcpAddress& address = found.emplace_back();
    address.size = entry->ai_addrlen;
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
  }
  return found;
}

Expected<UniqueFd, std::string> listen_at(const std::string& host, std::uint16_t port) {
  const auto found = resolve(host, port);
  if (!found) return Unexpected{found.error()};
  const auto* const address = reinterpret_cast<const sockaddr*>(&found->front().storage);
  UniqueFd listener(
      above_stdio(socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP)));
  const int on = 1;
  if (!listener || setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(listener.get(), address, found->front().size) != 0 || listen(listener.get(), SOMAXCONN) != 0)
    return cannot("cannot listen at", host, port);
  return listener;
}

Expected<UniqueFd, int> begin_to_connect(const TcpAddress& address) {
  const auto* const to = reinterpret_cast<const sockaddr*>(&address.storage);
  UniqueFd made(above_stdio(socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP)));
  if (!made || (connect(made.get(), to, address.size) != 0 && errno != EINPROGRESS))
    return Unexpected{int{errno}};
  return made;
}

std::string peer_of(int fd) {
  TcpAddress address;
  address.size = sizeof address.storage;
  auto* const raw = reinterpret_cast<sockaddr*>(&address.storage);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (getpeername(fd, raw, &address.size) != 0 ||
      getnameinfo(raw, address.size, host.data(), host.size(), port.data(), port.size(),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "?";
  const bool is_v6 = raw->sa_family == AF_INET6;
  return fmt::format("{}{}{}:{}", is_v6 ? "[" : "", host.data(), is_v6 ? "]" : "", port.data());
}

}  // namespace softrnic::fabricd
