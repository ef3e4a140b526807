// What a thread of this process is at, so that a test can begin once it sleeps.
#pragma once

#include <sys/types.h>

#include <fstream>
#include <iterator>
#include <string>

namespace softrnic::test {

/// The letter of proc(5): S for one that sleeps.
inline char state_of(pid_t thread) {
  std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
  const std::string text((std::istreambuf_iterator<char>(stat)), {});
  const std::size_t behind_name = text.rfind(')');
  return behind_name == std::string::npos ? '?' : text[behind_name + 2];
}

}  // namespace softrnic::test
