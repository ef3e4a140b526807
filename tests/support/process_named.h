// Finds processes that a test did not start itself.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace softrnic::test {

/// Processes of this network namespace with that name in /proc.
inline std::vector<pid_t> processes_named(const std::string& comm) {
  struct stat own {};
  stat("/proc/self/ns/net", &own);
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    std::string name;
    struct stat its {};
    if (!std::getline(std::ifstream(entry.path() / "comm"), name) || name != comm) continue;
    if (stat((entry.path() / "ns/net").c_str(), &its) != 0 || its.st_ino != own.st_ino) continue;
    found.push_back(static_cast<pid_t>(std::strtol(entry.path().filename().c_str(), nullptr, 10)));
  }
  return found;
}

/// One of them; 0: there is none.
inline pid_t process_named(const std::string& comm) {
  const std::vector<pid_t> found = processes_named(comm);
  return found.empty() ? 0 : found.back();
}

}  // namespace softrnic::test
