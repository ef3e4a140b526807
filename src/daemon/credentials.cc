#include "daemon/credentials.h"

#include <linux/nsfs.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/unique_file.h"

namespace softrnic::daemon {
namespace {

std::string path_of(pid_t pid, const char* entry) { return "/proc/" + std::to_string(pid) + "/" + entry; }

std::optional<std::uint64_t> capabilities_of(pid_t pid) {
  const UniqueFile file(std::fopen(path_of(pid, "status").c_str(), "re"));
  if (file == nullptr) return std::nullopt;
  constexpr std::string_view kLabel = "CapPrm:\t";
  std::array<char, 256> text{};
  while (std::fgets(text.data(), text.size(), file.get()) != nullptr) {
    const std::string_view line(text.data());
    if (!line.starts_with(kLabel)) continue;
    std::uint64_t out = 0;
    const char* const end = line.data() + line.size();
    if (std::from_chars(line.data() + kLabel.size(), end, out, 16).ec == std::errc()) return out;
  }
  return std::nullopt;
}

bool lives(const UniqueFd& process) {
  pollfd ended{process.get(), POLLIN, 0};
  return process && poll(&ended, 1, 0) == 0;
}

}  // namespace

bool proc_is_ours() {
  std::array<char, 32> target{};
  const ssize_t length = readlink("/proc/self", target.data(), target.size());
  pid_t number = 0;
  if (length > 0) std::from_chars(target.data(), target.data() + length, number);
  return number == getpid();
}

// By its number only where the kernel does not tell the process itself: the number may be another's by now.
UniqueFd peer_process(int socket, pid_t pid) {
  constexpr int kPeerPidfd = 77;  // SO_PEERPIDFD, Linux 6.5
  int fd = -1;
  socklen_t length = sizeof fd;
  if (getsockopt(socket, SOL_SOCKET, kPeerPidfd, &fd, &length) == 0) return UniqueFd(above_stdio(fd));
  if (errno != ENOPROTOOPT || pid <= 0) return UniqueFd();
  return UniqueFd(above_stdio(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))));
}

std::optional<Credentials::Namespace> Credentials::namespace_of(pid_t pid, const char* name) {
  struct stat status {};
  if (stat(path_of(pid, name).c_str(), &status) != 0) return std::nullopt;
  return Namespace{status.st_dev, status.st_ino};
}

void Credentials::read(pid_t pid) {
  user_namespace_ = namespace_of(pid, "ns/user");
  pid_namespace_ = namespace_of(pid, "ns/pid");
  capabilities_ = capabilities_of(pid);
}

Credentials Credentials::own() {
  Credentials out;
  out.user_ = geteuid();
  if (proc_is_ours()) out.read(getpid());
  if (out.known()) return out;
  out.user_namespace_ = out.pid_namespace_ = Namespace{};
  out.capabilities_ = 0;
  return out;
}

Credentials Credentials::of(uid_t user, pid_t pid, const UniqueFd& process) {
  Credentials nothing;
  nothing.user_ = user;
  if (!proc_is_ours()) {
    Credentials alike = own();
    alike.user_ = user;
    return alike;
  }
  if (pid <= 0) return nothing;
  Credentials out = nothing;
  out.read(pid);
  return lives(process) ? out : nothing;
}

bool Credentials::show_namespace(int file) {
  struct stat status {};
  const int type = ioctl(file, NS_GET_NSTYPE);
  if ((type != CLONE_NEWUSER && type != CLONE_NEWPID) || fstat(file, &status) != 0) return false;
  std::optional<Namespace>& shown = type == CLONE_NEWUSER ? user_namespace_ : pid_namespace_;
  if (shown) return true;
  shown = Namespace{status.st_dev, status.st_ino};
  shown_ = true;
  return true;
}

bool Credentials::may_attach_to(const Credentials& other) const {
  return known() && other.known() && user_ == other.user_ && user_namespace_ == other.user_namespace_ &&
         pid_namespace_ == other.pid_namespace_ && (*other.capabilities_ & ~*capabilities_) == 0;
}

}  // namespace softrnic::daemon
