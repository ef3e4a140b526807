// The header of a DDP segment (RFC 5041 4) with the RDMAP control field that leads what DDP reserves for
// its ULP (RFC 5040 4.1), as a plain value in host byte order.
//
//   tagged:   T L resv(4) DV(2) | RV(2) resv(2) opcode(4) | STag(32) | TO(64)
//   untagged: T L resv(4) DV(2) | RV(2) resv(2) opcode(4) | ULP(32) | QN(32) | MSN(32) | MO(32)
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/expected.h"
#include "base/strong.h"
#include "wire/rdmap.h"

namespace softrnic::wire {

inline constexpr std::uint8_t kDdpVersion = 1;
inline constexpr std::size_t kDdpTaggedBytes = 14;
inline constexpr std::size_t kDdpUntaggedBytes = 18;
inline constexpr std::size_t kMaxDdpBytes = kDdpUntaggedBytes;

struct DdpHeader {
  bool tagged = false;            ///< T
  bool last = false;              ///< L: the last segment of its message
  std::uint8_t ddp_reserved = 0;  ///< 4 bits, kept so that every segment re-encodes to the same bytes
  std::uint8_t ddp_version = kDdpVersion;      ///< 2 bits
  std::uint8_t rdmap_version = kRdmapVersion;  ///< 2 bits
  std::uint8_t rdmap_reserved = 0;             ///< 2 bits
  std::uint8_t opcode = 0;                     ///< 4 bits, see find_rdmap_opcode()
  // tagged
  MemoryKey stag;
  std::uint64_t offset = 0;  ///< TO
  // untagged
  std::uint32_t ulp = 0;             ///< the STag to invalidate, or reserved
  std::uint32_t queue = 0;           ///< QN
  std::uint32_t msn = 0;             ///< from 1; wraps
  std::uint32_t message_offset = 0;  ///< MO
};

/// Length of the header that begins with this byte.
constexpr std::size_t ddp_bytes(std::byte control) {
  return (control & std::byte{0x80}) != std::byte{} ? kDdpTaggedBytes : kDdpUntaggedBytes;
}
constexpr std::size_t ddp_bytes(const DdpHeader& header) {
  return header.tagged ? kDdpTaggedBytes : kDdpUntaggedBytes;
}

/// Reads the header that a segment begins with; nothing beyond `segment`. What is in it is checked by
/// whoever knows the queues and buffers. Error: the segment is shorter than its header.
enum class DdpParseError : std::uint8_t { too_short };
Expected<DdpHeader, DdpParseError> parse_ddp(Bytes segment);

/// Writes the header to `out` (at least kMaxDdpBytes long). Returns bytes written.
std::size_t encode(const DdpHeader& header, MutableBytes out);

/// That of a message of one segment, or of the last segment of one.
DdpHeader ddp_header(RdmapOpcode opcode);

}  // namespace softrnic::wire
