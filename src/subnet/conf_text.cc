#include "subnet/conf_text.h"

#include <charconv>

namespace softrnic::subnet {

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kConfSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kConfSpace) - first + 1);
}

std::string_view cut(std::string_view& text, std::string_view separators) {
  const std::size_t at = text.find_first_of(separators);
  const std::string_view head = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return head;
}

std::optional<std::uint64_t> parse_conf_number(std::string_view text, std::uint64_t most) {
  const bool is_hex = text.starts_with("0x");
  if (is_hex) text.remove_prefix(2);
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, is_hex ? 16 : 10);
  if (error != std::errc() || stop != end || number > most) return std::nullopt;
  return number;
}

}  // namespace softrnic::subnet
