// Numbers in words.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "doctor/facts.h"

namespace softrnic::doctor {

/// "8 MiB", "208 KiB", "unlimited".
inline std::string bytes_text(std::uint64_t bytes) {
  if (bytes == kUnlimited) return "unlimited";
  constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.4g} {}", value, units[unit]);
}

inline std::string limit_text(std::uint64_t limit) {
  return limit == kUnlimited ? "unlimited" : fmt::format("{}", limit);
}

/// "130 us", "1.2 ms".
inline std::string time_text(std::uint64_t us) {
  return us < 1000 ? fmt::format("{} us", us) : fmt::format("{:.1f} ms", static_cast<double>(us) / 1000);
}

/// "EPERM: Operation not permitted" in English, whatever the locale.
inline std::string error_text(int error) {
  const char* const name = strerrorname_np(error);
  const char* const text = strerrordesc_np(error);
  return name == nullptr ? fmt::format("error {}", error) : fmt::format("{}: {}", name, text);
}

inline std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

}  // namespace softrnic::doctor
