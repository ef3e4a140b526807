#include "wire/frame.h"

#include <algorithm>

#include "wire/fields.h"
#include "wire/ip_headers.h"

namespace softrnic::wire {
namespace {

constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
constexpr std::uint16_t kEtherTypeIpv6 = 0x86dd;
constexpr std::uint16_t kFragmentMask = 0x3fff;  // more fragments, and the offset

// The UDP header and payload. `bytes` is exactly the IP payload.
Expected<Frame, FrameError> parse_udp(Frame frame, Bytes bytes) {
  if (bytes.size() < kUdpBytes) return Unexpected{FrameError::too_short};
  const std::byte* p = bytes.data();
  const std::size_t length = field::Udp::Length::load(p);
  if (length < kUdpBytes) return Unexpected{FrameError::bad_header};
  if (length > bytes.size()) return Unexpected{FrameError::too_short};
  // RoCEv2 computes the ICRC from the UDP length and the IP length, so they have to agree.
  if (length != bytes.size()) return Unexpected{FrameError::bad_header};
  frame.headers.flow.source_port = field::Udp::SourcePort::load(p);
  frame.headers.flow.destination_port = field::Udp::DestinationPort::load(p);
  frame.headers.udp_checksum = field::Udp::Checksum::load(p);
  frame.udp_payload = bytes.subspan(kUdpBytes);
  return frame;
}

Expected<Frame, FrameError> parse_ipv4(Frame frame, Bytes bytes) {
  if (bytes.size() < kIpv4Bytes) return Unexpected{FrameError::too_short};
  using Fields = field::Ipv4;
  const std::byte* p = bytes.data();
  const std::size_t total = Fields::TotalLength::load(p);
  // Options are not part of RoCEv2 packets (IBTA A17.4.5.1).
  if (Fields::VersionAndLength::load(p) != 0x45 || total < kIpv4Bytes)
    return Unexpected{FrameError::bad_header};
  if (total > bytes.size()) return Unexpected{FrameError::too_short};
  if (header_checksum(bytes.first(kIpv4Bytes)) != 0) return Unexpected{FrameError::bad_header};
  if (Fields::Protocol::load(p) != kProtocolUdp) return Unexpected{FrameError::not_udp};
  FrameHeaders& h = frame.headers;
  h.ip_flags = Fields::Fragment::load(p);
  if ((h.ip_flags & kFragmentMask) != 0) return Unexpected{FrameError::fragment};
  h.ip_id = Fields::Id::load(p);
  h.flow.traffic_class = Fields::TrafficClass::load(p);
  h.flow.hop_limit = Fields::TimeToLive::load(p);
  std::uint32_t address;
  std::memcpy(&address, p + Fields::kSource, sizeof address);
  h.flow.source = Gid::from_ipv4_be(address);
  std::memcpy(&address, p + Fields::kDestination, sizeof address);
  h.flow.destination = Gid::from_ipv4_be(address);
  return parse_udp(frame, bytes.subspan(kIpv4Bytes, total - kIpv4Bytes));
}

Expected<Frame, FrameError> parse_ipv6(Frame frame, Bytes bytes) {
  if (bytes.size() < kIpv6Bytes) return Unexpected{FrameError::too_short};
  using Fields = field::Ipv6;
  const std::byte* p = bytes.data();
  const std::uint32_t first = Fields::Flow::load(p);
  const std::size_t length = Fields::PayloadLength::load(p);
  if (first >> 28 != 6) return Unexpected{FrameError::bad_header};
  if (length > bytes.size() - kIpv6Bytes) return Unexpected{FrameError::too_short};
  if (Fields::NextHeader::load(p) != kProtocolUdp) return Unexpected{FrameError::not_udp};
  Flow& flow = frame.headers.flow;
  flow.traffic_class = static_cast<std::uint8_t>(first >> 20);
  flow.flow_label = first & 0xfffff;
  flow.hop_limit = Fields::HopLimit::load(p);
  std::copy_n(p + Fields::kSource, flow.source.raw.size(), flow.source.raw.begin());
  std::copy_n(p + Fields::kDestination, flow.destination.raw.size(), flow.destination.raw.begin());
  // An IPv4-mapped address in an IPv6 header would re-encode as IPv4; RFC 6890 bars it from the wire.
  if (flow.source.is_ipv4() || flow.destination.is_ipv4()) return Unexpected{FrameError::bad_header};
  return parse_udp(frame, bytes.subspan(kIpv6Bytes, length));
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
  using Fields = field::Ethernet;
  std::copy_n(bytes.data() + Fields::kDestination, Fields::kMacBytes, frame.headers.destination_mac.begin());
  std::copy_n(bytes.data() + Fields::kSource, Fields::kMacBytes, frame.headers.source_mac.begin());
  const std::uint16_t ether_type = Fields::Type::load(bytes.data());
  if (ether_type == kEtherTypeIpv4) return parse_ipv4(frame, bytes.subspan(kEthernetBytes));
  if (ether_type == kEtherTypeIpv6) return parse_ipv6(frame, bytes.subspan(kEthernetBytes));
  return Unexpected{FrameError::not_ip};
}

std::size_t encode_frame(const FrameHeaders& headers, std::size_t udp_payload, MutableBytes out) {
  const bool ipv4 = headers.flow.destination.is_ipv4();
  std::byte* p = out.data();
  std::copy(headers.destination_mac.begin(), headers.destination_mac.end(),
            p + field::Ethernet::kDestination);
  std::copy(headers.source_mac.begin(), headers.source_mac.end(), p + field::Ethernet::kSource);
  field::Ethernet::Type::store(p, ipv4 ? kEtherTypeIpv4 : kEtherTypeIpv6);
  p += kEthernetBytes;
  p += encode_ip(headers.flow, {kProtocolUdp, kUdpBytes + udp_payload, headers.ip_id, headers.ip_flags}, p);
  field::Udp::SourcePort::store(p, headers.flow.source_port);
  field::Udp::DestinationPort::store(p, headers.flow.destination_port);
  field::Udp::Length::store(p, static_cast<std::uint16_t>(kUdpBytes + udp_payload));
  field::Udp::Checksum::store(p, headers.udp_checksum);
  return static_cast<std::size_t>(p - out.data()) + kUdpBytes;
}

}  // namespace softrnic::wire
