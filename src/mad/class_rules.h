// What the class of a management datagram says of how it travels: whether it may be longer than a datagram
// (RMPP, IBTA 13.6), where its data begins, whether vendors share it by OUI.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "mad/mad.h"
#include "mad/rmpp_header.h"

namespace softrnic::mad {

struct ClassRule {
  std::uint8_t first, last;  ///< classes
  std::uint8_t data_offset;  ///< bytes of all headers: common, RMPP, the class's own
  bool has_rmpp;
};

/// IBTA table 112; classes that are not here have neither RMPP nor a header of their own.
inline constexpr std::array kClassRules{
    ClassRule{0x03, 0x03, 56, true},  // subnet administration (15.2.1.1)
    ClassRule{0x06, 0x06, 64, true},  // device management (16.3.1)
    ClassRule{0x10, 0x10, 64, true},  // device administration
    ClassRule{0x12, 0x12, 64, true},  // BIS
    ClassRule{0x30, 0x4f, 40, true},  // vendor range 2 (16.5.2)
};

constexpr ClassRule rule_of(ManagementClass management_class) {
  const auto number = static_cast<std::uint8_t>(management_class);
  for (const ClassRule& rule : kClassRules)
    if (rule.first <= number && number <= rule.last) return rule;
  return {number, number, kHeaderBytes, false};
}

/// Subnet management: QP0's, and nobody else's (IBTA 13.5.1).
constexpr bool is_subnet_management(ManagementClass management_class) {
  return management_class == ManagementClass::subnet_lid_routed ||
         management_class == ManagementClass::subnet_directed_route;
}

/// Whether the datagram answers a request. TrapRepress answers Trap; the baseboard class says it in its
/// attribute modifier (IBTA 13.4.5, 16.4.1).
constexpr bool is_response(const Header& header) {
  constexpr std::uint8_t kResponseBit = 0x80;
  constexpr std::uint32_t kBaseboardResponse = 1;
  return (static_cast<std::uint8_t>(header.method) & kResponseBit) != 0 ||
         header.method == Method::trap_repress ||
         (header.management_class == ManagementClass::baseboard &&
          (header.modifier & kBaseboardResponse) != 0);
}

/// The OUI of a datagram of vendor range 2, which stands in front of its data (IBTA 16.5.2); `mad` is whole.
inline std::uint32_t oui_of(Bytes mad) {
  constexpr std::size_t kOui = 37;
  return load_be24(&mad[kOui]);
}

/// Whether a whole datagram is part of a transfer of RMPP.
inline bool is_segment(const Header& header, Bytes mad) {
  return rule_of(header.management_class).has_rmpp && decode_rmpp(mad).active;
}

}  // namespace softrnic::mad
