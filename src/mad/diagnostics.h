// VendorDiag and LedInfo: what a vendor reports of a node, and the lamp by which people find it (IBTA
// 14.2.5.14, 14.2.5.15).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "mad/field.h"

namespace softrnic::mad {

struct VendorDiag {
  static constexpr std::uint16_t kAttribute = 0x0030;

  std::uint16_t next_index = 0;  ///< attribute modifier that has more to say; 0: none
  std::array<std::byte, 62> diag_data{};
};
template <>
inline constexpr std::array fields_of<VendorDiag> = {
    field<&VendorDiag::next_index>("next_index", 0, 0, 16),
    field<&VendorDiag::diag_data>("diag_data", 2, 0, 496),
};
static_assert(covers<VendorDiag>(64));

struct LedInfo {
  static constexpr std::uint16_t kAttribute = 0x0031;

  bool led_mask = false;       ///< lit
  std::uint32_t reserved = 0;  ///< 31 bits
};
template <>
inline constexpr std::array fields_of<LedInfo> = {
    field<&LedInfo::led_mask>("led_mask", 0, 0, 1),
    field<&LedInfo::reserved>("reserved", 0, 1, 31),
};
static_assert(covers<LedInfo>(4));

}  // namespace softrnic::mad
