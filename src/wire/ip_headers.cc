#include "wire/ip_headers.h"

#include <algorithm>

#include "wire/fields.h"
#include "wire/frame.h"

namespace softrnic::wire {
namespace {

std::size_t encode_ipv4(const Flow& flow, const IpPacket& packet, std::byte* p) {
  using Fields = field::Ipv4;
  Fields::VersionAndLength::store(p, 0x45);
  Fields::TrafficClass::store(p, flow.traffic_class);
  Fields::TotalLength::store(p, static_cast<std::uint16_t>(kIpv4Bytes + packet.payload));
  Fields::Id::store(p, packet.id);
  Fields::Fragment::store(p, packet.flags);
  Fields::TimeToLive::store(p, flow.hop_limit);
  Fields::Protocol::store(p, packet.protocol);
  Fields::Checksum::store(p, 0);
  std::copy_n(flow.source.ipv4_bytes(), Fields::kAddressBytes, p + Fields::kSource);
  std::copy_n(flow.destination.ipv4_bytes(), Fields::kAddressBytes, p + Fields::kDestination);
  Fields::Checksum::store(p, header_checksum(Bytes(p, kIpv4Bytes)));
  return kIpv4Bytes;
}

std::size_t encode_ipv6(const Flow& flow, const IpPacket& packet, std::byte* p) {
  using Fields = field::Ipv6;
  Fields::Flow::store(
      p, 6U << 28 | static_cast<std::uint32_t>(flow.traffic_class) << 20 | (flow.flow_label & 0xfffff));
  Fields::PayloadLength::store(p, static_cast<std::uint16_t>(packet.payload));
  Fields::NextHeader::store(p, packet.protocol);
  Fields::HopLimit::store(p, flow.hop_limit);
  std::copy(flow.source.raw.begin(), flow.source.raw.end(), p + Fields::kSource);
  std::copy(flow.destination.raw.begin(), flow.destination.raw.end(), p + Fields::kDestination);
  return kIpv6Bytes;
}

}  // namespace

std::uint16_t header_checksum(Bytes header) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < header.size(); i += 2) sum += load_be16(header.data() + i);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

std::size_t encode_ip(const Flow& flow, const IpPacket& packet, std::byte* out) {
  return flow.destination.is_ipv4() ? encode_ipv4(flow, packet, out) : encode_ipv6(flow, packet, out);
}

}  // namespace softrnic::wire
