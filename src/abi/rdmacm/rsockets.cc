// rsocket(7): the C surface of src/rsocket.
#include <infiniband/ib.h>
#include <rdma/rsocket.h>
#include <sys/epoll.h>

#include <cerrno>
#include <cstdarg>
#include <utility>
#include <vector>

#include "abi/calls.h"
#include "abi/export.h"
#include "abi/rdmacm/session.h"
#include "base/reason_id.h"
#include "rsocket/datagram_socket.h"
#include "rsocket/epoll_instance.h"
#include "rsocket/socket_table.h"
#include "rsocket/stream_socket.h"

namespace {

namespace rs = softrnic::rsocket;
using rs::Result;
using softrnic::ReasonId;

/// Runs `body`, which returns Result<…>: its value, or -1 and errno. What is thrown inside becomes ENOMEM.
/// Success leaves errno alone: programs look there after a call that received nothing.
template <typename T, typename Body>
T call(Body&& body) noexcept {
  const int before = errno;
  try {
    const auto done = body();
    if (!done) {
      errno = done.error();
      return static_cast<T>(-1);
    }
    errno = before;
    if constexpr (requires { done.value(); }) {
      return static_cast<T>(*done);
    } else {
      return 0;
    }
  } catch (...) {
    errno = ENOMEM;
    return static_cast<T>(-1);
  }
}

/// The same on the rsocket `fd`.
template <typename T, typename Body>
T on_socket(int fd, Body&& body) noexcept {
  const rs::SocketPtr socket = rs::find_socket(fd);
  if (socket == nullptr) {
    errno = EBADF;
    return static_cast<T>(-1);
  }
  return call<T>([&] { return body(*socket); });
}

/// On what repoll_create has given. EBADF, EINVAL: as epoll_ctl(2).
template <typename Body>
int on_epoll(int fd, Body&& body) noexcept {
  return call<int>([&]() -> decltype(body(std::declval<rs::EpollInstance&>())) {
    if (fd < 0) return rs::fail(EBADF);
    const rs::EpollPtr instance = rs::find_epoll(fd);
    if (instance == nullptr) return rs::refused(EINVAL, ReasonId::rsocket_no_epoll, fd);
    return body(*instance);
  });
}

template <typename Made>
Result<int> entered(const Result<std::shared_ptr<Made>>& made) {
  if (!made) return rs::fail(made.error());
  rs::enter_socket(*made);
  return (*made)->fd();
}

ssize_t receive(int fd, msghdr& message, int flags) noexcept {
  return on_socket<ssize_t>(fd, [&](auto& socket) { return socket.receive(message, flags); });
}

ssize_t send(int fd, const msghdr& message, int flags) noexcept {
  return on_socket<ssize_t>(fd, [&](auto& socket) { return socket.send(message, flags); });
}

msghdr message_of(const iovec* parts, int count) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts);
  message.msg_iovlen = parts != nullptr && count > 0 ? static_cast<std::size_t>(count) : 0;
  return message;
}

/// Neither way has control messages.
bool has_control(const msghdr& message) {
  return message.msg_control != nullptr && message.msg_controllen > 0;
}

}  // namespace

SOFTRNIC_EXPORT int rsocket(int domain, int type, int protocol) {
  return call<int>([&]() -> Result<int> {
    if (auto session = softrnic::rdmacm::current_session(); !session) return rs::fail(session.error().error);
    const int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
    const bool known = domain == AF_INET || domain == AF_INET6;
    if ((known || domain == AF_IB) && kind == SOCK_STREAM && (protocol == 0 || protocol == IPPROTO_TCP))
      return entered(rs::StreamSocket::make(domain, type));
    if (known && kind == SOCK_DGRAM && (protocol == 0 || protocol == IPPROTO_UDP))
      return entered(rs::DatagramSocket::make(domain, type));
    return rs::refused(ENOTSUP, ReasonId::rsocket_kind, domain, kind, protocol);
  });
}

