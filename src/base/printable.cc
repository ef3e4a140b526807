#include "base/printable.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace softrnic {
namespace {

struct Range {
  char32_t first, last;
};
/// Unicode 15: Cc, Zl, Zp, and of Cf and of default-ignorable code points those that hide or reorder what
/// stands beside them.
constexpr Range kInvisible[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},      {0x61c, 0x61c},
                                {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f},
                                {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  ///< 0: no UTF-8
};

std::uint8_t byte_at(std::string_view text, std::size_t at) { return static_cast<std::uint8_t>(text[at]); }

/// The character that `text` (not empty) begins with; RFC 3629, 3: the shortest form, no surrogates.
Character first_of(std::string_view text) {
  const std::uint8_t lead = byte_at(text, 0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  char32_t code = lead & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte_at(text, i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte_at(text, i) & 0x3f);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, bytes};
}

bool is_visible(char32_t code) {
  return std::none_of(std::begin(kInvisible), std::end(kInvisible),
                      [code](const Range& range) { return code >= range.first && code <= range.last; });
}

void add_escaped(std::string& out, std::uint8_t byte) {
  out += '\\';
  for (int shift = 6; shift >= 0; shift -= 3) out += static_cast<char>('0' + (byte >> shift & 7));
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character one = first_of(text);
    const std::size_t bytes = std::max<std::size_t>(one.bytes, 1);
    if (one.bytes != 0 && is_visible(one.code))
      out += text.substr(0, bytes);
    else
      for (std::size_t i = 0; i < bytes; ++i) add_escaped(out, byte_at(text, i));
    text.remove_prefix(bytes);
  }
  return out;
}

}  // namespace softrnic
