// A whole RoCEv2 packet as it lies on an Ethernet: Ethernet, IPv4 or IPv6, UDP. For capture and for tests;
// the links leave these headers to the kernel.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/expected.h"
#include "wire/icrc.h"

namespace softrnic::wire {

inline constexpr std::size_t kEthernetBytes = 14;
inline constexpr std::size_t kIpv4Bytes = 20;
inline constexpr std::size_t kIpv6Bytes = 40;
inline constexpr std::size_t kUdpBytes = 8;
inline constexpr std::uint8_t kProtocolUdp = 17;
inline constexpr std::size_t kMaxFrameHeaderBytes = kEthernetBytes + kIpv6Bytes + kUdpBytes;
inline constexpr std::uint16_t kIpv4DontFragment = 0x4000;

using MacAddress = std::array<std::byte, 6>;

/// The headers below the BTH. Every bit that a sender may choose has a field, so that a packet re-encodes to
/// the same bytes; lengths and the IPv4 header checksum are computed.
struct FrameHeaders {
  MacAddress destination_mac{};
  MacAddress source_mac{};
  Flow flow;
  std::uint16_t ip_id = 0;                     ///< IPv4
  std::uint16_t ip_flags = kIpv4DontFragment;  ///< IPv4: flags and fragment offset
  std::uint16_t udp_checksum = 0;              ///< 0: none (IBTA A17.4.4)
};

/// A parsed frame. `udp_payload` points into the buffer that was parsed.
struct Frame {
  FrameHeaders headers;
  Bytes udp_payload;
};

enum class FrameError : std::uint8_t {
  too_short,   ///< a header or the length it announces goes beyond the frame
  not_ip,      ///< neither IPv4 nor IPv6 (VLAN tags are not looked through)
  not_udp,     ///< another protocol, or IPv6 extension headers
  bad_header,  ///< IP version, IPv4 options, length fields that contradict each other, IPv4 header checksum
  fragment,    ///< part of an IPv4 datagram
};

/// Reads an Ethernet frame without FCS. Bytes after the IP datagram (Ethernet padding) are ignored.
Expected<Frame, FrameError> parse_frame(Bytes frame);

/// Reads what a packet socket without link header or a tunnel carries: an IP datagram. MAC addresses stay
/// zero.
Expected<Frame, FrameError> parse_ip(Bytes datagram);

/// Writes the headers of a frame whose UDP payload is `udp_payload` bytes long (at most 65507 on IPv4, 65527
/// on IPv6) to `out` (at least kMaxFrameHeaderBytes long). The family is that of flow.destination. Returns
/// bytes written.
std::size_t encode_frame(const FrameHeaders& headers, std::size_t udp_payload, MutableBytes out);

}  // namespace softrnic::wire
