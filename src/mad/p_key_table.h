// P_KeyTable: the partitions of a port, 32 a block (IBTA 14.2.5.7).
#pragma once

#include <array>
#include <cstdint>

#include "mad/field.h"

namespace softrnic::mad {

struct PKeyTable {
  static constexpr std::uint16_t kAttribute = 0x0016;
  static constexpr std::size_t kBlock = 32;

  std::array<std::uint16_t, kBlock> p_keys{};  ///< top bit: full member; low 15 bits zero: no partition
};
template <>
inline constexpr std::array fields_of<PKeyTable> = {
    field<&PKeyTable::p_keys>("p_keys", 0, 0, 512),
};
static_assert(covers<PKeyTable>(64));

}  // namespace softrnic::mad
