// The global route header as plain values in host byte order: an IPv6 header whose next header is the
// transport of InfiniBand (IBTA 8.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/gid.h"
#include "wire/headers.h"

namespace softrnic::wire {

inline constexpr std::uint8_t kGrhVersion = 6;
inline constexpr std::uint8_t kGrhNextHeader = 0x1b;  ///< BTH

/// Global route header, kGrhBytes.
///   IPVer(4) TClass(8) FlowLabel(20) | PayLen(16) NxtHdr(8) HopLmt(8) | SGID(128) | DGID(128)
struct Grh {
  std::uint8_t version = kGrhVersion;  ///< IPVer, 4 bits
  std::uint8_t traffic_class = 0;
  std::uint32_t flow_label = 0;      ///< 20 bits
  std::uint16_t payload_length = 0;  ///< bytes from the first after the GRH to the last of the ICRC
  std::uint8_t next_header = kGrhNextHeader;
  std::uint8_t hop_limit = 0;
  Gid sgid;
  Gid dgid;

  bool operator==(const Grh&) const = default;
};

Grh decode_grh(std::span<const std::byte, kGrhBytes> bytes);
/// Bits of a value beyond the width of its field are left out.
void encode_grh(const Grh& grh, std::span<std::byte, kGrhBytes> out);

}  // namespace softrnic::wire
