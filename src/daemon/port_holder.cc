#include "daemon/port_holder.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "base/reason_id.h"
#include "control/local_name.h"
#include "wire/headers.h"

namespace softrnic::daemon {
namespace {

constexpr std::uint32_t kNobody = 65534;  ///< the overflow uid, which stands for users unknown here

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

std::vector<PortHolder> holders_of_port() {
  std::vector<PortHolder> holders;
  for (const char* path : {"/proc/self/net/udp", "/proc/self/net/udp6"})
    for (const PortHolder& holder : holders_in(read_file(path), wire::kRoceUdpPort))
      holders.push_back(holder);
  return holders;
}

Reason who_holds_the_port() {
  const std::vector<PortHolder> holders = holders_of_port();
  if (holders.empty()) return because(ReasonId::port_taken_unknown, kNobody);
  for (const PortHolder& holder : holders)
    if (const pid_t pid = control::process_with_socket(holder.inode))
      return control::because_of(ReasonId::port_taken_user, holder.uid, pid);
  // sockets of the kernel belong to root and to no process
  if (holders[0].uid == 0 && access("/sys/module/rdma_rxe", F_OK) == 0)
    return because(ReasonId::port_taken_kernel);
  return because(ReasonId::port_taken_unknown, holders[0].uid);
}

}  // namespace softrnic::daemon
