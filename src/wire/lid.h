// Local identifiers: the 16-bit addresses of the link layer, unique within a subnet (IBTA 4.1.3).
#pragma once

#include <cstdint>
#include <functional>

#include "base/strong.h"

namespace softrnic::wire {

struct Lid : Strong<struct LidTag, std::uint16_t> {
  using Strong::Strong;

  static constexpr std::uint16_t kFirstUnicast = 0x0001;
  static constexpr std::uint16_t kLastUnicast = 0xbfff;
  static constexpr std::uint16_t kFirstMulticast = 0xc000;
  static constexpr std::uint16_t kLastMulticast = 0xfffe;

  /// 0x0000: of no port; what a port has before the subnet manager gave it one.
  constexpr bool is_reserved() const { return value == 0; }
  constexpr bool is_unicast() const { return value >= kFirstUnicast && value <= kLastUnicast; }
  constexpr bool is_multicast() const { return value >= kFirstMulticast && value <= kLastMulticast; }
  /// 0xffff: whichever port a directed route comes to.
  constexpr bool is_permissive() const { return value == 0xffff; }
};

inline constexpr Lid kReservedLid{0x0000};
inline constexpr Lid kPermissiveLid{0xffff};

}  // namespace softrnic::wire

template <>
struct std::hash<softrnic::wire::Lid> {
  std::size_t operator()(softrnic::wire::Lid lid) const noexcept { return lid.value; }
};
