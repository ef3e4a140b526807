#include "mad/field.h"

#include <algorithm>
#include <cstdio>

namespace softrnic::mad {

std::uint64_t load_bits(Bytes bytes, std::size_t bit, std::size_t width) {
  std::uint64_t value = 0;
  while (width > 0) {
    const std::size_t room = 8 - bit % 8;
    const std::size_t take = std::min(room, width);
    const auto byte = std::to_integer<std::uint64_t>(bytes[bit / 8]);
    value = value << take | (byte >> (room - take) & ((1U << take) - 1));
    bit += take;
    width -= take;
  }
  return value;
}

void store_bits(MutableBytes bytes, std::size_t bit, std::size_t width, std::uint64_t value) {
  while (width > 0) {
    const std::size_t room = 8 - bit % 8;
    const std::size_t take = std::min(room, width);
    const std::uint64_t mask = (1U << take) - 1;
    const std::size_t shift = room - take;
    const std::uint64_t part = value >> (width - take) & mask;
    std::byte& byte = bytes[bit / 8];
    byte = static_cast<std::byte>((std::to_integer<std::uint64_t>(byte) & ~(mask << shift)) | part << shift);
    bit += take;
    width -= take;
  }
}

void print_number(std::string& out, std::string_view name, std::uint64_t value) {
  if (value == 0) return;
  char text[32];
  std::snprintf(text, sizeof text, "=0x%llx ", static_cast<unsigned long long>(value));
  out.append(name).append(text);
}

void print_gid(std::string& out, std::string_view name, const wire::Gid& gid) {
  if (gid.is_zero()) return;
  out.append(name).append("=").append(gid.to_string()).append(" ");
}

void print_text(std::string& out, std::string_view name, std::string_view text) {
  text = text.substr(0, text.find('\0'));
  if (text.empty()) return;
  out.append(name).append("=\"");
  for (const char c : text) out.push_back(c >= ' ' && c <= '~' ? c : '?');
  out.append("\" ");
}

std::string element_name(std::string_view name, std::size_t index) {
  return std::string(name) + "[" + std::to_string(index) + "]";
}

void print_bytes(std::string& out, std::string_view name, Bytes bytes) {
  std::size_t used = bytes.size();
  while (used > 0 && bytes[used - 1] == std::byte{0}) --used;
  if (used == 0) return;
  out.append(name).append("=");
  for (const std::byte byte : bytes.first(used)) {
    char text[4];
    std::snprintf(text, sizeof text, "%02x", std::to_integer<unsigned>(byte));
    out.append(text);
  }
  out.append(" ");
}

}  // namespace softrnic::mad
