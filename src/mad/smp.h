// Subnet management packets: a datagram with M_Key and 64 bytes of attribute, sent to a LID or along a
// directed route (IBTA 14.2.1). A whole packet is one struct for both: what belongs to directed routes alone
// is reserved in the others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "mad/field.h"
#include "mad/mad.h"
#include "wire/lid.h"

namespace softrnic::mad {

inline constexpr std::size_t kSmpDataOffset = 64;
inline constexpr std::size_t kSmpDataBytes = 64;
inline constexpr std::size_t kMaxHops = 63;  ///< entry 0 of a path is not used (IBTA 14.2.2)

struct Smp {
  std::uint8_t base_version = kBaseVersion;
  ManagementClass management_class = ManagementClass::subnet_lid_routed;
  std::uint8_t class_version = 1;
  Method method{};
  bool returning = false;         ///< D, the direction bit: 0 along the initial path, 1 back
  std::uint16_t status = 0;       ///< Status, 15 bits
  std::uint8_t hop_pointer = 0;   ///< directed route: the hop that the packet is at
  std::uint8_t hop_count = 0;     ///< directed route: hops of the initial path
  std::uint64_t transaction = 0;  ///< a response repeats the one of its request
  std::uint16_t attribute = 0;
  std::uint16_t reserved18 = 0;
  std::uint32_t modifier = 0;
  std::uint64_t m_key = 0;
  wire::Lid dr_slid{};  ///< directed route: LID where it began; permissive when at its source
  wire::Lid dr_dlid{};  ///< directed route: LID to go on to after it; permissive when it ends at its last hop
  std::array<std::byte, 28> reserved36{};
  std::array<std::byte, kSmpDataBytes> data{};
  std::array<std::uint8_t, 64> initial_path{};  ///< [n]: the port to leave by at hop n
  std::array<std::uint8_t, 64> return_path{};   ///< [n]: the port that it came in by at hop n

  bool is_directed() const { return management_class == ManagementClass::subnet_directed_route; }
};
template <>
inline constexpr std::array fields_of<Smp> = {
    field<&Smp::base_version>("base_version", 0, 0, 8),
    field<&Smp::management_class>("management_class", 1, 0, 8),
    field<&Smp::class_version>("class_version", 2, 0, 8),
    field<&Smp::method>("method", 3, 0, 8),
    field<&Smp::returning>("returning", 4, 0, 1),
    field<&Smp::status>("status", 4, 1, 15),
    field<&Smp::hop_pointer>("hop_pointer", 6, 0, 8),
    field<&Smp::hop_count>("hop_count", 7, 0, 8),
    field<&Smp::transaction>("transaction", 8, 0, 64),
    field<&Smp::attribute>("attribute", 16, 0, 16),
    field<&Smp::reserved18>("reserved18", 18, 0, 16),
    field<&Smp::modifier>("modifier", 20, 0, 32),
    field<&Smp::m_key>("m_key", 24, 0, 64),
    field<&Smp::dr_slid>("dr_slid", 32, 0, 16),
    field<&Smp::dr_dlid>("dr_dlid", 34, 0, 16),
    field<&Smp::reserved36>("reserved36", 36, 0, 224),
    field<&Smp::data>("data", kSmpDataOffset, 0, 512),
    field<&Smp::initial_path>("initial_path", 128, 0, 512),
    field<&Smp::return_path>("return_path", 192, 0, 512),
};
static_assert(covers<Smp>(kMadBytes));

}  // namespace softrnic::mad
