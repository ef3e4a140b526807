#include "control/path_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/kernel_socket.h"
#include "base/reason_id.h"
#include "control/channel.h"
#include "control/client.h"
#include "control/local_name.h"

namespace softrnic::control {
namespace {

Unexpected<Failure> path_failure(int error) {
  return Unexpected{refuse(error, ReasonId::fabric_folder, error)};
}

std::optional<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  if (path.size() >= sizeof address.sun_path) return std::nullopt;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  return address;
}

/// 0 or a positive errno (never EINTR).
int connect_to(int fd, const sockaddr_un& address) {
  while (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

/// 0 or a positive errno.
int bind_to(int fd, const sockaddr_un& address) {
  return bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
}

/// Removes the socket of a process that has ended, and nothing else. 0 or a positive errno.
int remove_abandoned(const std::string& path) {
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0) return errno;
  if (!S_ISSOCK(found.st_mode)) return ENOTSOCK;
  if (found.st_uid != geteuid()) return EACCES;
  const auto listening = reach_path(path);
  if (listening) return EADDRINUSE;
  if (listening.error().error != ECONNREFUSED) return listening.error().error;
  return unlink(path.c_str()) == 0 ? 0 : errno;
}

}  // namespace

Expected<UniqueFd, Failure> reach_path(const std::string& path) {
  const auto address = address_of(path);
  if (!address) return path_failure(ENAMETOOLONG);
  UniqueFd fd(above_stdio(kernel_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)));
  if (!fd) return Unexpected{no_daemon(errno)};
  set_patience(fd.get(), kAnswerTimeout);
  const int error = connect_to(fd.get(), *address);
  if (error == ENOENT || error == ECONNREFUSED)
    return Unexpected{refuse(ECONNREFUSED, ReasonId::fabric_not_there)};
  if (error != 0) return path_failure(error);
  const auto peer = peer_credentials(fd.get());
  if (!peer || peer->uid != geteuid()) return path_failure(EACCES);
  return fd;
}

Expected<PathListener, Failure> PathListener::open(const std::string& path) {
  const auto address = address_of(path);
  if (!address) return path_failure(ENAMETOOLONG);
  UniqueFd fd(above_stdio(kernel_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
  if (!fd) return Unexpected{no_daemon(errno)};
  int error = bind_to(fd.get(), *address);
  if (error == EADDRINUSE) {
    error = remove_abandoned(path);
    if (error == 0) error = bind_to(fd.get(), *address);
  }
  if (error != 0) return path_failure(error);
  PathListener made;
  made.fd_ = std::move(fd);
  made.path_ = path;
  made.file_ = file_at(path);
  if (listen(made.fd(), SOMAXCONN) != 0) return path_failure(errno);
  return made;
}

PathListener& PathListener::operator=(PathListener&& other) noexcept {
  if (this == &other) return *this;
  close();
  fd_ = std::move(other.fd_);
  path_ = std::move(other.path_);
  file_ = other.file_;
  return *this;
}

PathListener::File PathListener::file_at(const std::string& path) {
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0 || !S_ISSOCK(found.st_mode)) return {};
  return {found.st_dev, found.st_ino};
}

void PathListener::close() {
  if (!fd_) return;
  if (file_ != File{} && file_at(path_) == file_) unlink(path_.c_str());
  fd_.reset();
}

}  // namespace softrnic::control
