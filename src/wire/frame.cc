#include "wire/frame.h"

#include <algorithm>

namespace softrnic::wire {
namespace {

constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
constexpr std::uint16_t kEtherTypeIpv6 = 0x86dd;
constexpr std::byte kProtocolUdp{17};
constexpr std::uint16_t kFragmentMask = 0x3fff;  // more fragments, and the offset

std::uint8_t byte_at(const std::byte* p) { return std::to_integer<std::uint8_t>(*p); }

// RFC 1071: the complement of the ones' complement sum; 0 over a header whose checksum field is right.
std::uint16_t internet_checksum(Bytes header) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < header.size(); i += 2) sum += load_be16(header.data() + i);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

// The UDP header and payload. `bytes` is exactly the IP payload.
Expected<Frame, FrameError> parse_udp(Frame frame, Bytes bytes) {
  if (bytes.size() < kUdpBytes) return Unexpected{FrameError::too_short};
  const std::byte* p = bytes.data();
  const std::size_t length = load_be16(p + 4);
  if (length < kUdpBytes) return Unexpected{FrameError::bad_header};
  if (length > bytes.size()) return Unexpected{FrameError::too_short};
  // RoCEv2 computes the ICRC from the UDP length and the IP length, so they have to agree.
  if (length != bytes.size()) return Unexpected{FrameError::bad_header};
  frame.headers.flow.source_port = load_be16(p);
  frame.headers.flow.destination_port = load_be16(p + 2);
  frame.headers.udp_checksum = load_be16(p + 6);
  frame.udp_payload = bytes.subspan(kUdpBytes);
  return frame;
}

Expected<Frame, FrameError> parse_ipv4(Frame frame, Bytes bytes) {
  if (bytes.size() < kIpv4Bytes) return Unexpected{FrameError::too_short};
  const std::byte* p = bytes.data();
  const std::size_t total = load_be16(p + 2);
  // Options are not part of RoCEv2 packets (IBTA A17.4.5.1).
  if (p[0] != std::byte{0x45} || total < kIpv4Bytes) return Unexpected{FrameError::bad_header};
  if (total > bytes.size()) return Unexpected{FrameError::too_short};
  if (internet_checksum(bytes.first(kIpv4Bytes)) != 0) return Unexpected{FrameError::bad_header};
  if (p[9] != kProtocolUdp) return Unexpected{FrameError::not_udp};
  FrameHeaders& h = frame.headers;
  h.ip_flags = load_be16(p + 6);
  if ((h.ip_flags & kFragmentMask) != 0) return Unexpected{FrameError::fragment};
  h.ip_id = load_be16(p + 4);
  h.flow.traffic_class = byte_at(p + 1);
  h.flow.hop_limit = byte_at(p + 8);
  std::uint32_t address;
  std::memcpy(&address, p + 12, sizeof address);
  h.flow.source = Gid::from_ipv4_be(address);
  std::memcpy(&address, p + 16, sizeof address);
  h.flow.destination = Gid::from_ipv4_be(address);
  return parse_udp(frame, bytes.subspan(kIpv4Bytes, total - kIpv4Bytes));
}

Expected<Frame, FrameError> parse_ipv6(Frame frame, Bytes bytes) {
  if (bytes.size() < kIpv6Bytes) return Unexpected{FrameError::too_short};
  const std::byte* p = bytes.data();
  const std::uint32_t first = load_be32(p);
  const std::size_t length = load_be16(p + 4);
  if (first >> 28 != 6) return Unexpected{FrameError::bad_header};
  if (length > bytes.size() - kIpv6Bytes) return Unexpected{FrameError::too_short};
  if (p[6] != kProtocolUdp) return Unexpected{FrameError::not_udp};
  Flow& flow = frame.headers.flow;
  flow.traffic_class = static_cast<std::uint8_t>(first >> 20);
  flow.flow_label = first & 0xfffff;
  flow.hop_limit = byte_at(p + 7);
  std::copy_n(p + 8, flow.source.raw.size(), flow.source.raw.begin());
  std::copy_n(p + 24, flow.destination.raw.size(), flow.destination.raw.begin());
  // An IPv4-mapped address in an IPv6 header would re-encode as IPv4; RFC 6890 bars it from the wire.
  if (flow.source.is_ipv4() || flow.destination.is_ipv4()) return Unexpected{FrameError::bad_header};
  return parse_udp(frame, bytes.subspan(kIpv6Bytes, length));
}

std::size_t encode_ipv4(const FrameHeaders& headers, std::size_t udp_payload, std::byte* p) {
  p[0] = std::byte{0x45};
  p[1] = static_cast<std::byte>(headers.flow.traffic_class);
  store_be16(p + 2, static_cast<std::uint16_t>(kIpv4Bytes + kUdpBytes + udp_payload));
  store_be16(p + 4, headers.ip_id);
  store_be16(p + 6, headers.ip_flags);
  p[8] = static_cast<std::byte>(headers.flow.hop_limit);
  p[9] = kProtocolUdp;
  store_be16(p + 10, 0);
  std::copy_n(headers.flow.source.raw.data() + 12, 4, p + 12);
  std::copy_n(headers.flow.destination.raw.data() + 12, 4, p + 16);
  store_be16(p + 10, internet_checksum(Bytes(p, kIpv4Bytes)));
  return kIpv4Bytes;
}

std::size_t encode_ipv6(const FrameHeaders& headers, std::size_t udp_payload, std::byte* p) {
  const Flow& flow = headers.flow;
  store_be32(p,
             6U << 28 | static_cast<std::uint32_t>(flow.traffic_class) << 20 | (flow.flow_label & 0xfffff));
  store_be16(p + 4, static_cast<std::uint16_t>(kUdpBytes + udp_payload));
  p[6] = kProtocolUdp;
  p[7] = static_cast<std::byte>(flow.hop_limit);
  std::copy(flow.source.raw.begin(), flow.source.raw.end(), p + 8);
  std::copy(flow.destination.raw.begin(), flow.destination.raw.end(), p + 24);
  return kIpv6Bytes;
}

}  // namespace

