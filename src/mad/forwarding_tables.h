// The forwarding tables of a switch, a block of each at a time (IBTA 14.2.5.10 – 14.2.5.12).
#pragma once

#include <array>
#include <cstdint>

#include "mad/field.h"
#include "wire/lid.h"

namespace softrnic::mad {

struct LinearForwardingTable {
  static constexpr std::uint16_t kAttribute = 0x0019;
  static constexpr std::size_t kBlock = 64;           ///< LIDs a block
  static constexpr std::uint8_t kUnreachable = 0xff;  ///< "port" of a LID whose packets are dropped

  std::array<std::uint8_t, kBlock> ports{};
};
template <>
inline constexpr std::array fields_of<LinearForwardingTable> = {
    field<&LinearForwardingTable::ports>("ports", 0, 0, 512),
};
static_assert(covers<LinearForwardingTable>(64));

struct RandomForwardingEntry {
  wire::Lid lid{};
  bool valid = false;
  std::uint8_t lmc = 0;       ///< 3 bits
  std::uint8_t reserved = 0;  ///< 4 bits
  std::uint8_t port = 0;
};
template <>
inline constexpr std::array fields_of<RandomForwardingEntry> = {
    field<&RandomForwardingEntry::lid>("lid", 0, 0, 16),
    field<&RandomForwardingEntry::valid>("valid", 2, 0, 1),
    field<&RandomForwardingEntry::lmc>("lmc", 2, 1, 3),
    field<&RandomForwardingEntry::reserved>("reserved", 2, 4, 4),
    field<&RandomForwardingEntry::port>("port", 3, 0, 8),
};
static_assert(covers<RandomForwardingEntry>(4));

struct RandomForwardingTable {
  static constexpr std::uint16_t kAttribute = 0x001a;
  static constexpr std::size_t kBlock = 16;

  std::array<RandomForwardingEntry, kBlock> entries{};
};
template <>
inline constexpr std::array fields_of<RandomForwardingTable> = {
    field<&RandomForwardingTable::entries>("entries", 0, 0, 512),
};
static_assert(covers<RandomForwardingTable>(64));

/// Each entry is 16 ports of one multicast LID; which sixteen, the position in the attribute modifier says.
struct MulticastForwardingTable {
  static constexpr std::uint16_t kAttribute = 0x001b;
  static constexpr std::size_t kBlock = 32;  ///< LIDs a block
  static constexpr std::size_t kPortsPerPosition = 16;

  std::array<std::uint16_t, kBlock> port_masks{};  ///< bit n: port 16 · position + n
};
template <>
inline constexpr std::array fields_of<MulticastForwardingTable> = {
    field<&MulticastForwardingTable::port_masks>("port_masks", 0, 0, 512),
};
static_assert(covers<MulticastForwardingTable>(64));

}  // namespace softrnic::mad
