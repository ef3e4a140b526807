#include "ethernet/checksum.h"

#include <algorithm>
#include <optional>

namespace softrnic::ethernet {
namespace {

constexpr std::size_t kIpv4ChecksumAt = 10;
constexpr std::size_t kTcpChecksumAt = 16;
constexpr std::size_t kUdpChecksumAt = 6;
constexpr std::size_t kIpv6Bytes = 40;

std::uint16_t fold(std::uint64_t sum) {
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

std::uint64_t sum_of(Bytes bytes) {
  std::uint64_t sum = 0;
  std::size_t i = 0;
  for (; i + 4 <= bytes.size(); i += 4) sum += load_be32(bytes.data() + i);
  for (; i + 2 <= bytes.size(); i += 2) sum += load_be16(bytes.data() + i);
  if (i < bytes.size()) sum += std::to_integer<std::uint64_t>(bytes[i]) << 8;
  return sum;
}

/// Where a TCP or UDP segment lies in a frame, and what its checksum covers besides.
struct Segment {
  std::size_t at;
  std::size_t bytes;
  std::size_t checksum_at;
  std::uint64_t pseudo_header;
  bool udp;
};

std::optional<Segment> segment_of(Bytes frame, const ParsedFrame& parsed) {
  const bool ipv4 = parsed.has(kIpv4), udp = parsed.has(kUdp);
  const HeaderFields& fields = parsed.key.stack[0];
  if ((!ipv4 && !parsed.has(kIpv6)) || (!udp && !parsed.has(kTcp))) return std::nullopt;
  if ((fields.ip_flags & kIpv4MoreFragmentsBit) != 0) return std::nullopt;
  const std::byte* const ip = frame.data() + parsed.network_at;
  const std::size_t end = parsed.network_at + (ipv4 ? load_be16(ip + 2) : kIpv6Bytes + load_be16(ip + 4));
  const std::size_t least = parsed.transport_at + (udp ? 8U : 20U);
  if (end > frame.size() || end < least) return std::nullopt;
  const std::size_t address_bytes = ipv4 ? 4 : 16;
  Segment segment{parsed.transport_at, end - parsed.transport_at, 0, 0, udp};
  segment.checksum_at = parsed.transport_at + (udp ? kUdpChecksumAt : kTcpChecksumAt);
  segment.pseudo_header = sum_of({fields.source_ip.data(), address_bytes}) +
                          sum_of({fields.destination_ip.data(), address_bytes}) + segment.bytes +
                          fields.protocol;
  return segment;
}

Bytes ipv4_header(Bytes frame, const ParsedFrame& parsed) {
  return frame.subspan(parsed.network_at, parsed.transport_at - parsed.network_at);
}

}  // namespace

std::uint16_t internet_checksum(Bytes bytes, std::uint32_t so_far) {
  return static_cast<std::uint16_t>(~fold(sum_of(bytes) + so_far));
}

bool checksums_ok(Bytes frame, const ParsedFrame& parsed) {
  const auto segment = segment_of(frame, parsed);
  if (!segment) return false;
  if (parsed.has(kIpv4) && fold(sum_of(ipv4_header(frame, parsed))) != 0xffff) return false;
  if (segment->udp && load_be16(frame.data() + segment->checksum_at) == 0) return parsed.has(kIpv4);
  return fold(sum_of(frame.subspan(segment->at, segment->bytes)) + segment->pseudo_header) == 0xffff;
}

void fill_checksums(MutableBytes frame, const ParsedFrame& parsed) {
  const auto segment = segment_of(frame, parsed);
  if (!segment) return;
  if (parsed.has(kIpv4)) {
    std::byte* const at = frame.data() + parsed.network_at + kIpv4ChecksumAt;
    store_be16(at, 0);
    store_be16(at, internet_checksum(ipv4_header(frame, parsed)));
  }
  std::byte* const at = frame.data() + segment->checksum_at;
  store_be16(at, 0);
  const std::uint64_t sum = sum_of(frame.subspan(segment->at, segment->bytes)) + segment->pseudo_header;
  auto checksum = static_cast<std::uint16_t>(~fold(sum));
  if (segment->udp && checksum == 0) checksum = 0xffff;  // 0 would say that there is none
  store_be16(at, checksum);
}

}  // namespace softrnic::ethernet
