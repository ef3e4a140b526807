// Big-endian loads and stores on raw bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace softrnic {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

inline std::uint16_t load_be16(const std::byte* p) {
  std::uint16_t v;
  std::memcpy(&v, p, sizeof v);
  return __builtin_bswap16(v);
}
inline std::uint32_t load_be32(const std::byte* p) {
  std::uint32_t v;
  std::memcpy(&v, p, sizeof v);
  return __builtin_bswap32(v);
}
inline std::uint32_t load_be24(const std::byte* p) {
  return (std::to_integer<std::uint32_t>(p[0]) << 16) | (std::to_integer<std::uint32_t>(p[1]) << 8) |
         std::to_integer<std::uint32_t>(p[2]);
}
inline std::uint64_t load_be64(const std::byte* p) {
  std::uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return __builtin_bswap64(v);
}
inline void store_be16(std::byte* p, std::uint16_t v) {
  v = __builtin_bswap16(v);
  std::memcpy(p, &v, sizeof v);
}
inline void store_be24(std::byte* p, std::uint32_t v) {
  p[0] = static_cast<std::byte>(v >> 16);
  p[1] = static_cast<std::byte>(v >> 8);
  p[2] = static_cast<std::byte>(v);
}
inline void store_be32(std::byte* p, std::uint32_t v) {
  v = __builtin_bswap32(v);
  std::memcpy(p, &v, sizeof v);
}
inline void store_be64(std::byte* p, std::uint64_t v) {
  v = __builtin_bswap64(v);
  std::memcpy(p, &v, sizeof v);
}

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "softrnic runs on little-endian hosts");

}  // namespace softrnic
