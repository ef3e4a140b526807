// Subnet administration: the header between those of RMPP and the records (IBTA 15.2.1), and what the class
// says of itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "mad/field.h"
#include "mad/mad.h"
#include "mad/rmpp_header.h"

namespace softrnic::mad {

inline constexpr std::uint8_t kSaClassVersion = 2;
inline constexpr std::size_t kSaHeaderOffset = kRmppHeadersBytes;
inline constexpr std::size_t kSaDataOffset = 56;
inline constexpr std::size_t kSaDataBytes = kMadBytes - kSaDataOffset;

struct SaHeader {
  std::uint64_t sm_key = 0;
  std::uint16_t attribute_offset = 0;  ///< from record to record, in 8 bytes; 0: there are none
  std::uint16_t reserved10 = 0;
  std::uint64_t component_mask = 0;  ///< of a query: what its record tells (mad/component_mask.h)
};
template <>
inline constexpr std::array fields_of<SaHeader> = {
    field<&SaHeader::sm_key>("sm_key", 0, 0, 64),
    field<&SaHeader::attribute_offset>("attribute_offset", 8, 0, 16),
    field<&SaHeader::reserved10>("reserved10", 10, 0, 16),
    field<&SaHeader::component_mask>("component_mask", 12, 0, 64),
};
static_assert(covers<SaHeader>(kSaDataOffset - kSaHeaderOffset));

/// Records stand at multiples of 8 bytes.
template <Formatted R>
inline constexpr std::size_t kRecordStride = (kBytesOf<R> + 7) / 8 * 8;
template <Formatted R>
inline constexpr std::uint16_t kAttributeOffset = kRecordStride<R> / 8;

/// How a query's MTU, rate or lifetime relates to that of an answer (IBTA 15.2.5.16).
enum class Selector : std::uint8_t {
  greater_than = 0,
  less_than = 1,
  exactly = 2,
  best = 3,  ///< the largest MTU or rate that there is, the smallest lifetime
};
/// Whether `have` will do; the two are on one ordered scale. `best` takes whatever there is.
constexpr bool satisfies(Selector selector, std::uint32_t wanted, std::uint32_t have) {
  switch (selector) {
    case Selector::greater_than:
      return have > wanted;
    case Selector::less_than:
      return have < wanted;
    case Selector::exactly:
      return have == wanted;
    case Selector::best:
      return true;
  }
  return false;
}

/// ClassPortInfo of subnet administration (IBTA 15.2.3.1): bits of CapabilityMask, and of CapabilityMask2.
namespace sa_capability {
inline constexpr std::uint16_t kOptionalRecords = 1 << 8;
inline constexpr std::uint16_t kUdMulticast = 1 << 9;
inline constexpr std::uint16_t kMultiPath = 1 << 10;
inline constexpr std::uint16_t kReinit = 1 << 11;
inline constexpr std::uint16_t kGidScopedMultiPath = 1 << 12;
inline constexpr std::uint16_t kPortInfoCapabilityMaskMatch = 1 << 13;
inline constexpr std::uint16_t kLinkSpeedWidthPairsRecord = 1 << 14;
inline constexpr std::uint16_t kPaServices = 1 << 15;
inline constexpr std::uint32_t kUnpathRepath2 = 1 << 0;
inline constexpr std::uint32_t kQos2 = 1 << 1;
inline constexpr std::uint32_t kReversePathPKeyMemberBit2 = 1 << 2;
inline constexpr std::uint32_t kMulticastTop2 = 1 << 3;
inline constexpr std::uint32_t kHierarchyInfo2 = 1 << 4;
inline constexpr std::uint32_t kAdditionalGuid2 = 1 << 5;
inline constexpr std::uint32_t kFullPortInfoRecord2 = 1 << 6;
inline constexpr std::uint32_t kExtendedSpeeds2 = 1 << 7;
inline constexpr std::uint32_t kMulticastServiceRecord2 = 1 << 8;
inline constexpr std::uint32_t kCableInfoRecord2 = 1 << 9;
inline constexpr std::uint32_t kPortInfoCapabilityMask2Match2 = 1 << 10;
inline constexpr std::uint32_t kPortInfoExtendedRecord2 = 1 << 11;
}  // namespace sa_capability

}  // namespace softrnic::mad
