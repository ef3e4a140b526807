// Datagrams with descriptors over local sockets, and the names and credentials of their ends.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include <array>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/unique_fd.h"

namespace softrnic::control {

/// An address in the abstract namespace, which is that of the network namespace.
struct AbstractName {
  sockaddr_un address{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

/// "@softrnicd/<uid>" and a suffix; `uid` as this process's user namespace shows it.
AbstractName daemon_name(uid_t uid, const char* suffix = "");

/// "@softrnicd/system": of the daemon of all users.
AbstractName system_daemon_name();

/// One datagram as it came. `fds` beyond what the receiver asked for were closed.
struct Datagram {
  static constexpr std::size_t kMaxFds = 8;
  std::size_t size = 0;  ///< 0: the peer closed
  std::array<UniqueFd, kMaxFds> fds;
  std::size_t fd_count = 0;
  bool truncated = false;         ///< it was longer than the buffer
  bool lost_descriptors = false;  ///< it carried too many, or this process has no room for them (EMFILE)
  std::optional<ucred> sender;    ///< with SO_PASSCRED
};

/// Sends one datagram and, when `fd` is not negative, a descriptor. 0 or a positive errno
/// (never EINTR); no SIGPIPE.
int send_datagram(int socket, Bytes datagram, int fd = -1, int flags = 0);

/// Receives one datagram into `buffer`; descriptors come close-on-exec. 0 or a positive errno (never EINTR).
int receive_datagram(int socket, MutableBytes buffer, Datagram& out, int flags = 0);

/// The credentials of the other end of a connected socket, as this user namespace shows them.
std::optional<ucred> peer_credentials(int socket);

}  // namespace softrnic::control
