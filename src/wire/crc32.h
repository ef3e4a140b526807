// Ethernet's CRC-32 (IEEE 802.3, reflected polynomial 0xedb88320) as arithmetic on its 32-bit register.
//
// States here are the raw register: no inversion at either end. The register starts at 0xffffffff and the
// check sequence is its complement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "wire/crc32_fold.h"
#include "wire/crc_register.h"

namespace softrnic::wire {

inline constexpr std::uint32_t kCrc32Polynomial = 0xedb88320;

/// The register after `bytes`, having been `state` before.
std::uint32_t crc32_update(std::uint32_t state, Bytes bytes);

/// The same by a way of folding that works here, or by tables (nullptr); for tests and benches.
std::uint32_t crc32_update_by(Fold fold, std::uint32_t state, Bytes bytes);

/// The same for as many bytes as a BTH has.
std::uint32_t crc32_update_12(std::uint32_t state, std::span<const std::byte, 12> bytes);

/// The same for `count` bytes of zeros, for tables that are made by the compiler.
constexpr std::uint32_t crc32_zeros(std::uint32_t state, std::size_t count) {
  for (std::size_t bit = 0; bit < 8 * count; ++bit) state = crc_zero_bit<kCrc32Polynomial>(state);
  return state;
}

/// Runs the register backwards over `count` zero bytes: the inverse of crc32_update with zeros. `count` <
/// 2^17.
std::uint32_t crc32_rewind(std::uint32_t state, std::size_t count);

}  // namespace softrnic::wire
