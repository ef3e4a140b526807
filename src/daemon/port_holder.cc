#include "daemon/port_holder.h"

#include <dirent.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "wire/headers.h"

namespace softrnic::daemon {
namespace {

constexpr std::uint32_t kNobody = 65534;  ///< the overflow uid, which stands for users unknown here

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

bool has_socket(const std::string& fd_folder, std::uint64_t inode) {
  const Folder folder{opendir(fd_folder.c_str())};
  if (!folder) return false;
  const std::string wanted = "socket:[" + std::to_string(inode) + "]";
  while (const dirent* entry = readdir(folder.get())) {
    char target[64];
    const ssize_t length = readlink((fd_folder + "/" + entry->d_name).c_str(), target, sizeof target);
    if (length > 0 && std::string_view(target, static_cast<std::size_t>(length)) == wanted) return true;
  }
  return false;
}

/// The process that has the socket open; 0 when none can be seen.
int process_with(std::uint64_t inode) {
  const Folder processes{opendir("/proc")};
  if (!processes) return 0;
  while (const dirent* entry = readdir(processes.get())) {
    char* end = nullptr;
    const long pid = std::strtol(entry->d_name, &end, 10);
    if (pid <= 0 || *end != 0) continue;
    if (has_socket("/proc/" + std::string(entry->d_name) + "/fd", inode)) return static_cast<int>(pid);
  }
  return 0;
}

std::string read_file(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::vector<PortHolder> holders_in(std::string_view table, std::uint16_t port) {
  std::vector<PortHolder> found;
  while (!table.empty()) {
    const std::size_t end = table.find('\n');
    const std::string line(table.substr(0, end));
    table.remove_prefix(end == std::string_view::npos ? table.size() : end + 1);
    // sl local:port remote:port st tx:rx tr:when retrnsmt uid timeout inode …
    unsigned local_port = 0, uid = 0;
    unsigned long long inode = 0;
    if (std::sscanf(line.c_str(), " %*u: %*[0-9A-Fa-f]:%x %*s %*s %*s %*s %*s %u %*u %llu", &local_port, &uid,
                    &inode) == 3 &&
        local_port == port) {
      found.push_back({uid, inode});
    }
  }
  return found;
}

Reason who_holds_the_port() {
  std::vector<PortHolder> holders;
  for (const char* path : {"/proc/self/net/udp", "/proc/self/net/udp6"})
    for (const PortHolder& holder : holders_in(read_file(path), wire::kRoceUdpPort))
      holders.push_back(holder);
  if (holders.empty()) return because(ReasonId::port_taken_unknown, kNobody);
  for (const PortHolder& holder : holders)
    if (const int pid = process_with(holder.inode))
      return because(ReasonId::port_taken_user, holder.uid, pid);
  // sockets of the kernel belong to root and to no process
  if (holders[0].uid == 0 && access("/sys/module/rdma_rxe", F_OK) == 0)
    return because(ReasonId::port_taken_kernel);
  return because(ReasonId::port_taken_unknown, holders[0].uid);
}

}  // namespace softrnic::daemon
