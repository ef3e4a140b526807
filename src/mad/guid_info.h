// GUIDInfo: the GUIDs of a port, eight a block; the first of block 0 is the one it was made with (IBTA
// 14.2.5.5).
#pragma once

#include <array>
#include <cstdint>

#include "mad/field.h"
#include "mad/guid.h"

namespace softrnic::mad {

struct GuidInfo {
  static constexpr std::uint16_t kAttribute = 0x0014;
  static constexpr std::size_t kBlock = 8;

  std::array<Guid, kBlock> guids{};
};
template <>
inline constexpr std::array fields_of<GuidInfo> = {
    field<&GuidInfo::guids>("guids", 0, 0, 512).each(),
};
static_assert(covers<GuidInfo>(64));

}  // namespace softrnic::mad
