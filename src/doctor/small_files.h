// The kernel's small text files.
#pragma once

#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace softrnic::doctor {

/// All of it; empty when it cannot be read.
inline std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string first_line_of(const std::string& path) {
  const std::string text = text_of(path);
  return text.substr(0, text.find('\n'));
}

inline std::optional<std::uint64_t> number_in(const std::string& path) {
  const std::string text = first_line_of(path);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

}  // namespace softrnic::doctor
