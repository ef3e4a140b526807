#include "fabric/line_scanner.h"

#include <algorithm>
#include <charconv>

namespace softrnic::fabric {
namespace {

constexpr std::string_view kBlanks = " \t\r\v\f";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

std::optional<TextLine> TextLines::next() {
  if (rest_.empty()) return std::nullopt;
  const std::size_t end = rest_.find('\n');
  const std::string_view line = rest_.substr(0, end);
  rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
  return TextLine{++number_, trimmed(line)};
}

void LineScanner::skip_blanks() {
  rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlanks), rest_.size()));
}

bool LineScanner::take(std::string_view literal) {
  if (!rest_.starts_with(literal)) return false;
  rest_.remove_prefix(literal.size());
  return true;
}

std::string_view LineScanner::take_letters() {
  const auto end = std::find_if_not(rest_.begin(), rest_.end(), is_letter);
  const std::string_view letters = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
  rest_.remove_prefix(letters.size());
  return letters;
}

std::string_view LineScanner::take_word() {
  const std::string_view word = rest_.substr(0, rest_.find_first_of(kBlanks));
  rest_.remove_prefix(word.size());
  return word;
}

std::optional<std::uint64_t> LineScanner::take_digits(int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, base);
  if (error != std::errc{}) return std::nullopt;
  rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  return value;
}

std::optional<std::uint64_t> LineScanner::take_number() {
  return rest_.starts_with("0x") || rest_.starts_with("0X") ? take_hex() : take_digits(10);
}

std::optional<std::uint64_t> LineScanner::take_hex() {
  const std::string_view before = rest_;
  if (!take("0x")) take("0X");
  const auto value = take_digits(16);
  if (!value) rest_ = before;
  return value;
}

std::optional<std::uint32_t> LineScanner::take_enclosed(std::string_view open, std::string_view close,
                                                        std::uint32_t most) {
  const std::string_view before = rest_;
  if (take(open)) {
    const auto value = take_digits(10);
    if (value && *value <= most && take(close)) return static_cast<std::uint32_t>(*value);
  }
  rest_ = before;
  return std::nullopt;
}

std::optional<std::string_view> LineScanner::take_up_to(std::size_t closing) {
  if (closing == std::string_view::npos || closing == 0) return std::nullopt;
  const std::string_view inside = rest_.substr(1, closing - 1);
  rest_.remove_prefix(closing + 1);
  return inside;
}

std::optional<std::string_view> LineScanner::take_quoted() {
  if (!rest_.starts_with('"')) return std::nullopt;
  return take_up_to(rest_.find('"', 1));
}

std::optional<std::string_view> LineScanner::take_quoted_to_last() {
  if (!rest_.starts_with('"')) return std::nullopt;
  return take_up_to(rest_.rfind('"'));
}

}  // namespace softrnic::fabric
