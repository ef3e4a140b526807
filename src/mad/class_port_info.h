// ClassPortInfo: what a management class of a port can do, the attribute that every class
// answers (IBTA 13.4.8.1).
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"
#include "base/strong.h"
#include "mad/field.h"
#include "wire/gid.h"

namespace softrnic::mad {

struct ClassPortInfo {
  static constexpr std::uint16_t kAttribute = 0x0001;

  std::uint8_t base_version = 1;
  std::uint8_t class_version = 0;
  std::uint16_t capability_mask = 0;
  std::uint32_t capability_mask2 = 0;  ///< 27 bits
  std::uint8_t response_time = 0;      ///< 5-bit code: 4.096 µs · 2^code
  wire::Gid redirect_gid;
  std::uint8_t redirect_traffic_class = 0;
  std::uint8_t redirect_sl = 0;           ///< 4 bits
  std::uint32_t redirect_flow_label = 0;  ///< 20 bits
  std::uint16_t redirect_lid = 0;
  std::uint16_t redirect_pkey = 0;
  std::uint8_t reserved = 0;
  Qpn redirect_qpn;
  std::uint32_t redirect_qkey = 0;
  wire::Gid trap_gid;
  std::uint8_t trap_traffic_class = 0;
  std::uint8_t trap_sl = 0;           ///< 4 bits
  std::uint32_t trap_flow_label = 0;  ///< 20 bits
  std::uint16_t trap_lid = 0;
  std::uint16_t trap_pkey = 0;
  std::uint8_t trap_hop_limit = 0;
  Qpn trap_qpn;
  std::uint32_t trap_qkey = 0;
};

template <>
inline constexpr std::array fields_of<ClassPortInfo> = {
    field<&ClassPortInfo::base_version>("base_version", 0, 0, 8),
    field<&ClassPortInfo::class_version>("class_version", 1, 0, 8),
    field<&ClassPortInfo::capability_mask>("capability_mask", 2, 0, 16),
    field<&ClassPortInfo::capability_mask2>("capability_mask2", 4, 0, 27),
    field<&ClassPortInfo::response_time>("response_time", 7, 3, 5),
    field<&ClassPortInfo::redirect_gid>("redirect_gid", 8, 0, 128),
    field<&ClassPortInfo::redirect_traffic_class>("redirect_traffic_class", 24, 0, 8),
    field<&ClassPortInfo::redirect_sl>("redirect_sl", 25, 0, 4),
    field<&ClassPortInfo::redirect_flow_label>("redirect_flow_label", 25, 4, 20),
    field<&ClassPortInfo::redirect_lid>("redirect_lid", 28, 0, 16),
    field<&ClassPortInfo::redirect_pkey>("redirect_pkey", 30, 0, 16),
    field<&ClassPortInfo::reserved>("reserved", 32, 0, 8),
    field<&ClassPortInfo::redirect_qpn>("redirect_qpn", 33, 0, 24),
    field<&ClassPortInfo::redirect_qkey>("redirect_qkey", 36, 0, 32),
    field<&ClassPortInfo::trap_gid>("trap_gid", 40, 0, 128),
    field<&ClassPortInfo::trap_traffic_class>("trap_traffic_class", 56, 0, 8),
    field<&ClassPortInfo::trap_sl>("trap_sl", 57, 0, 4),
    field<&ClassPortInfo::trap_flow_label>("trap_flow_label", 57, 4, 20),
    field<&ClassPortInfo::trap_lid>("trap_lid", 60, 0, 16),
    field<&ClassPortInfo::trap_pkey>("trap_pkey", 62, 0, 16),
    field<&ClassPortInfo::trap_hop_limit>("trap_hop_limit", 64, 0, 8),
    field<&ClassPortInfo::trap_qpn>("trap_qpn", 65, 0, 24),
    field<&ClassPortInfo::trap_qkey>("trap_qkey", 68, 0, 32),
};
inline constexpr std::size_t kClassPortInfoBytes = 72;
static_assert(covers<ClassPortInfo>(kClassPortInfoBytes));

/// Reads and writes the attribute at the start of `bytes`: the MAD's data, where the class has no header of
/// its own.
inline ClassPortInfo decode_class_port_info(Bytes bytes) { return decode<ClassPortInfo>(bytes); }
inline void encode_class_port_info(const ClassPortInfo& info, MutableBytes bytes) { encode(info, bytes); }

}  // namespace softrnic::mad
