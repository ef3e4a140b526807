#include "control/local_name.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "base/kernel_socket.h"
#include "base/reason_id.h"
#include "base/reason_words.h"
#include "base/unique_file.h"
#include "control/client.h"

namespace softrnic::control {
namespace {

constexpr std::uint32_t kUnknownUser = 65534;  ///< the overflow uid, which stands for users unknown here

struct Holder {
  std::uint32_t uid = kUnknownUser;
  std::uint64_t inode = 0;
};

bool has_socket(const std::string& fd_folder, std::uint64_t inode) {
  const UniqueDirectory folder{opendir(fd_folder.c_str())};
  if (!folder) return false;
  const std::string wanted = "socket:[" + std::to_string(inode) + "]";
  while (const dirent* entry = readdir(folder.get())) {
    char target[64];
    const ssize_t length = readlink((fd_folder + "/" + entry->d_name).c_str(), target, sizeof target);
    if (length > 0 && std::string_view(target, static_cast<std::size_t>(length)) == wanted) return true;
  }
  return false;
}

std::string comm_of(pid_t pid) {
  const UniqueFd file(
      open(("/proc/" + std::to_string(pid) + "/comm").c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  char text[kCommSize];
  const ssize_t length = file ? read(file.get(), text, sizeof text) : 0;
  if (length <= 0) return {};
  return {text, static_cast<std::size_t>(text[length - 1] == '\n' ? length - 1 : length)};
}

/// When the process began, in clock ticks since boot (proc(5), stat, field 22).
std::uint64_t start_of(pid_t pid) {
  constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
  const UniqueFd file(
      open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  char text[1024];
  const ssize_t length = file ? read(file.get(), text, sizeof text - 1) : 0;
  if (length <= 0) return kUnknown;
  text[length] = 0;
  const char* field = std::strrchr(text, ')');  // the second one; a name may have any character
  for (int number = 2; field != nullptr && number < 22; ++number) field = std::strchr(field + 1, ' ');
  return field != nullptr ? std::strtoull(field, nullptr, 10) : kUnknown;
}

/// The holder that one answer of unix_diag tells of, when the socket has that name.
std::optional<Holder> holder_in(nlmsghdr& message, std::string_view name) {
  if (message.nlmsg_len < NLMSG_SPACE(sizeof(unix_diag_msg))) return std::nullopt;
  const auto* body = static_cast<const unix_diag_msg*>(NLMSG_DATA(&message));
  if (body->udiag_type != SOCK_SEQPACKET) return std::nullopt;
  Holder holder{.inode = body->udiag_ino};
  bool named = false;
  auto* attribute = reinterpret_cast<rtattr*>(reinterpret_cast<char*>(&message) + NLMSG_SPACE(sizeof *body));
  auto left = static_cast<unsigned>(message.nlmsg_len - NLMSG_SPACE(sizeof *body));
  for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
    const std::string_view value(static_cast<const char*>(RTA_DATA(attribute)), RTA_PAYLOAD(attribute));
    if (attribute->rta_type == UNIX_DIAG_NAME) named = value == name;
    if (attribute->rta_type == UNIX_DIAG_UID && value.size() == sizeof holder.uid)
      std::memcpy(&holder.uid, value.data(), sizeof holder.uid);
  }
  return named ? std::optional(holder) : std::nullopt;
}

/// Asks the kernel (unix_diag) for all sockets of this network namespace that listen or are just bound.
UniqueFd ask_for_sockets() {
  constexpr unsigned kClosed = 7,
                     kListening = 10;  // TCP_CLOSE and TCP_LISTEN, which stand for any protocol's
  struct {
    nlmsghdr header{};
    unix_diag_req body{};
  } request;
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.body.sdiag_family = AF_UNIX;
  request.body.udiag_states = 1U << kClosed | 1U << kListening;
  request.body.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_UID;
  UniqueFd fd(above_stdio(kernel_socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)));
  if (fd && send(fd.get(), &request, sizeof request, MSG_NOSIGNAL) != sizeof request) fd.reset();
  return fd;
}

/// Who has bound the name; nothing when nobody has, or the kernel does not tell.
std::optional<Holder> holder_of(const AbstractName& name) {
  const UniqueFd fd = ask_for_sockets();
  if (!fd) return std::nullopt;
  const std::string_view wanted(name.address.sun_path, name.length - offsetof(sockaddr_un, sun_path));
  alignas(nlmsghdr) std::array<char, 32768> buffer;
  std::optional<Holder> found;
  for (;;) {
    const ssize_t got = recv(fd.get(), buffer.data(), buffer.size(), 0);
    if (got <= 0) return found;
    auto left = static_cast<unsigned>(got);
    for (auto* message = reinterpret_cast<nlmsghdr*>(buffer.data()); NLMSG_OK(message, left);
         message = NLMSG_NEXT(message, left)) {
      if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR) return found;
      if (const auto holder = holder_in(*message, wanted)) found = holder;
    }
  }
}

bool is_one_of(uid_t uid, std::span<const uid_t> users) {
  return std::find(users.begin(), users.end(), uid) != users.end();
}

/// 0 or a positive errno (never EINTR). Where the listener's queue is full, waits only for
/// a listener of these users.
int connect_to(int fd, const AbstractName& name, std::span<const uid_t> holders) {
  const int flags = fcntl(fd, F_GETFL);
  fcntl(fd, F_SETFL, flags | O_NONBLOCK);
  int result = connect(fd, name.get(), name.length);
  const bool full = result != 0 && errno == EAGAIN;
  const auto holder = full ? holder_of(name) : std::nullopt;
  if (holder && !is_one_of(holder->uid, holders)) return EACCES;
  const int error = result == 0 ? 0 : errno;
  fcntl(fd, F_SETFL, flags);
  if (!full) return error;
  do {
    result = connect(fd, name.get(), name.length);
  } while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : errno;
}

Reason taken(ReasonId id, const AbstractName& name) {
  const Holder holder = holder_of(name).value_or(Holder{});
  return because_of(id, holder.uid, process_with_socket(holder.inode));
}

}  // namespace

void set_patience(int fd, std::chrono::seconds patience) {
  const timeval limit{patience.count(), 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

Expected<UniqueFd, Failure> reach_own(const AbstractName& name, std::chrono::seconds patience) {
  const uid_t own[] = {geteuid()};
  return reach(name, patience, own, ReasonId::daemon_name_taken);
}

Expected<UniqueFd, Failure> reach(const AbstractName& name, std::chrono::seconds patience,
                                  std::span<const uid_t> holders, ReasonId untrusted) {
  UniqueFd fd(above_stdio(kernel_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)));
  if (!fd) return Unexpected{no_daemon(errno)};
  set_patience(fd.get(), patience);
  const int error = connect_to(fd.get(), name, holders);
  if (error == EACCES) return Unexpected{Failure{EACCES, taken(untrusted, name)}};
  if (error != 0) return Unexpected{no_daemon(error == EAGAIN ? ETIMEDOUT : error)};
  const auto peer = peer_credentials(fd.get());
  if (!peer) return Unexpected{no_daemon(errno)};
  if (!is_one_of(peer->uid, holders))
    return Unexpected{Failure{EACCES, because_of(untrusted, peer->uid, peer->pid)}};
  return fd;
}

Expected<UniqueFd, Failure> listen_as(const AbstractName& name, int backlog) {
  UniqueFd fd(above_stdio(kernel_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
  if (fd && bind(fd.get(), name.get(), name.length) == 0 && listen(fd.get(), backlog) == 0) return fd;
  const int error = errno;
  if (error == EADDRINUSE) return Unexpected{Failure{error, name_taken(name)}};
  return Unexpected{no_daemon(error)};
}

bool is_held_by_other(const AbstractName& name) {
  const auto holder = holder_of(name);
  return holder && holder->uid != geteuid();
}

Reason name_taken(const AbstractName& name) { return taken(ReasonId::daemon_name_taken, name); }

pid_t process_with_socket(std::uint64_t inode) {
  const UniqueDirectory processes{inode != 0 ? opendir("/proc") : nullptr};
  if (!processes) return 0;
  pid_t first = 0;
  while (const dirent* entry = readdir(processes.get())) {
    char* end = nullptr;
    const long pid = std::strtol(entry->d_name, &end, 10);
    if (pid <= 0 || *end != 0) continue;
    if (!has_socket("/proc/" + std::string(entry->d_name) + "/fd", inode)) continue;
    if (first == 0 || start_of(static_cast<pid_t>(pid)) < start_of(first)) first = static_cast<pid_t>(pid);
  }
  return first;
}

Reason because_of(ReasonId id, std::uint32_t uid, pid_t pid) {
  const auto [first, second] = program_figures(comm_of(pid));
  return because(id, uid, pid, first, second);
}

}  // namespace softrnic::control
