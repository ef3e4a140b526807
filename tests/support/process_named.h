// Finds processes that a test did not start itself.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace softrnic::test {

/// Process of this network namespace with that name in /proc; 0: none.
inline pid_t process_named(const std::string& comm) {
  struct stat own {};
  stat("/proc/self/ns/net", &own);
  pid_t found = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    std::string name;
    struct stat its {};
    if (!std::getline(std::ifstream(entry.path() / "comm"), name) || name != comm) continue;
    if (stat((entry.path() / "ns/net").c_str(), &its) != 0 || its.st_ino != own.st_ino) continue;
    found = static_cast<pid_t>(std::strtol(entry.path().filename().c_str(), nullptr, 10));
  }
  return found;
}

}  // namespace softrnic::test
