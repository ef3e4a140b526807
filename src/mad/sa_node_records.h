// Records of nodes, ports and links: what the subnet manager has found, kept by subnet administration (IBTA
// 15.2.5.2, 15.2.5.3, 15.2.5.5, 15.2.5.10, 15.2.5.13, 15.2.5.18). The first fields of each are its record
// identifier.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "mad/field.h"
#include "mad/guid_info.h"
#include "mad/node_info.h"
#include "mad/port_info.h"
#include "mad/sm_info.h"
#include "mad/switch_info.h"
#include "wire/lid.h"

namespace softrnic::mad {

struct NodeRecord {
  static constexpr std::uint16_t kAttribute = 0x0011;

  wire::Lid lid{};
  std::uint16_t reserved2 = 0;
  NodeInfo node_info{};
  NodeDescription node_description{};
};
template <>
inline constexpr std::array fields_of<NodeRecord> = {
    field<&NodeRecord::lid>("lid", 0, 0, 16),
    field<&NodeRecord::reserved2>("reserved2", 2, 0, 16),
    field<&NodeRecord::node_info>("node_info", 4, 0, 320),
    field<&NodeRecord::node_description>("node_description", 44, 0, 512),
};
static_assert(covers<NodeRecord>(108));

struct PortInfoRecord {
  static constexpr std::uint16_t kAttribute = 0x0012;

  wire::Lid endport_lid{};  ///< of a switch, that of port 0
  std::uint8_t port_num = 0;
  std::uint8_t options = 0;  ///< what of CapabilityMask in a query is matched
  PortInfo port_info{};
};
template <>
inline constexpr std::array fields_of<PortInfoRecord> = {
    field<&PortInfoRecord::endport_lid>("endport_lid", 0, 0, 16),
    field<&PortInfoRecord::port_num>("port_num", 2, 0, 8),
    field<&PortInfoRecord::options>("options", 3, 0, 8),
    field<&PortInfoRecord::port_info>("port_info", 4, 0, 512),
};
static_assert(covers<PortInfoRecord>(68));

struct SwitchInfoRecord {
  static constexpr std::uint16_t kAttribute = 0x0014;

  wire::Lid lid{};
  std::uint16_t reserved2 = 0;
  SwitchInfo switch_info{};
};
template <>
inline constexpr std::array fields_of<SwitchInfoRecord> = {
    field<&SwitchInfoRecord::lid>("lid", 0, 0, 16),
    field<&SwitchInfoRecord::reserved2>("reserved2", 2, 0, 16),
    field<&SwitchInfoRecord::switch_info>("switch_info", 4, 0, 160),
};
static_assert(covers<SwitchInfoRecord>(24));

struct SmInfoRecord {
  static constexpr std::uint16_t kAttribute = 0x0018;

  wire::Lid lid{};
  std::uint16_t reserved2 = 0;
  SmInfo sm_info{};
};
template <>
inline constexpr std::array fields_of<SmInfoRecord> = {
    field<&SmInfoRecord::lid>("lid", 0, 0, 16),
    field<&SmInfoRecord::reserved2>("reserved2", 2, 0, 16),
    field<&SmInfoRecord::sm_info>("sm_info", 4, 0, 168),
};
static_assert(covers<SmInfoRecord>(25));

struct LinkRecord {
  static constexpr std::uint16_t kAttribute = 0x0020;

  wire::Lid from_lid{};
  std::uint8_t from_port = 0;
  std::uint8_t to_port = 0;
  wire::Lid to_lid{};
};
template <>
inline constexpr std::array fields_of<LinkRecord> = {
    field<&LinkRecord::from_lid>("from_lid", 0, 0, 16),
    field<&LinkRecord::from_port>("from_port", 2, 0, 8),
    field<&LinkRecord::to_port>("to_port", 3, 0, 8),
    field<&LinkRecord::to_lid>("to_lid", 4, 0, 16),
};
static_assert(covers<LinkRecord>(6));

struct GuidInfoRecord {
  static constexpr std::uint16_t kAttribute = 0x0030;

  wire::Lid lid{};
  std::uint8_t block_num = 0;
  std::uint8_t reserved3 = 0;
  std::uint32_t reserved4 = 0;
  GuidInfo guid_info{};
};
template <>
inline constexpr std::array fields_of<GuidInfoRecord> = {
    field<&GuidInfoRecord::lid>("lid", 0, 0, 16),
    field<&GuidInfoRecord::block_num>("block_num", 2, 0, 8),
    field<&GuidInfoRecord::reserved3>("reserved3", 3, 0, 8),
    field<&GuidInfoRecord::reserved4>("reserved4", 4, 0, 32),
    field<&GuidInfoRecord::guid_info>("guid_info", 8, 0, 512),
};
static_assert(covers<GuidInfoRecord>(72));

}  // namespace softrnic::mad