SOFTRNIC_EXPORT int rbind(int fd, const sockaddr* address, socklen_t length) {
  return on_socket<int>(fd, [&](auto& socket) { return socket.bind(address, length); });
}
SOFTRNIC_EXPORT int rlisten(int fd, int backlog) {
  return on_socket<int>(fd, [&](auto& socket) { return socket.listen(backlog); });
}
SOFTRNIC_EXPORT int raccept(int fd, sockaddr* address, socklen_t* length) {
  return on_socket<int>(fd, [&](auto& socket) -> Result<int> {
    auto made = socket.accept();
    if (made && address != nullptr && length != nullptr)
      static_cast<void>((*made)->peer_name(address, length));
    return entered(made);
  });
}
SOFTRNIC_EXPORT int rconnect(int fd, const sockaddr* address, socklen_t length) {
  return on_socket<int>(fd, [&](auto& socket) { return socket.connect(address, length); });
}
SOFTRNIC_EXPORT int rshutdown(int fd, int how) {
  return on_socket<int>(fd, [&](auto& socket) { return socket.shutdown(how); });
}
SOFTRNIC_EXPORT int rclose(int fd) {
  return call<int>([&]() -> Result<void> {
    if (const rs::SocketPtr socket = rs::leave_socket(fd); socket != nullptr) {
      rs::forget_in_epolls(fd);
      socket->close();
    } else if (const rs::EpollPtr instance = rs::leave_epoll(fd); instance != nullptr) {
      instance->close();
    } else {
      return rs::fail(EBADF);
    }
    return {};
  });
}

SOFTRNIC_EXPORT ssize_t rrecv(int fd, void* to, size_t length, int flags) {
  return rrecvfrom(fd, to, length, flags, nullptr, nullptr);
}
SOFTRNIC_EXPORT ssize_t rrecvfrom(int fd, void* to, size_t length, int flags, sockaddr* from,
                                  socklen_t* from_length) {
  const iovec part{to, length};
  msghdr message = message_of(&part, 1);
  if (from_length != nullptr) {
    message.msg_name = from;
    message.msg_namelen = *from_length;
  }
  const ssize_t done = receive(fd, message, flags);
  if (done >= 0 && message.msg_name != nullptr) *from_length = message.msg_namelen;
  return done;
}
SOFTRNIC_EXPORT ssize_t rrecvmsg(int fd, msghdr* message, int flags) {
  if (has_control(*message)) {
    errno = ENOTSUP;
    return -1;
  }
  return receive(fd, *message, flags);
}
SOFTRNIC_EXPORT ssize_t rread(int fd, void* to, size_t length) { return rrecv(fd, to, length, 0); }
SOFTRNIC_EXPORT ssize_t rreadv(int fd, const iovec* parts, int count) {
  msghdr message = message_of(parts, count);
  return receive(fd, message, 0);
}

SOFTRNIC_EXPORT ssize_t rsend(int fd, const void* from, size_t length, int flags) {
  const iovec part{const_cast<void*>(from), length};
  return send(fd, message_of(&part, 1), flags);
}
SOFTRNIC_EXPORT ssize_t rsendto(int fd, const void* from, size_t length, int flags, const sockaddr* to,
                                socklen_t to_length) {
  return on_socket<ssize_t>(fd, [&](rs::Socket& socket) -> Result<std::size_t> {
    if (socket.type() == SOCK_STREAM && (to != nullptr || to_length != 0)) return rs::fail(EISCONN);
    const iovec part{const_cast<void*>(from), length};
    msghdr message = message_of(&part, 1);
    message.msg_name = const_cast<sockaddr*>(to);
    message.msg_namelen = to_length;
    return socket.send(message, flags);
  });
}
SOFTRNIC_EXPORT ssize_t rsendmsg(int fd, const msghdr* message, int flags) {
  if (has_control(*message)) {
    errno = ENOTSUP;
    return -1;
  }
  return send(fd, *message, flags);
}
SOFTRNIC_EXPORT ssize_t rwrite(int fd, const void* from, size_t length) { return rsend(fd, from, length, 0); }
SOFTRNIC_EXPORT ssize_t rwritev(int fd, const iovec* parts, int count) {
  return send(fd, message_of(parts, count), 0);
}

SOFTRNIC_EXPORT int rpoll(pollfd* descriptors, nfds_t count, int timeout) {
  return call<int>([&] { return rs::poll_sockets(descriptors, count, timeout); });
}

