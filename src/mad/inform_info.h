// InformInfo: whoever wants to hear of notices subscribes with it (IBTA 13.4.8.3).
#pragma once

#include <array>
#include <cstdint>

#include "base/strong.h"
#include "mad/field.h"
#include "wire/gid.h"
#include "wire/lid.h"

namespace softrnic::mad {

struct InformInfo {
  static constexpr std::uint16_t kAttribute = 0x0003;
  static constexpr std::uint16_t kAllTypes = 0xffff;
  static constexpr std::uint16_t kAllTraps = 0xffff;
  static constexpr std::uint32_t kAllProducers = 0xffffff;

  wire::Gid gid{};              ///< of the port that notices are about; zero: the LID range says which
  wire::Lid lid_range_begin{};  ///< 0xffff: all
  wire::Lid lid_range_end{};
  std::uint16_t reserved20 = 0;
  std::uint8_t is_generic = 1;            ///< 0: notices of a vendor
  std::uint8_t subscribe = 0;             ///< 1: from now on, 0: no longer
  std::uint16_t type = kAllTypes;         ///< NoticeType, or all
  std::uint16_t trap_number = kAllTraps;  ///< generic; device id of a vendor's notice
  Qpn qpn{};                              ///< where reports go to
  std::uint8_t reserved31 = 0;            ///< 3 bits
  std::uint8_t response_time_value = 0;   ///< 5-bit code: 4.096 µs · 2^code
  std::uint8_t reserved32 = 0;
  std::uint32_t producer_type =
      kAllProducers;  ///< generic: NodeType or class manager; else vendor id; 24 bits
};
template <>
inline constexpr std::array fields_of<InformInfo> = {
    field<&InformInfo::gid>("gid", 0, 0, 128),
    field<&InformInfo::lid_range_begin>("lid_range_begin", 16, 0, 16),
    field<&InformInfo::lid_range_end>("lid_range_end", 18, 0, 16),
    field<&InformInfo::reserved20>("reserved20", 20, 0, 16),
    field<&InformInfo::is_generic>("is_generic", 22, 0, 8),
    field<&InformInfo::subscribe>("subscribe", 23, 0, 8),
    field<&InformInfo::type>("type", 24, 0, 16),
    field<&InformInfo::trap_number>("trap_number", 26, 0, 16),
    field<&InformInfo::qpn>("qpn", 28, 0, 24),
    field<&InformInfo::reserved31>("reserved31", 31, 0, 3),
    field<&InformInfo::response_time_value>("response_time_value", 31, 3, 5),
    field<&InformInfo::reserved32>("reserved32", 32, 0, 8),
    field<&InformInfo::producer_type>("producer_type", 33, 0, 24),
};
static_assert(covers<InformInfo>(36));

}  // namespace softrnic::mad
