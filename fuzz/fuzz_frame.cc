// Input: an Ethernet frame. What parses has to re-encode to the same headers. As few random headers have the
// right IPv4 checksum, the frame is tried a second time with a right one.
#include <algorithm>
#include <vector>

#include "fuzz/check.h"
#include "wire/frame.h"

using namespace softrnic;

namespace {

constexpr std::size_t kChecksumAt = wire::kEthernetBytes + 10;

void fix_ipv4_checksum(std::vector<std::byte>& frame) {
  if (frame.size() < wire::kEthernetBytes + wire::kIpv4Bytes) return;
  store_be16(frame.data() + kChecksumAt, 0);
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < wire::kIpv4Bytes; i += 2)
    sum += load_be16(frame.data() + wire::kEthernetBytes + i);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  store_be16(frame.data() + kChecksumAt, static_cast<std::uint16_t>(~sum));
}

void check(Bytes bytes) {
  const auto frame = wire::parse_frame(bytes);
  if (!frame) return;
  const bool ipv4 = frame->headers.flow.destination.is_ipv4();
  // Both 0 and 0xffff stand for zero in ones' complement; only the former is ever computed.
  if (ipv4 && load_be16(bytes.data() + kChecksumAt) == 0xffff) return;
  std::byte headers[wire::kMaxFrameHeaderBytes];
  const std::size_t size = wire::encode_frame(frame->headers, frame->udp_payload.size(), headers);
  FUZZ_CHECK(std::equal(headers, headers + size, bytes.begin()));
  FUZZ_CHECK(frame->udp_payload.data() == bytes.data() + size);
  FUZZ_CHECK(size + frame->udp_payload.size() <= bytes.size());
  FUZZ_CHECK(wire::parse_ip(bytes.subspan(wire::kEthernetBytes)).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  check(Bytes(begin, size));
  std::vector<std::byte> fixed(begin, begin + size);
  fix_ipv4_checksum(fixed);
  check(fixed);
  return 0;
}
