#include "daemon/tcp_streams.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/reason_id.h"
#include "link/socket_address.h"

#ifndef IPV6_FREEBIND
#define IPV6_FREEBIND 78  // linux/in6.h
#endif

namespace softrnic::daemon {
namespace {

constexpr std::uint64_t kListener = std::uint64_t{1} << 32;  ///< marks the key of a listener
constexpr std::size_t kAtOnce = 64;                          ///< events of one turn
constexpr int kAcceptsAtOnce = 16;                           ///< of one listener, before others have a turn
constexpr int kLeastBacklog = 1024;                          ///< of TCP: a burst that comes between two turns
constexpr Duration kPause = std::chrono::milliseconds(100);  ///< without descriptors or memory
constexpr Duration kBusyPause = std::chrono::milliseconds(10);  ///< while the program has enough to answer
constexpr std::uint32_t kStreamEvents = EPOLLIN | EPOLLRDHUP;

int family_of(const wire::Gid& host) { return host.is_ipv4() ? AF_INET : AF_INET6; }

link::SocketAddress address_of(const iwcm::Endpoint& at) {
  const auto family = at.host.is_ipv4() ? link::Family::inet : link::Family::dual;
  return link::to_socket_address(family, at.host, at.port, at.interface_index, 0);
}

iwcm::Endpoint endpoint_of(const link::SocketAddress& address) {
  iwcm::Endpoint at{link::to_gid(address), link::port_of(address), 0};
  if (at.host.is_link_local()) at.interface_index = address.inet6.sin6_scope_id;
  return at;
}

// What a kernel lacks fails, and is done without.
void set(int fd, int level, int name, int value) { setsockopt(fd, level, name, &value, sizeof value); }

UniqueFd open_socket(const wire::Gid& host) {
  UniqueFd socket(above_stdio(::socket(family_of(host), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)));
  if (!socket) return socket;
  set(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);  // ports that earlier connections leave in TIME-WAIT
  if (!host.is_ipv4()) set(socket.get(), SOL_IPV6, IPV6_V6ONLY, 1);
  return socket;
}

bool bind_to(const UniqueFd& socket, const iwcm::Endpoint& at) {
  const link::SocketAddress address = address_of(at);
  return ::bind(socket.get(), &address.generic, address.size()) == 0;
}

void set_stream_options(int fd, const wire::Gid& host, std::uint8_t tos) {
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  if (tos == 0) return;
  if (host.is_ipv4()) {
    set(fd, SOL_IP, IP_TOS, tos);
  } else {
    set(fd, SOL_IPV6, IPV6_TCLASS, tos);
  }
}

int error_on(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

Unexpected<Failure> cannot_listen(const iwcm::Endpoint& at, int error) {
  return Unexpected{
      refuse(error, ReasonId::iwcm_listen, at.port, error, at.host.high_half(), at.host.low_half())};
}

Unexpected<Failure> cannot_open(const iwcm::Endpoint& to, int error) {
  return Unexpected{
      refuse(error, ReasonId::iwcm_connect, to.port, error, to.host.high_half(), to.host.low_half())};
}

}  // namespace

TcpStreams::TcpStreams() : epoll_(above_stdio(epoll_create1(EPOLL_CLOEXEC))) {}

bool TcpStreams::watch(int fd, std::uint64_t key, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return true;
  return errno == EEXIST && epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0;
}

// ---- listeners

Expected<void, Failure> TcpStreams::listen(iwcm::ListenerId listener, const iwcm::Listening& listening) {
  const iwcm::Endpoint& at = listening.at;
  UniqueFd socket = open_socket(at.host);
  if (!socket) return cannot_listen(at, errno);
  const bool ipv4 = at.host.is_ipv4();
  set(socket.get(), ipv4 ? SOL_IP : SOL_IPV6, ipv4 ? IP_FREEBIND : IPV6_FREEBIND, 1);
  if (!bind_to(socket, at) || ::listen(socket.get(), std::max(listening.backlog, kLeastBacklog)) != 0 ||
      !watch(socket.get(), kListener | listener.value, EPOLLIN))
    return cannot_listen(at, errno);
  listeners_.emplace(listener.value, Listener{std::move(socket), at, listening.tos});
  return {};
}

void TcpStreams::unlisten(iwcm::ListenerId listener) {
  listeners_.erase(listener.value);
  paused_.erase(listener.value);
}

void TcpStreams::pause(std::uint32_t listener, TimePoint until) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listeners_.at(listener).socket.get(), nullptr);
  resumes_ = paused_.empty() ? until : std::min(resumes_, until);
  paused_.insert(listener);
}

void TcpStreams::accept(iwcm::ListenerId listener, iwcm::Manager& manager, TimePoint now) {
  for (int i = 0; i < kAcceptsAtOnce; ++i)
    if (!accept_one(listener, manager, now)) return;
}

