#include "daemon/credentials.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace softrnic::daemon {
namespace {

std::string path_of(pid_t pid, const char* entry) { return "/proc/" + std::to_string(pid) + "/" + entry; }

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

bool read_capabilities(pid_t pid, std::uint64_t& out) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path_of(pid, "status").c_str(), "re"));
  if (file == nullptr) return false;
  constexpr std::string_view kLabel = "CapPrm:\t";
  std::array<char, 256> text{};
  while (std::fgets(text.data(), text.size(), file.get()) != nullptr) {
    const std::string_view line(text.data());
    if (!line.starts_with(kLabel)) continue;
    const char* const end = line.data() + line.size();
    return std::from_chars(line.data() + kLabel.size(), end, out, 16).ec == std::errc();
  }
  return false;
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

bool Credentials::read_namespace(pid_t pid, const char* name, Namespace& out) {
  struct stat status {};
  if (stat(path_of(pid, name).c_str(), &status) != 0) return false;
  out = {status.st_dev, status.st_ino};
  return true;
}

bool Credentials::read(pid_t pid, Credentials& out) {
  out.known_ = read_namespace(pid, "ns/user", out.user_) && read_namespace(pid, "ns/pid", out.pid_) &&
               read_capabilities(pid, out.capabilities_);
  return out.known_;
}

Credentials Credentials::own() {
  Credentials out;
  if (!proc_is_ours() || !read(getpid(), out)) {
    out = {};
    out.known_ = true;
  }
  return out;
}

Credentials Credentials::of(pid_t pid, const UniqueFd& process) {
  if (!proc_is_ours()) return own();
  Credentials out;
  if (pid <= 0 || !read(pid, out) || !lives(process)) return {};
  return out;
}

bool Credentials::may_attach_to(const Credentials& other) const {
  return known_ && other.known_ && user_ == other.user_ && pid_ == other.pid_ &&
         (other.capabilities_ & ~capabilities_) == 0;
}

}  // namespace softrnic::daemon
