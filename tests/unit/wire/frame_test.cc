#include "wire/frame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tests/support/synthetic.h"

namespace softrnic::wire {
namespace {

std::vector<std::byte> sample_ethernet_frame(bool ipv6) {
  FrameHeaders below = testing::sample_frame(ipv6);
  below.flow.traffic_class = 0xb9;
  below.flow.hop_limit = 17;
  if (ipv6) below.flow.flow_label = 0x9abcd;
  if (!ipv6) below.ip_id = 0x4321;
  below.udp_checksum = 0x1357;
  const std::vector<std::byte> payload(33, std::byte{0x5a});
  return testing::build_frame(below, testing::sample_headers(Opcode::uc_send_only), payload);
}

FrameError frame_error_of(std::vector<std::byte> frame) {
  const auto parsed = parse_frame(frame);
  EXPECT_FALSE(parsed);
  return parsed ? FrameError{} : parsed.error();
}

void fix_ipv4_checksum(std::vector<std::byte>& frame) {
  std::byte* ip = frame.data() + kEthernetBytes;
  store_be16(ip + 10, 0);
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < kIpv4Bytes; i += 2) sum += load_be16(ip + i);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  store_be16(ip + 10, static_cast<std::uint16_t>(~sum));
}

TEST(Frame, ComesBackBitForBit) {
  for (const bool ipv6 : {false, true}) {
    const auto bytes = sample_ethernet_frame(ipv6);
    const auto frame = parse_frame(bytes);
    ASSERT_TRUE(frame);
    const FrameHeaders& h = frame->headers;
    EXPECT_EQ(h.flow.traffic_class, 0xb9);
    EXPECT_EQ(h.flow.hop_limit, 17);
    EXPECT_EQ(h.flow.flow_label, ipv6 ? 0x9abcdU : 0U);
    EXPECT_EQ(h.ip_id, ipv6 ? 0 : 0x4321);
    EXPECT_EQ(h.flow.source_port, 0xc123);
    EXPECT_EQ(h.flow.destination_port, kRoceUdpPort);
    EXPECT_EQ(h.udp_checksum, 0x1357);
    EXPECT_EQ(frame->udp_payload.size(), 12U + 36U + 4U);
    std::byte again[kMaxFrameHeaderBytes];
    const std::size_t size = encode_frame(h, frame->udp_payload.size(), again);
    EXPECT_EQ(size, bytes.size() - frame->udp_payload.size());
    EXPECT_TRUE(std::equal(again, again + size, bytes.begin()));
  }
}

TEST(Frame, IpWithoutEthernet) {
  for (const bool ipv6 : {false, true}) {
    const auto bytes = sample_ethernet_frame(ipv6);
    const auto frame = parse_ip(Bytes(bytes).subspan(kEthernetBytes));
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->headers.flow.source, parse_frame(bytes)->headers.flow.source);
  }
  EXPECT_EQ(parse_ip({}).error(), FrameError::too_short);
}

TEST(Frame, EthernetPaddingIsIgnored) {
  for (const bool ipv6 : {false, true}) {
    auto bytes = sample_ethernet_frame(ipv6);
    const std::size_t payload = parse_frame(bytes)->udp_payload.size();
    bytes.resize(bytes.size() + 9, std::byte{0xee});
    EXPECT_EQ(parse_frame(bytes)->udp_payload.size(), payload);
  }
}

TEST(Frame, TruncatedAnywhereIsTooShort) {
  for (const bool ipv6 : {false, true}) {
    const auto whole = sample_ethernet_frame(ipv6);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const std::unique_ptr<std::byte[]> exact(new std::byte[size]);
      std::copy_n(whole.begin(), size, exact.get());
      const auto frame = parse_frame(Bytes(exact.get(), size));
      ASSERT_FALSE(frame) << size;
      EXPECT_EQ(frame.error(), FrameError::too_short) << size;
    }
  }
}

TEST(Frame, OtherTrafficIsTold) {
  auto bytes = sample_ethernet_frame(false);
  store_be16(bytes.data() + 12, 0x0806);
  EXPECT_EQ(frame_error_of(bytes), FrameError::not_ip);
  bytes = sample_ethernet_frame(false);
  bytes[kEthernetBytes + 9] = std::byte{6};
  fix_ipv4_checksum(bytes);
  EXPECT_EQ(frame_error_of(bytes), FrameError::not_udp);
  bytes = sample_ethernet_frame(true);
  bytes[kEthernetBytes + 6] = std::byte{58};
  EXPECT_EQ(frame_error_of(bytes), FrameError::not_udp);
}

TEST(Frame, BadIpv4HeadersAreTold) {
  auto bytes = sample_ethernet_frame(false);
  bytes[kEthernetBytes + 8] ^= std::byte{1};
  EXPECT_EQ(frame_error_of(bytes), FrameError::bad_header) << "checksum";
  bytes = sample_ethernet_frame(false);
  bytes[kEthernetBytes] = std::byte{0x46};
  EXPECT_EQ(frame_error_of(bytes), FrameError::bad_header) << "options";
  bytes = sample_ethernet_frame(false);
  store_be16(bytes.data() + kEthernetBytes + 2, 19);
  EXPECT_EQ(frame_error_of(bytes), FrameError::bad_header) << "total length";
  for (const std::uint16_t flags : std::initializer_list<std::uint16_t>{0x2000, 0x0001, 0x6000}) {
    bytes = sample_ethernet_frame(false);
    store_be16(bytes.data() + kEthernetBytes + 6, flags);
    fix_ipv4_checksum(bytes);
    EXPECT_EQ(frame_error_of(bytes), FrameError::fragment) << flags;
  }
}

TEST(Frame, BadIpv6AndUdpHeadersAreTold) {
  auto bytes = sample_ethernet_frame(true);
  bytes[kEthernetBytes] = std::byte{0x50};
  EXPECT_EQ(frame_error_of(bytes), FrameError::bad_header) << "version";
  bytes = sample_ethernet_frame(true);
  const Gid mapped = Gid::from_ipv4_be(0x0100007f);
  std::copy(mapped.raw.begin(), mapped.raw.end(), bytes.begin() + kEthernetBytes + 8);
  EXPECT_EQ(frame_error_of(bytes), FrameError::bad_header) << "mapped address";
  for (const bool ipv6 : {false, true}) {
    const std::size_t udp = kEthernetBytes + (ipv6 ? kIpv6Bytes : kIpv4Bytes);
    bytes = sample_ethernet_frame(ipv6);
    store_be16(bytes.data() + udp + 4, 7);
    EXPECT_EQ(frame_error_of(bytes), FrameError::bad_header) << "UDP length below its header";
    bytes = sample_ethernet_frame(ipv6);
    store_be16(bytes.data() + udp + 4, static_cast<std::uint16_t>(load_be16(bytes.data() + udp + 4) - 4));
    EXPECT_EQ(frame_error_of(bytes), FrameError::bad_header) << "UDP length differs from IP's";
    store_be16(bytes.data() + udp + 4, 0xffff);
    EXPECT_EQ(frame_error_of(bytes), FrameError::too_short) << "UDP length beyond IP's";
  }
}

}  // namespace
}  // namespace softrnic::wire
