// ClassPortInfo: what a management class of a port can do, the attribute that every class
// answers (IBTA 13.4.8.1).
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/strong.h"
#include "wire/gid.h"

namespace softrnic::mad {

struct ClassPortInfo {
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

inline constexpr std::size_t kClassPortInfoBytes = 72;

/// Reads and writes the attribute at the start of `bytes`, at least kClassPortInfoBytes long: the MAD's data,
/// where the class has no header of its own.
ClassPortInfo decode_class_port_info(Bytes bytes);
void encode_class_port_info(const ClassPortInfo& info, MutableBytes bytes);
std::string to_string(const ClassPortInfo& info);

}  // namespace softrnic::mad
