#include "daemon/system_mode.h"

#include <fmt/core.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "control/channel.h"
#include "control/client.h"
#include "control/local_name.h"

namespace softrnic::daemon {
namespace {

constexpr int kFirstGivenFd = 3;  // SD_LISTEN_FDS_START

std::optional<unsigned> number_in(const char* text) {
  if (text == nullptr) return std::nullopt;
  unsigned number = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

bool is_listener(int fd) {
  int type = 0, listens = 0;
  socklen_t length = sizeof type;
  if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0) return false;
  length = sizeof listens;
  return type == SOCK_SEQPACKET && getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 &&
         listens != 0;
}

struct User {
  uid_t uid = 0;
  gid_t gid = 0;
};

std::optional<User> find_user(const std::string& name) {
  if (const passwd* entry = getpwnam(name.c_str())) return User{entry->pw_uid, entry->pw_gid};
  const auto number = number_in(name.c_str());
  if (!number) return std::nullopt;
  const passwd* entry = getpwuid(*number);
  return User{*number, entry != nullptr ? entry->pw_gid : *number};
}

}  // namespace

Expected<UniqueFd, std::string> listen_for_all_users() {
  if (number_in(std::getenv("LISTEN_PID")) == static_cast<unsigned>(getpid()) &&
      number_in(std::getenv("LISTEN_FDS")).value_or(0) != 0) {
    UniqueFd given(kFirstGivenFd);
    if (!is_listener(given.get()))
      return Unexpected{
          std::string("the socket of the unit must be ListenSequentialPacket=@softrnicd/system")};
    return UniqueFd(above_stdio(given.release()));
  }
  if (geteuid() != 0)
    return Unexpected{
        std::string("--system needs root, or a socket unit of systemd: programs of other users "
                    "believe no other")};
  auto listener = control::listen_as(control::system_daemon_name(), SOMAXCONN);
  if (listener) return std::move(*listener);
  if (listener.error().error == EADDRINUSE)
    return Unexpected{
        std::string("a daemon of all users is running already, or somebody holds its name "
                    "(`ss -xlp | grep softrnicd/system`)")};
  return Unexpected{control::make_error(listener.error()).text};
}

Expected<void, std::string> become(const std::string& user) {
  if (geteuid() != 0) return {};
  const auto found = find_user(user);
  if (!found)
    return Unexpected{
        fmt::format("there is no user {}: make one (`adduser --system --group {}`), or name "
                    "another with --user",
                    user, user)};
  if (found->uid == 0) return {};
  if (setgroups(0, nullptr) != 0 || setgid(found->gid) != 0 || setuid(found->uid) != 0)
    return Unexpected{fmt::format("cannot become user {}: {}", user, std::strerror(errno))};
  // The kernel hides who changed users; the keeper is to know its daemon, and nothing of root's is left here.
  prctl(PR_SET_DUMPABLE, 1);
  return {};
}

}  // namespace softrnic::daemon
