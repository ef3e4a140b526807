// Records of the tables of ports and switches, one for each block (IBTA 15.2.5.4, 15.2.5.6 – 15.2.5.9,
// 15.2.5.11). The first fields of each are its record identifier; of a switch, the LID is that of port 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "mad/field.h"
#include "mad/forwarding_tables.h"
#include "mad/p_key_table.h"
#include "mad/virtual_lane_tables.h"
#include "wire/lid.h"

namespace softrnic::mad {

struct SlToVlMappingTableRecord {
  static constexpr std::uint16_t kAttribute = 0x0013;

  wire::Lid lid{};
  std::uint8_t input_port_num = 0;
  std::uint8_t output_port_num = 0;
  std::uint32_t reserved4 = 0;
  SlToVlMappingTable table{};
};
template <>
inline constexpr std::array fields_of<SlToVlMappingTableRecord> = {
    field<&SlToVlMappingTableRecord::lid>("lid", 0, 0, 16),
    field<&SlToVlMappingTableRecord::input_port_num>("input_port_num", 2, 0, 8),
    field<&SlToVlMappingTableRecord::output_port_num>("output_port_num", 3, 0, 8),
    field<&SlToVlMappingTableRecord::reserved4>("reserved4", 4, 0, 32),
    field<&SlToVlMappingTableRecord::table>("table", 8, 0, 64),
};
static_assert(covers<SlToVlMappingTableRecord>(16));

struct LinearForwardingTableRecord {
  static constexpr std::uint16_t kAttribute = 0x0015;

  wire::Lid lid{};
  std::uint16_t block_num = 0;
  std::uint32_t reserved4 = 0;
  LinearForwardingTable table{};
};
template <>
inline constexpr std::array fields_of<LinearForwardingTableRecord> = {
    field<&LinearForwardingTableRecord::lid>("lid", 0, 0, 16),
    field<&LinearForwardingTableRecord::block_num>("block_num", 2, 0, 16),
    field<&LinearForwardingTableRecord::reserved4>("reserved4", 4, 0, 32),
    field<&LinearForwardingTableRecord::table>("table", 8, 0, 512),
};
static_assert(covers<LinearForwardingTableRecord>(72));

struct RandomForwardingTableRecord {
  static constexpr std::uint16_t kAttribute = 0x0016;

  wire::Lid lid{};
  std::uint16_t block_num = 0;
  std::uint32_t reserved4 = 0;
  RandomForwardingTable table{};
};
template <>
inline constexpr std::array fields_of<RandomForwardingTableRecord> = {
    field<&RandomForwardingTableRecord::lid>("lid", 0, 0, 16),
    field<&RandomForwardingTableRecord::block_num>("block_num", 2, 0, 16),
    field<&RandomForwardingTableRecord::reserved4>("reserved4", 4, 0, 32),
    field<&RandomForwardingTableRecord::table>("table", 8, 0, 512),
};
static_assert(covers<RandomForwardingTableRecord>(72));

struct MulticastForwardingTableRecord {
  static constexpr std::uint16_t kAttribute = 0x0017;

  wire::Lid lid{};
  std::uint8_t position = 0;    ///< 4 bits
  std::uint8_t reserved2 = 0;   ///< 3 bits
  std::uint16_t block_num = 0;  ///< 9 bits
  std::uint32_t reserved4 = 0;
  MulticastForwardingTable table{};
};
template <>
inline constexpr std::array fields_of<MulticastForwardingTableRecord> = {
    field<&MulticastForwardingTableRecord::lid>("lid", 0, 0, 16),
    field<&MulticastForwardingTableRecord::position>("position", 2, 0, 4),
    field<&MulticastForwardingTableRecord::reserved2>("reserved2", 2, 4, 3),
    field<&MulticastForwardingTableRecord::block_num>("block_num", 2, 7, 9),
    field<&MulticastForwardingTableRecord::reserved4>("reserved4", 4, 0, 32),
    field<&MulticastForwardingTableRecord::table>("table", 8, 0, 512),
};
static_assert(covers<MulticastForwardingTableRecord>(72));

struct PKeyTableRecord {
  static constexpr std::uint16_t kAttribute = 0x0033;

  wire::Lid lid{};
  std::uint16_t block_num = 0;
  std::uint8_t port_num = 0;    ///< of a switch
  std::uint32_t reserved5 = 0;  ///< 24 bits
  PKeyTable table{};
};
template <>
inline constexpr std::array fields_of<PKeyTableRecord> = {
    field<&PKeyTableRecord::lid>("lid", 0, 0, 16),
    field<&PKeyTableRecord::block_num>("block_num", 2, 0, 16),
    field<&PKeyTableRecord::port_num>("port_num", 4, 0, 8),
    field<&PKeyTableRecord::reserved5>("reserved5", 5, 0, 24),
    field<&PKeyTableRecord::table>("table", 8, 0, 512),
};
static_assert(covers<PKeyTableRecord>(72));

struct VlArbitrationTableRecord {
  static constexpr std::uint16_t kAttribute = 0x0036;

  wire::Lid lid{};
  std::uint8_t output_port_num = 0;
  std::uint8_t block_num = 0;
  std::uint32_t reserved4 = 0;
  VlArbitrationTable table{};
};
template <>
inline constexpr std::array fields_of<VlArbitrationTableRecord> = {
    field<&VlArbitrationTableRecord::lid>("lid", 0, 0, 16),
    field<&VlArbitrationTableRecord::output_port_num>("output_port_num", 2, 0, 8),
    field<&VlArbitrationTableRecord::block_num>("block_num", 3, 0, 8),
    field<&VlArbitrationTableRecord::reserved4>("reserved4", 4, 0, 32),
    field<&VlArbitrationTableRecord::table>("table", 8, 0, 512),
};
static_assert(covers<VlArbitrationTableRecord>(72));

}  // namespace softrnic::mad