Expected<Frame, FrameError> parse_ip(Bytes datagram) {
  if (datagram.empty()) return Unexpected{FrameError::too_short};
  const int version = std::to_integer<int>(datagram[0]) >> 4;
  if (version == 4) return parse_ipv4(Frame{}, datagram);
  if (version == 6) return parse_ipv6(Frame{}, datagram);
  return Unexpected{FrameError::bad_header};
}

Expected<Frame, FrameError> parse_frame(Bytes bytes) {
  if (bytes.size() < kEthernetBytes) return Unexpected{FrameError::too_short};
  Frame frame;
  std::copy_n(bytes.data(), 6, frame.headers.destination_mac.begin());
  std::copy_n(bytes.data() + 6, 6, frame.headers.source_mac.begin());
  const std::uint16_t ether_type = load_be16(bytes.data() + 12);
  if (ether_type == kEtherTypeIpv4) return parse_ipv4(frame, bytes.subspan(kEthernetBytes));
  if (ether_type == kEtherTypeIpv6) return parse_ipv6(frame, bytes.subspan(kEthernetBytes));
  return Unexpected{FrameError::not_ip};
}

std::size_t encode_frame(const FrameHeaders& headers, std::size_t udp_payload, MutableBytes out) {
  const bool ipv4 = headers.flow.destination.is_ipv4();
  std::byte* p = out.data();
  std::copy(headers.destination_mac.begin(), headers.destination_mac.end(), p);
  std::copy(headers.source_mac.begin(), headers.source_mac.end(), p + 6);
  store_be16(p + 12, ipv4 ? kEtherTypeIpv4 : kEtherTypeIpv6);
  p += kEthernetBytes;
  p += ipv4 ? encode_ipv4(headers, udp_payload, p) : encode_ipv6(headers, udp_payload, p);
  store_be16(p, headers.flow.source_port);
  store_be16(p + 2, headers.flow.destination_port);
  store_be16(p + 4, static_cast<std::uint16_t>(kUdpBytes + udp_payload));
  store_be16(p + 6, headers.udp_checksum);
  return static_cast<std::size_t>(p - out.data()) + kUdpBytes;
}

}  // namespace softrnic::wire
