#include "control/channel.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace softrnic::control {

namespace {

AbstractName abstract_name(const std::string& text) {
  AbstractName name;
  name.address.sun_family = AF_UNIX;
  // the first byte stays zero: that makes the name abstract (unix(7))
  const std::size_t length = text.copy(name.address.sun_path + 1, sizeof name.address.sun_path - 1);
  name.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  return name;
}

}  // namespace

AbstractName daemon_name(uid_t uid, const char* suffix) {
  return abstract_name("softrnicd/" + std::to_string(uid) + suffix);
}

AbstractName system_daemon_name() { return abstract_name("softrnicd/system"); }

int send_datagram(int socket, Bytes datagram, int fd, int flags) {
  iovec part{const_cast<std::byte*>(datagram.data()), datagram.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  ssize_t sent;
  do {
    sent = ::sendmsg(socket, &message, flags | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent < 0 ? errno : 0;
}

namespace {

void take_descriptors(const cmsghdr& header, Datagram& out) {
  const std::size_t count = (header.cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (std::size_t i = 0; i < count; ++i) {
    int fd;
    std::memcpy(&fd, CMSG_DATA(&header) + i * sizeof fd, sizeof fd);
    if (out.fd_count < out.fds.size()) {
      out.fds[out.fd_count++].reset(above_stdio(fd));
    } else {
      out.lost_descriptors = true;
      ::close(fd);
    }
  }
}

}  // namespace

int receive_datagram(int socket, MutableBytes buffer, Datagram& out, int flags) {
  iovec part{buffer.data(), buffer.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * Datagram::kMaxFds) + CMSG_SPACE(sizeof(ucred))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got;
  do {
    got = ::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return errno;
  out.size = static_cast<std::size_t>(got);
  out.truncated = (message.msg_flags & MSG_TRUNC) != 0;
  out.lost_descriptors = (message.msg_flags & MSG_CTRUNC) != 0;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET) continue;
    if (header->cmsg_type == SCM_RIGHTS) take_descriptors(*header, out);
    if (header->cmsg_type == SCM_CREDENTIALS) {
      ucred sender;
      std::memcpy(&sender, CMSG_DATA(header), sizeof sender);
      out.sender = sender;
    }
  }
  return 0;
}

std::optional<ucred> peer_credentials(int socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return std::nullopt;
  return peer;
}

}  // namespace softrnic::control
