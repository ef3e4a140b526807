// SLtoVLMappingTable and VLArbitrationTable: which lane a service level takes, and how lanes share a link
// (IBTA 7.6.6, 7.6.9, 14.2.5.8, 14.2.5.9).
#pragma once

#include <array>
#include <cstdint>

#include "mad/field.h"

namespace softrnic::mad {

struct SlToVlMappingTable {
  static constexpr std::uint16_t kAttribute = 0x0017;

  std::array<std::uint8_t, 16> vl_of_sl{};  ///< 4 bits each; 15: packets of that SL are dropped
};
template <>
inline constexpr std::array fields_of<SlToVlMappingTable> = {
    field<&SlToVlMappingTable::vl_of_sl>("vl_of_sl", 0, 0, 64),
};
static_assert(covers<SlToVlMappingTable>(8));

struct VlArbitrationEntry {
  std::uint8_t reserved = 0;  ///< 4 bits
  std::uint8_t vl = 0;        ///< 4 bits
  std::uint8_t weight = 0;    ///< in 64 bytes; 0: the entry is skipped
};
template <>
inline constexpr std::array fields_of<VlArbitrationEntry> = {
    field<&VlArbitrationEntry::reserved>("reserved", 0, 0, 4),
    field<&VlArbitrationEntry::vl>("vl", 0, 4, 4),
    field<&VlArbitrationEntry::weight>("weight", 1, 0, 8),
};
static_assert(covers<VlArbitrationEntry>(2));

/// Half of a table: `Block` in the attribute modifier says which.
struct VlArbitrationTable {
  static constexpr std::uint16_t kAttribute = 0x0018;
  static constexpr std::size_t kBlock = 32;
  enum class Block : std::uint8_t { low_first = 1, low_second = 2, high_first = 3, high_second = 4 };

  std::array<VlArbitrationEntry, kBlock> entries{};
};
template <>
inline constexpr std::array fields_of<VlArbitrationTable> = {
    field<&VlArbitrationTable::entries>("entries", 0, 0, 512),
};
static_assert(covers<VlArbitrationTable>(64));

}  // namespace softrnic::mad
