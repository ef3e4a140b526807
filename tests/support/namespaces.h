// Namespaces of a test's own.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace softrnic::test {

/// Enters a network namespace; where that takes a user namespace around it, as root of that. False:
/// there is none to be had.
inline bool enter_network_namespace() {
  const std::string uid = std::to_string(geteuid()), gid = std::to_string(getegid());
  if (unshare(CLONE_NEWNET) == 0) return true;
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << "0 " + uid + " 1";
  std::ofstream("/proc/self/gid_map") << "0 " + gid + " 1";
  return true;
}

/// Whether this user namespace has all users, as the one has in which the machine started.
inline bool has_all_users() {
  std::uint64_t first = 0, outside = 0, count = 0;
  std::ifstream("/proc/self/uid_map") >> first >> outside >> count;
  return count >= UINT32_MAX;
}

}  // namespace softrnic::test
