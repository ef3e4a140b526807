// The headers of a TCP segment as it lies on an Ethernet. For captures alone: the kernel makes those that are
// sent.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/frame.h"

namespace softrnic::wire {

inline constexpr std::size_t kTcpBytes = 20;
inline constexpr std::uint8_t kProtocolTcp = 6;
inline constexpr std::size_t kMaxTcpHeaderBytes = kEthernetBytes + kIpv6Bytes + kTcpBytes;

/// Control bits (RFC 9293 3.1).
enum TcpFlag : std::uint8_t { kTcpFin = 1, kTcpSyn = 2, kTcpRst = 4, kTcpPush = 8, kTcpAck = 16 };

struct TcpHeaders {
  MacAddress destination_mac{};
  MacAddress source_mac{};
  Flow flow;
  std::uint32_t sequence = 0;
  std::uint32_t acknowledgement = 0;
  std::uint8_t flags = kTcpAck;
};

/// Writes the headers of a segment with so many bytes of payload (at most 65,495) to `out`, at least
/// kMaxTcpHeaderBytes long. Its checksum is 0, as that of a host whose netdev fills it in. Returns bytes
/// written.
std::size_t encode_tcp_frame(const TcpHeaders& headers, std::size_t payload, MutableBytes out);

}  // namespace softrnic::wire
