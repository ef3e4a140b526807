// What the attribute modifiers of subnet management say, as formats of four bytes (IBTA 14.2.5, by
// attribute). That of PortInfo is PortModifier; those of GUIDInfo, LinearForwardingTable and
// RandomForwardingTable are the number of a block; the Set of SMInfo has SmInfo::Control; others have none.
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"
#include "mad/field.h"

namespace softrnic::mad {

/// PortInfo, PortInfoExtended, LedInfo, LinkSpeedWidthPairsTable.
struct PortModifier {
  bool sm_supports_extended_speeds = false;  ///< PortInfo alone
  std::uint32_t reserved = 0;                ///< 23 bits
  std::uint8_t port = 0;
};
template <>
inline constexpr std::array fields_of<PortModifier> = {
    field<&PortModifier::sm_supports_extended_speeds>("sm_supports_extended_speeds", 0, 0, 1),
    field<&PortModifier::reserved>("reserved", 0, 1, 23),
    field<&PortModifier::port>("port", 3, 0, 8),
};
static_assert(covers<PortModifier>(4));

struct PKeyTableModifier {
  std::uint16_t port = 0;  ///< of a switch; others are asked at the port itself
  std::uint16_t block = 0;
};
template <>
inline constexpr std::array fields_of<PKeyTableModifier> = {
    field<&PKeyTableModifier::port>("port", 0, 0, 16),
    field<&PKeyTableModifier::block>("block", 2, 0, 16),
};
static_assert(covers<PKeyTableModifier>(4));

struct SlToVlModifier {
  std::uint16_t reserved = 0;     ///< 14 bits
  bool all_output_ports = false;  ///< optimized programming: the ports below do not matter
  bool all_input_ports = false;
  std::uint8_t input_port = 0;
  std::uint8_t output_port = 0;
};
template <>
inline constexpr std::array fields_of<SlToVlModifier> = {
    field<&SlToVlModifier::reserved>("reserved", 0, 0, 14),
    field<&SlToVlModifier::all_output_ports>("all_output_ports", 1, 6, 1),
    field<&SlToVlModifier::all_input_ports>("all_input_ports", 1, 7, 1),
    field<&SlToVlModifier::input_port>("input_port", 2, 0, 8),
    field<&SlToVlModifier::output_port>("output_port", 3, 0, 8),
};
static_assert(covers<SlToVlModifier>(4));

struct VlArbitrationModifier {
  std::uint16_t block = 0;  ///< VlArbitrationTable::Block
  std::uint16_t port = 0;
};
template <>
inline constexpr std::array fields_of<VlArbitrationModifier> = {
    field<&VlArbitrationModifier::block>("block", 0, 0, 16),
    field<&VlArbitrationModifier::port>("port", 2, 0, 16),
};
static_assert(covers<VlArbitrationModifier>(4));

struct MulticastForwardingModifier {
  std::uint8_t position = 0;   ///< 4 bits: ports 16 · position to 16 · position + 15
  std::uint32_t reserved = 0;  ///< 19 bits
  std::uint16_t block = 0;     ///< 9 bits: LIDs 0xC000 + 32 · block on
};
template <>
inline constexpr std::array fields_of<MulticastForwardingModifier> = {
    field<&MulticastForwardingModifier::position>("position", 0, 0, 4),
    field<&MulticastForwardingModifier::reserved>("reserved", 0, 4, 19),
    field<&MulticastForwardingModifier::block>("block", 2, 7, 9),
};
static_assert(covers<MulticastForwardingModifier>(4));

template <Formatted M>
M decode_modifier(std::uint32_t modifier) {
  std::array<std::byte, 4> bytes{};
  store_be32(bytes.data(), modifier);
  return decode<M>(bytes);
}
template <Formatted M>
std::uint32_t encode_modifier(const M& modifier) {
  static_assert(kBytesOf<M> == 4);
  return load_be32(encoded(modifier).data());
}

}  // namespace softrnic::mad
