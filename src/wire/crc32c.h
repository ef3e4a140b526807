// CRC-32C (Castagnoli, reflected polynomial 0x82f63b78), which MPA puts at the end of each FPDU (RFC 5044
// 4.4; the same as iSCSI's, RFC 3720 12.1), as arithmetic on its 32-bit register.
//
// States here are the raw register: no inversion at either end. The register starts at kCrc32cStart and the
// check sequence is its complement, stored little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace softrnic::wire {

inline constexpr std::uint32_t kCrc32cPolynomial = 0x82f63b78;
inline constexpr std::uint32_t kCrc32cStart = 0xffffffff;

/// The register after `bytes`, having been `state` before.
std::uint32_t crc32c_update(std::uint32_t state, Bytes bytes);

/// A way of computing it.
struct NamedCrc32c {
  const char* name;
  bool (*works)();  ///< on this processor
  std::uint32_t (*update)(std::uint32_t state, Bytes bytes);
};
/// All that were built for this kind of processor, the fastest first; the last works everywhere. For tests
/// and benches.
std::span<const NamedCrc32c> all_crc32c();

}  // namespace softrnic::wire
