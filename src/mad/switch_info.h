// SwitchInfo: the forwarding tables of a switch, as it is able and as it was told (IBTA 14.2.5.4).
#pragma once

#include <array>
#include <cstdint>

#include "mad/field.h"

namespace softrnic::mad {

struct SwitchInfo {
  static constexpr std::uint16_t kAttribute = 0x0012;

  std::uint16_t linear_fdb_cap = 0;  ///< entries, from LID 0 on
  std::uint16_t random_fdb_cap = 0;
  std::uint16_t multicast_fdb_cap = 0;  ///< entries, from LID 0xC000 on
  std::uint16_t linear_fdb_top = 0;     ///< LIDs above are dropped
  std::uint8_t default_port = 0;        ///< of LIDs without an entry in a random table
  std::uint8_t default_multicast_primary_port = 0;
  std::uint8_t default_multicast_not_primary_port = 0;
  std::uint8_t life_time_value =
      0;  ///< 5-bit code: 4.096 µs · 2^code; above 19 without bound (IBTA 18.2.5.4)
  bool port_state_change = false;                           ///< a port changed its state; writing 1 clears it
  std::uint8_t optimized_sl_to_vl_mapping_programming = 0;  ///< 2 bits
  std::uint16_t lids_per_port = 0;                          ///< random tables only
  std::uint16_t partition_enforcement_cap = 0;  ///< entries of the P_Key table of an external port
  bool inbound_enforcement_cap = false;
  bool outbound_enforcement_cap = false;
  bool filter_raw_inbound_cap = false;
  bool filter_raw_outbound_cap = false;
  bool enhanced_port0 = false;
  std::uint8_t reserved16 = 0;  ///< 3 bits
  std::uint8_t reserved17 = 0;
  std::uint16_t multicast_fdb_top = 0;  ///< LIDs above are dropped; 0xBFFF: all multicast is (IBTA 14.2.5.4)
};
template <>
inline constexpr std::array fields_of<SwitchInfo> = {
    field<&SwitchInfo::linear_fdb_cap>("linear_fdb_cap", 0, 0, 16),
    field<&SwitchInfo::random_fdb_cap>("random_fdb_cap", 2, 0, 16),
    field<&SwitchInfo::multicast_fdb_cap>("multicast_fdb_cap", 4, 0, 16),
    field<&SwitchInfo::linear_fdb_top>("linear_fdb_top", 6, 0, 16),
    field<&SwitchInfo::default_port>("default_port", 8, 0, 8),
    field<&SwitchInfo::default_multicast_primary_port>("default_multicast_primary_port", 9, 0, 8),
    field<&SwitchInfo::default_multicast_not_primary_port>("default_multicast_not_primary_port", 10, 0, 8),
    field<&SwitchInfo::life_time_value>("life_time_value", 11, 0, 5),
    field<&SwitchInfo::port_state_change>("port_state_change", 11, 5, 1),
    field<&SwitchInfo::optimized_sl_to_vl_mapping_programming>("optimized_sl_to_vl_mapping_programming", 11,
                                                               6, 2),
    field<&SwitchInfo::lids_per_port>("lids_per_port", 12, 0, 16),
    field<&SwitchInfo::partition_enforcement_cap>("partition_enforcement_cap", 14, 0, 16),
    field<&SwitchInfo::inbound_enforcement_cap>("inbound_enforcement_cap", 16, 0, 1),
    field<&SwitchInfo::outbound_enforcement_cap>("outbound_enforcement_cap", 16, 1, 1),
    field<&SwitchInfo::filter_raw_inbound_cap>("filter_raw_inbound_cap", 16, 2, 1),
    field<&SwitchInfo::filter_raw_outbound_cap>("filter_raw_outbound_cap", 16, 3, 1),
    field<&SwitchInfo::enhanced_port0>("enhanced_port0", 16, 4, 1),
    field<&SwitchInfo::reserved16>("reserved16", 16, 5, 3),
    field<&SwitchInfo::reserved17>("reserved17", 17, 0, 8),
    field<&SwitchInfo::multicast_fdb_top>("multicast_fdb_top", 18, 0, 16),
};
static_assert(covers<SwitchInfo>(20));

}  // namespace softrnic::mad
