// MCMemberRecord: multicast groups and who is in them (IBTA 15.2.5.17).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "mad/field.h"
#include "mad/link.h"
#include "mad/sa_header.h"
#include "wire/gid.h"
#include "wire/lid.h"

namespace softrnic::mad {

/// Bits of JoinState; a port may be in a group in several ways.
namespace join_state {
inline constexpr std::uint8_t kFullMember = 1 << 0;
inline constexpr std::uint8_t kNonMember = 1 << 1;
inline constexpr std::uint8_t kSendOnlyNonMember = 1 << 2;
inline constexpr std::uint8_t kSendOnlyFullMember = 1 << 3;
}  // namespace join_state

struct McMemberRecord {
  static constexpr std::uint16_t kAttribute = 0x0038;

  wire::Gid mgid{};
  wire::Gid port_gid{};
  std::uint32_t q_key = 0;
  wire::Lid mlid{};
  Selector mtu_selector{};  ///< 2 bits
  Mtu mtu{};
  std::uint8_t traffic_class = 0;
  std::uint16_t p_key = 0;
  Selector rate_selector{};  ///< 2 bits
  Rate rate{};
  Selector packet_life_time_selector{};  ///< 2 bits
  std::uint8_t packet_life_time = 0;     ///< 6-bit code: 4.096 µs · 2^code
  std::uint8_t sl = 0;                   ///< 4 bits
  std::uint32_t flow_label = 0;          ///< 20 bits
  std::uint8_t hop_limit = 0;
  std::uint8_t scope = 0;        ///< 4 bits, as in the MGID
  std::uint8_t join_state = 0;   ///< 4 bits
  bool proxy_join = false;       ///< not by the port itself
  std::uint32_t reserved49 = 0;  ///< 23 bits
};
template <>
inline constexpr std::array fields_of<McMemberRecord> = {
    field<&McMemberRecord::mgid>("mgid", 0, 0, 128),
    field<&McMemberRecord::port_gid>("port_gid", 16, 0, 128),
    field<&McMemberRecord::q_key>("q_key", 32, 0, 32),
    field<&McMemberRecord::mlid>("mlid", 36, 0, 16),
    field<&McMemberRecord::mtu_selector>("mtu_selector", 38, 0, 2),
    field<&McMemberRecord::mtu>("mtu", 38, 2, 6),
    field<&McMemberRecord::traffic_class>("traffic_class", 39, 0, 8),
    field<&McMemberRecord::p_key>("p_key", 40, 0, 16),
    field<&McMemberRecord::rate_selector>("rate_selector", 42, 0, 2),
    field<&McMemberRecord::rate>("rate", 42, 2, 6),
    field<&McMemberRecord::packet_life_time_selector>("packet_life_time_selector", 43, 0, 2),
    field<&McMemberRecord::packet_life_time>("packet_life_time", 43, 2, 6),
    field<&McMemberRecord::sl>("sl", 44, 0, 4),
    field<&McMemberRecord::flow_label>("flow_label", 44, 4, 20),
    field<&McMemberRecord::hop_limit>("hop_limit", 47, 0, 8),
    field<&McMemberRecord::scope>("scope", 48, 0, 4),
    field<&McMemberRecord::join_state>("join_state", 48, 4, 4),
    field<&McMemberRecord::proxy_join>("proxy_join", 49, 0, 1),
    field<&McMemberRecord::reserved49>("reserved49", 49, 1, 23),
};
static_assert(covers<McMemberRecord>(52));

}  // namespace softrnic::mad
