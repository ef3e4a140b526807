// Numbers as the tools of InfiniBand print them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace softrnic::fabric {

/// "2c903", and "000000000002c903": as the tools print GUIDs in some places and in others.
inline std::string hex(std::uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(value));
  return text;
}
inline std::string hex16(std::uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace softrnic::fabric