// Who was not accepted stays in the queue, and the listener readable: watched on it would go round and round.
bool TcpStreams::accept_one(iwcm::ListenerId listener, iwcm::Manager& manager, TimePoint now) {
  const auto found = listeners_.find(listener.value);
  if (found == listeners_.end()) return false;
  if (!manager.takes_another(listener)) {
    pause(found->first, now + kBusyPause);
    return false;
  }
  link::SocketAddress peer{};
  socklen_t size = sizeof peer;
  const int from = found->second.socket.get();
  UniqueFd socket(above_stdio(accept4(from, &peer.generic, &size, SOCK_NONBLOCK | SOCK_CLOEXEC)));
  if (!socket) {
    const int error = errno;
    if (error != EMFILE && error != ENFILE && error != ENOMEM && error != ENOBUFS)
      return error == ECONNABORTED || error == EINTR;
    pause(found->first, now + kPause);
    return false;
  }
  set_stream_options(socket.get(), found->second.at.host, found->second.tos);
  const iwcm::Id id = manager.incoming(listener, found->second.at, endpoint_of(peer), now);
  if (id.value == 0) return true;
  const bool watched = watch(socket.get(), id.value, kStreamEvents);
  streams_[id.value].socket = std::move(socket);
  if (!watched) manager.ended(id, errno, now);
  return true;
}

void TcpStreams::advance(TimePoint now) {
  if (now < deadline()) return;
  std::erase_if(paused_, [this](std::uint32_t listener) {
    return watch(listeners_.at(listener).socket.get(), kListener | listener, EPOLLIN);
  });
  resumes_ = now + kPause;
}

// ---- streams

Expected<void, Failure> TcpStreams::open(iwcm::Id stream, const iwcm::Endpoint& from,
                                         const iwcm::Endpoint& to, std::uint8_t tos) {
  UniqueFd socket = open_socket(to.host);
  if (!socket) return cannot_open(to, errno);
  set_stream_options(socket.get(), to.host, tos);
  if (from.port == 0) set(socket.get(), SOL_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  if (!bind_to(socket, from)) return cannot_open(to, errno);
  const link::SocketAddress address = address_of(to);
  const bool begun = ::connect(socket.get(), &address.generic, address.size()) == 0 || errno == EINPROGRESS;
  const int error = begun ? 0 : errno;  // told like any other: such a socket is readable at once
  if (!watch(socket.get(), stream.value, EPOLLOUT)) return cannot_open(to, errno);
  streams_[stream.value] = Stream{std::move(socket), true, error};
  return {};
}

bool TcpStreams::write(iwcm::Id stream, Bytes bytes) {
  const auto found = streams_.find(stream.value);
  if (found == streams_.end()) return false;
  const ssize_t sent =
      ::send(found->second.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent == static_cast<ssize_t>(bytes.size());
}

void TcpStreams::hand_over(iwcm::Id stream) {
  const auto found = streams_.find(stream.value);
  if (found != streams_.end()) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second.socket.get(), nullptr);
}

void TcpStreams::close(iwcm::Id stream) { streams_.erase(stream.value); }

UniqueFd TcpStreams::take(iwcm::Id stream) {
  auto node = streams_.extract(stream.value);
  return node.empty() ? UniqueFd() : std::move(node.mapped().socket);
}

void TcpStreams::progress(iwcm::Manager& manager, TimePoint now) {
  std::array<epoll_event, kAtOnce> events;
  const int count = epoll_wait(epoll_.get(), events.data(), events.size(), 0);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t key = events[i].data.u64;
    const auto number = static_cast<std::uint32_t>(key);
    if ((key & kListener) != 0) {
      accept(iwcm::ListenerId(number), manager, now);
    } else if (const auto found = streams_.find(number); found == streams_.end()) {
      continue;  // closed by what came before it in this turn
    } else if (found->second.connecting) {
      connected(iwcm::Id(number), manager, now);
    } else {
      read(iwcm::Id(number), manager, now);
    }
  }
}

void TcpStreams::connected(iwcm::Id id, iwcm::Manager& manager, TimePoint now) {
  Stream& stream = streams_.at(id.value);
  const int fd = stream.socket.get();
  const int error = stream.error != 0 ? stream.error : error_on(fd);
  if (error != 0) return manager.ended(id, error, now);
  stream.connecting = false;
  link::SocketAddress own{};
  socklen_t size = sizeof own;
  if (getsockname(fd, &own.generic, &size) != 0 || !watch(fd, id.value, kStreamEvents))
    return manager.ended(id, errno, now);
  manager.opened(id, endpoint_of(own), now);
}

void TcpStreams::read(iwcm::Id id, iwcm::Manager& manager, TimePoint now) {
  while (read_once(id, manager, now)) continue;
}

bool TcpStreams::read_once(iwcm::Id id, iwcm::Manager& manager, TimePoint now) {
  const auto found = streams_.find(id.value);
  const std::size_t wanted = manager.wanted(id);
  if (found == streams_.end() || wanted == 0) return false;
  std::array<std::byte, 1024> bytes;
  const ssize_t count =
      ::recv(found->second.socket.get(), bytes.data(), std::min(wanted, bytes.size()), MSG_DONTWAIT);
  if (count > 0) {
    manager.received(id, Bytes(bytes).first(static_cast<std::size_t>(count)), now);
    return true;
  }
  const int error = count < 0 ? errno : 0;
  if (count == 0 || (error != EAGAIN && error != EINTR)) manager.ended(id, error, now);
  return false;
}

}  // namespace softrnic::daemon
