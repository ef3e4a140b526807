// What users may do whom a test makes itself.
#pragma once

#include <sys/stat.h>

#include <filesystem>

namespace softrnic::test {

/// Whether any user may run `program`, an absolute path: some folders, as root's home, keep others out.
inline bool others_may_run(const std::filesystem::path& program) {
  std::filesystem::path part;
  for (const auto& name : program) {
    part /= name;
    struct stat status {};
    if (stat(part.c_str(), &status) != 0 || (status.st_mode & S_IXOTH) == 0) return false;
  }
  return true;
}

}  // namespace softrnic::test
