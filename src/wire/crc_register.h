// Arithmetic of reflected CRC registers, the same for each polynomial: of `width` bits, at most 32, the top
// one is x^0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace softrnic::wire {

using CrcTable = std::array<std::uint32_t, 256>;

/// The register after one more bit that is zero: it times x.
template <std::uint32_t polynomial>
constexpr std::uint32_t crc_zero_bit(std::uint32_t state) {
  return (state >> 1) ^ ((state & 1) != 0 ? polynomial : 0);
}

/// The product of two registers as polynomials, modulo the CRC's.
template <std::uint32_t polynomial, int width = 32>
constexpr std::uint32_t crc_multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (int bit = width - 1; bit >= 0; --bit) {
    product ^= b & (0 - ((a >> bit) & 1));
    b = crc_zero_bit<polynomial>(b);
  }
  return product;
}

/// [k][b]: what byte b, followed by k zero bytes, leaves in an empty register.
template <std::uint32_t polynomial, std::size_t bytes>
constexpr std::array<CrcTable, bytes> make_crc_slices() {
  std::array<CrcTable, bytes> slices{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    slices[0][b] = b;
    for (int bit = 0; bit < 8; ++bit) slices[0][b] = crc_zero_bit<polynomial>(slices[0][b]);
  }
  for (std::size_t k = 1; k < bytes; ++k) {
    for (std::size_t b = 0; b < 256; ++b) {
      const std::uint32_t s = slices[k - 1][b];
      slices[k][b] = (s >> 8) ^ slices[0][s & 0xff];
    }
  }
  return slices;
}

}  // namespace softrnic::wire
