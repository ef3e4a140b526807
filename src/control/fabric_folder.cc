#include "control/fabric_folder.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/kernel_socket.h"
#include "control/channel.h"
#include "control/client.h"
#include "control/local_name.h"

namespace softrnic::control {
namespace {

constexpr std::size_t kMostName = 63;
constexpr mode_t kOwn = 0700;

Unexpected<Failure> failed(int error) { return Unexpected{refuse(error, ReasonId::fabric_folder, error)}; }

/// Whether it is a folder, no link, and nobody else's.
bool is_own_folder(const std::string& path) {
  struct stat found {};
  return lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == geteuid() &&
         (found.st_mode & 077) == 0;
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

}  // namespace

bool valid_fabric_name(std::string_view name) {
  if (name.empty() || name.size() > kMostName || std::isalnum(static_cast<unsigned char>(name[0])) == 0)
    return false;
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.');
  });
}

Expected<HostName, Failure> parse_host_name(std::string_view text) {
  const std::size_t slash = text.find('/');
  const bool has_fabric = slash != std::string_view::npos;
  const HostName name{std::string(has_fabric ? text.substr(0, slash) : kDefaultFabric),
                      std::string(has_fabric ? text.substr(slash + 1) : text)};
  if (!valid_fabric_name(name.fabric) || !valid_fabric_name(name.host))
    return Unexpected{refuse(EINVAL, ReasonId::fabric_host_name)};
  return name;
}

Expected<std::string, Failure> fabrics_folder(bool make) {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const std::string folder = runtime != nullptr && is_own_folder(runtime)
                                 ? std::string(runtime) + "/softrnic"
                                 : "/tmp/softrnic-" + std::to_string(geteuid());
  if (make && mkdir(folder.c_str(), kOwn) != 0 && errno != EEXIST) return failed(errno);
  struct stat found {};
  if (lstat(folder.c_str(), &found) != 0) return failed(errno);
  if (!is_own_folder(folder)) return failed(EACCES);
  return folder;
}

std::string command_socket(const std::string& folder, const std::string& fabric) {
  return folder + "/" + fabric + "/.commands";
}

std::string host_socket(const std::string& folder, const HostName& name) {
  return folder + "/" + name.fabric + "/" + name.host;
}

Expected<UniqueFd, Failure> reach_path(const std::string& path) {
  const auto address = address_of(path);
  if (!address) return failed(ENAMETOOLONG);
  UniqueFd fd(above_stdio(kernel_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)));
  if (!fd) return Unexpected{no_daemon(errno)};
  set_patience(fd.get(), kAnswerTimeout);
  const int error = connect_to(fd.get(), *address);
  if (error == ENOENT || error == ECONNREFUSED)
    return Unexpected{refuse(ECONNREFUSED, ReasonId::fabric_not_there)};
  if (error != 0) return failed(error);
  const auto peer = peer_credentials(fd.get());
  if (!peer || peer->uid != geteuid()) return failed(EACCES);
  return fd;
}

Expected<UniqueFd, Failure> listen_at(const std::string& path) {
  const auto address = address_of(path);
  if (!address) return failed(ENAMETOOLONG);
  UniqueFd fd(above_stdio(kernel_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
  if (!fd) return Unexpected{no_daemon(errno)};
  const auto bind_it = [&] {
    return bind(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0;
  };
  if (!bind_it()) {
    if (errno != EADDRINUSE) return failed(errno);
    if (reach_path(path)) return failed(EADDRINUSE);
    unlink(path.c_str());
    if (!bind_it()) return failed(errno);
  }
  if (listen(fd.get(), SOMAXCONN) != 0) return failed(errno);
  return fd;
}

}  // namespace softrnic::control