SOFTRNIC_EXPORT int rselect(int count, fd_set* reads, fd_set* writes, fd_set* others, timeval* timeout) {
  return call<int>([&]() -> Result<int> {
    std::vector<pollfd> wanted;
    for (int fd = 0; fd < count; ++fd) {
      const bool read = reads != nullptr && FD_ISSET(fd, reads);
      const bool write = writes != nullptr && FD_ISSET(fd, writes);
      if (!read && !write && (others == nullptr || !FD_ISSET(fd, others))) continue;
      wanted.push_back({fd, static_cast<short>((read ? POLLIN : 0) | (write ? POLLOUT : 0)), 0});
    }
    const int ms =
        timeout == nullptr ? -1 : static_cast<int>(timeout->tv_sec * 1000 + (timeout->tv_usec + 999) / 1000);
    const auto ready = rs::poll_sockets(wanted.data(), wanted.size(), ms);
    if (!ready) return ready;
    for (fd_set* set : {reads, writes, others}) {
      if (set != nullptr) FD_ZERO(set);
    }
    int found = 0;
    const auto mark = [&found](fd_set* set, int fd, bool is) {
      if (set == nullptr || !is) return;
      FD_SET(fd, set);
      ++found;
    };
    for (const pollfd& one : wanted) {
      // An error is for whoever asked: their next call tells it.
      const bool broken = (one.revents & (POLLERR | POLLHUP)) != 0;
      mark(reads, one.fd, (one.events & POLLIN) != 0 && ((one.revents & POLLIN) != 0 || broken));
      mark(writes, one.fd,
           (one.events & POLLOUT) != 0 && ((one.revents & POLLOUT) != 0 || (one.revents & POLLERR) != 0));
      mark(others, one.fd, (one.revents & ~(POLLIN | POLLOUT | POLLHUP)) != 0);
    }
    return found;
  });
}

SOFTRNIC_EXPORT int rgetpeername(int fd, sockaddr* address, socklen_t* length) {
  return on_socket<int>(fd, [&](auto& socket) { return socket.peer_name(address, length); });
}
SOFTRNIC_EXPORT int rgetsockname(int fd, sockaddr* address, socklen_t* length) {
  return on_socket<int>(fd, [&](auto& socket) { return socket.local_name(address, length); });
}
SOFTRNIC_EXPORT int rsetsockopt(int fd, int level, int name, const void* value, socklen_t length) {
  return on_socket<int>(fd, [&](auto& socket) { return socket.set_option(level, name, value, length); });
}
SOFTRNIC_EXPORT int rgetsockopt(int fd, int level, int name, void* value, socklen_t* length) {
  return on_socket<int>(fd, [&](auto& socket) { return socket.get_option(level, name, value, length); });
}
SOFTRNIC_EXPORT int rfcntl(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  const long argument = va_arg(arguments, long);
  va_end(arguments);
  return on_socket<int>(fd, [&](auto& socket) { return socket.control(command, argument); });
}

SOFTRNIC_EXPORT off_t riomap(int fd, void* address, size_t length, int protection, int, off_t offset) {
  return on_socket<off_t>(fd, [&](auto& socket) { return socket.map(address, length, protection, offset); });
}
SOFTRNIC_EXPORT int riounmap(int fd, void* address, size_t length) {
  return on_socket<int>(fd, [&](auto& socket) { return socket.unmap(address, length); });
}
SOFTRNIC_EXPORT size_t riowrite(int fd, const void* from, size_t length, off_t offset, int flags) {
  return on_socket<size_t>(fd, [&](auto& socket) {
    return socket.write_mapped({static_cast<const std::byte*>(from), length}, offset, flags);
  });
}

// Of releases after that of the headers here. There they return errnos; here -1 and errno, as the calls of
// epoll(7) do in whose place librspreload.so puts them.
SOFTRNIC_VERSIONED(int, repoll_create, "RDMACM_1.5", (int flags)) {
  return call<int>([&]() -> Result<int> {
    const auto made = rs::EpollInstance::make(flags);
    if (!made) return rs::fail(made.error());
    rs::enter_epoll(*made);
    return (*made)->fd();
  });
}
SOFTRNIC_VERSIONED(int, repoll_ctl, "RDMACM_1.5", (int epfd, int op, int fd, epoll_event* event)) {
  return on_epoll(
      epfd, [&](rs::EpollInstance& instance) -> Result<void> { return instance.control(op, fd, event); });
}
SOFTRNIC_VERSIONED(int, repoll_wait, "RDMACM_1.5",
                   (int epfd, epoll_event* events, int maxevents, int timeout)) {
  return on_epoll(epfd, [&](rs::EpollInstance& instance) -> Result<int> {
    if (maxevents <= 0) return rs::fail(EINVAL);
    if (events == nullptr) return rs::fail(EFAULT);
    return instance.wait({events, static_cast<std::size_t>(maxevents)}, timeout);
  });
}
