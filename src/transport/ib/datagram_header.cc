#include "transport/ib/datagram_header.h"

#include <algorithm>

#include "transport/ib/rx_packet.h"
#include "wire/grh.h"

namespace softrnic::ib {
namespace {

constexpr std::size_t kUdpBytes = 8;
constexpr std::size_t kIpv4Bytes = 20;
constexpr std::uint8_t kUdpProtocol = 17;

// BTH to ICRC of the packet that was received.
std::size_t transport_length(const RxPacket& rx) {
  const std::size_t payload = rx.payload_bytes();
  return wire::kBthBytes + wire::header_bytes(rx.packet.info->headers) + payload + wire::pad_for(payload) +
         wire::kIcrcBytes;
}

std::uint16_t ipv4_checksum(const std::byte* header) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < kIpv4Bytes; i += 2) sum += load_be16(header + i);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

}  // namespace

std::array<std::byte, wire::kGrhBytes> datagram_header(const RxPacket& rx) {
  std::array<std::byte, wire::kGrhBytes> grh{};
  const std::size_t transport = transport_length(rx);
  const auto length = static_cast<std::uint16_t>(rx.is_infiniband() ? transport : kUdpBytes + transport);
  if (!rx.source.is_ipv4()) {
    wire::Grh header;
    header.traffic_class = rx.traffic_class;
    header.flow_label = rx.flow_label;
    header.payload_length = length;
    header.next_header = rx.is_infiniband() ? wire::kGrhNextHeader : kUdpProtocol;
    header.hop_limit = rx.hop_limit;
    header.sgid = rx.source;
    header.dgid = rx.destination;
    wire::encode_grh(header, grh);
    return grh;
  }
  std::byte* ip = &grh[wire::kGrhBytes - kIpv4Bytes];
  ip[0] = std::byte{0x45};
  ip[1] = std::byte{rx.traffic_class};
  store_be16(ip + 2, static_cast<std::uint16_t>(kIpv4Bytes + length));
  store_be16(ip + 6, 0x4000);  // DF
  ip[8] = std::byte{rx.hop_limit};
  ip[9] = std::byte{kUdpProtocol};
  std::copy_n(&rx.source.raw[12], 4, ip + 12);
  std::copy_n(&rx.destination.raw[12], 4, ip + 16);
  store_be16(ip + 10, ipv4_checksum(ip));
  return grh;
}

}  // namespace softrnic::ib
