// The local route header, with which every packet of a subnet begins, as plain values in host byte order
// (IBTA 7.7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "wire/lid.h"

namespace softrnic::wire {

inline constexpr std::size_t kLrhBytes = 8;
/// The VL of subnet management packets: before all others, and without flow control (IBTA 7.6).
inline constexpr std::uint8_t kManagementVl = 15;
inline constexpr std::uint16_t kMaxPacketLength = 0x7ff;  ///< what the field can hold, in words of 4 bytes

/// Link next header: what follows the LRH (IBTA 7.7.5).
enum class LinkNextHeader : std::uint8_t {
  raw = 0,         ///< a raw header with an EtherType
  ip_non_iba = 1,  ///< an IPv6 header, and no transport of InfiniBand
  iba_local = 2,   ///< BTH
  iba_global = 3,  ///< GRH, BTH
};

/// Local route header, 8 bytes.
///   VL(4) LVer(4) SL(4) resv(2) LNH(2) DLID(16) | resv(5) PktLen(11) SLID(16)
struct LinkHeader {
  std::uint8_t vl = 0;         ///< 4 bits
  std::uint8_t version = 0;    ///< LVer, 4 bits, always 0
  std::uint8_t sl = 0;         ///< 4 bits
  std::uint8_t reserved2 = 0;  ///< 2 bits, kept so that every packet re-encodes to the same bytes
  LinkNextHeader next_header = LinkNextHeader::iba_local;
  Lid dlid;
  std::uint8_t reserved5 = 0;  ///< 5 bits
  /// PktLen, 11 bits: words of 4 bytes from the first byte of the LRH to the last before the VCRC
  std::uint16_t packet_length = 0;
  Lid slid;

  bool operator==(const LinkHeader&) const = default;
  /// The same in bytes.
  constexpr std::size_t bytes_before_vcrc() const { return std::size_t{4} * packet_length; }
};

LinkHeader decode_link_header(std::span<const std::byte, kLrhBytes> bytes);
/// Bits of a value beyond the width of its field are left out.
void encode_link_header(const LinkHeader& header, std::span<std::byte, kLrhBytes> out);

/// The DLID alone, which is all that a switch asks for first.
Lid dlid_of(std::span<const std::byte, kLrhBytes> bytes);
/// Changes the VL alone, as a switch does at its output port (IBTA 7.6.6).
void set_vl(std::span<std::byte, kLrhBytes> bytes, std::uint8_t vl);

/// "IBA local"
std::string_view name_of(LinkNextHeader next_header);
/// "VL 0 SL 0 LID 0x0001 > 0x0002, IBA local, 74 words"; for people.
std::string to_string(const LinkHeader& header);

}  // namespace softrnic::wire
