// The variant CRC, with which a packet ends on each link (IBTA 7.8.2): a CRC-16 of all that is before it,
// what changes on the way included, so that each switch makes it anew. Link packets end with the same CRC.
//
// States here are the raw register: no inversion at either end. It is reflected, as that of the ICRC is; it
// starts at kVcrcStart, and the check sequence is its complement, stored little-endian.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace softrnic::wire {

inline constexpr std::size_t kVcrcBytes = 2;
inline constexpr std::uint16_t kVcrcPolynomial = 0xd008;  ///< 0x100b, reflected
inline constexpr std::uint16_t kVcrcStart = 0xffff;

/// The register after `bytes`, having been `state` before.
std::uint16_t vcrc_update(std::uint16_t state, Bytes bytes);

/// The same for `count` bytes of zeros, in a time that does not depend on their number. The CRC is linear:
/// with the register `rest` that a piece of `n` bytes leaves behind when it begins with 0, the register after
/// any head and that piece is vcrc_zeros(head, n) ^ rest.
std::uint16_t vcrc_zeros(std::uint16_t state, std::size_t count);

/// The check sequence of a whole packet, from the LRH to the last byte before the VCRC.
std::uint16_t vcrc_of(Bytes packet);

/// The check sequence as it lies in a packet, in two bytes at `p`.
std::uint16_t load_vcrc(const std::byte* p);
void store_vcrc(std::byte* p, std::uint16_t vcrc);

/// What the check sequence becomes when the VL of the LRH is changed, in a packet that has `bytes` bytes
/// before its VCRC: all that a switch has to do for a packet that was right when it came.
std::uint16_t vcrc_after_vl_change(std::uint16_t vcrc, std::uint8_t from_vl, std::uint8_t to_vl,
                                   std::size_t bytes);

}  // namespace softrnic::wire
