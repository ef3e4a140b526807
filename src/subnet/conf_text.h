// Pieces of the text of opensm's configuration files.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace softrnic::subnet {

inline constexpr std::string_view kConfSpace = " \t\r\n";

/// Without the white space around it.
std::string_view trim(std::string_view text);

/// What is before the first of the separators; `text` keeps what is behind that, or nothing.
std::string_view cut(std::string_view& text, std::string_view separators);

/// Decimal, or hexadecimal behind 0x, and nothing else; at most `most`.
std::optional<std::uint64_t> parse_conf_number(std::string_view text, std::uint64_t most);

}  // namespace softrnic::subnet
