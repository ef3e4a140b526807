// Where the fields of each header lie: the one place with their offsets (IBTA 7.7, 7.9.4, 8.3, 9.2 to 9.4,
// RFC 791, RFC 8200, RFC 768). Fields of less than a byte share a group, which headers.h takes apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/bytes.h"

namespace softrnic::wire {

/// A big-endian field of 1, 2, 3, 4 or 8 bytes, `offset` bytes into its header.
template <std::size_t offset, std::size_t size>
struct Field {
  static constexpr std::size_t kOffset = offset;
  static constexpr std::size_t kSize = size;
  using Value =
      std::conditional_t<size == 1, std::uint8_t,
                         std::conditional_t<size == 2, std::uint16_t,
                                            std::conditional_t<size == 8, std::uint64_t, std::uint32_t>>>;

  static Value load(const std::byte* header) {
    const std::byte* const p = header + offset;
    if constexpr (size == 1) return std::to_integer<std::uint8_t>(*p);
    if constexpr (size == 2) return load_be16(p);
    if constexpr (size == 3) return load_be24(p);
    if constexpr (size == 4) return load_be32(p);
    if constexpr (size == 8) return load_be64(p);
  }
  static void store(std::byte* header, Value value) {
    std::byte* const p = header + offset;
    if constexpr (size == 1) *p = static_cast<std::byte>(value);
    if constexpr (size == 2) store_be16(p, value);
    if constexpr (size == 3) store_be24(p, value);
    if constexpr (size == 4) store_be32(p, value);
    if constexpr (size == 8) store_be64(p, value);
  }
};

namespace field {

struct Lrh {
  using Lane = Field<0, 1>;   ///< VL, LVer (4 bits each)
  using Level = Field<1, 1>;  ///< SL (4 bits), 2 reserved, LNH (2 bits)
  using Destination = Field<2, 2>;
  using Length = Field<4, 2>;  ///< 5 reserved, PktLen (11 bits)
  using Source = Field<6, 2>;
};

struct FlowControl {
  using Sent = Field<0, 2>;   ///< Op (4 bits), FCTBS (12 bits)
  using Limit = Field<2, 2>;  ///< VL (4 bits), FCCL (12 bits)
};

struct Bth {
  using Opcode = Field<0, 1>;
  using Flags = Field<1, 1>;  ///< SE, MigReq, PadCnt (2 bits), TVer (4 bits)
  using Pkey = Field<2, 2>;
  using Congestion = Field<4, 1>;  ///< FECN, BECN, 6 reserved; the ICRC masks it
  using Destination = Field<5, 3>;
  using AckRequest = Field<8, 1>;  ///< A, 7 reserved
  using Psn = Field<9, 3>;
};

struct Deth {
  using Qkey = Field<0, 4>;
  using Reserved = Field<4, 1>;
  using Source = Field<5, 3>;
};

struct Xrceth {
  using Reserved = Field<0, 1>;
  using Srqn = Field<1, 3>;
};

struct Feth {
  using Selector = Field<0, 4>;
};

struct Reth {
  using Address = Field<0, 8>;
  using Key = Field<8, 4>;
  using Length = Field<12, 4>;
};

struct AtomicEth {
  using Address = Field<0, 8>;
  using Key = Field<8, 4>;
  using SwapOrAdd = Field<12, 8>;
  using Compare = Field<20, 8>;
};

struct Aeth {
  using Syndrome = Field<0, 1>;
  using Msn = Field<1, 3>;
};

struct AtomicAckEth {
  using Original = Field<0, 8>;
};

struct ImmDt {
  using Data = Field<0, 4>;
};

struct Ieth {
  using Key = Field<0, 4>;
};

struct Ethernet {
  static constexpr std::size_t kMacBytes = 6;
  static constexpr std::size_t kDestination = 0;
  static constexpr std::size_t kSource = 6;
  using Type = Field<12, 2>;
};

struct Ipv4 {
  static constexpr std::size_t kAddressBytes = 4;
  using VersionAndLength = Field<0, 1>;
  using TrafficClass = Field<1, 1>;
  using TotalLength = Field<2, 2>;
  using Id = Field<4, 2>;
  using Fragment = Field<6, 2>;  ///< flags and offset
  using TimeToLive = Field<8, 1>;
  using Protocol = Field<9, 1>;
  using Checksum = Field<10, 2>;
  static constexpr std::size_t kSource = 12;
  static constexpr std::size_t kDestination = 16;
};

struct Ipv6 {
  using Flow = Field<0, 4>;  ///< version, traffic class, flow label
  using PayloadLength = Field<4, 2>;
  using NextHeader = Field<6, 1>;
  using HopLimit = Field<7, 1>;
  static constexpr std::size_t kSource = 8;
  static constexpr std::size_t kDestination = 24;
};

struct Udp {
  using SourcePort = Field<0, 2>;
  using DestinationPort = Field<2, 2>;
  using Length = Field<4, 2>;
  using Checksum = Field<6, 2>;
};

}  // namespace field
}  // namespace softrnic::wire
