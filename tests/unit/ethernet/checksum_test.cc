// Checksums and segmentation, judged by frames whose checksums the kernel or RFC 1071 has computed.
#include "ethernet/checksum.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "ethernet/segmentation.h"
#include "tests/unit/ethernet/frames.h"

namespace softrnic::ethernet {
namespace {

using test::FrameBuilder;

TEST(ChecksumTest, TheExampleOfRfc1071) {
  constexpr std::array<std::byte, 8> kWords = {std::byte{0x00}, std::byte{0x01}, std::byte{0xf2},
                                               std::byte{0x03}, std::byte{0xf4}, std::byte{0xf5},
                                               std::byte{0xf6}, std::byte{0xf7}};
  EXPECT_EQ(internet_checksum(kWords), static_cast<std::uint16_t>(~0xddf2));
  EXPECT_EQ(internet_checksum(Bytes(kWords).first(3)), static_cast<std::uint16_t>(~0xf201)) << "an odd byte";
}

/// 192.168.0.1 to 192.168.0.199, the header that Wikipedia's page on the IPv4 header checksum works out.
std::vector<std::byte> known_header() {
  FrameBuilder built;
  built.ethernet(0x0800).be32(0x45000073).be32(0x00004000).be32(0x40110000).be32(0xc0a80001).be32(0xc0a800c7);
  built.be16(5000).be16(6000).be16(95).be16(0).zeros(87);
  const Bytes bytes = built;
  return {bytes.begin(), bytes.end()};
}

TEST(ChecksumTest, FilledChecksumsAreRightAndDamageIsSeen) {
  auto frame = known_header();
  const ParsedFrame parsed = parse(frame);
  EXPECT_FALSE(checksums_ok(frame, parsed));
  fill_checksums(frame, parsed);
  EXPECT_EQ(load_be16(frame.data() + 24), 0xb861);
  EXPECT_TRUE(checksums_ok(frame, parsed));
  for (const std::size_t at : {16U, 30U, 36U, 100U}) {
    frame[at] ^= std::byte{0x10};
    EXPECT_FALSE(checksums_ok(frame, parse(frame))) << at;
    frame[at] ^= std::byte{0x10};
  }
  store_be16(frame.data() + 40, 0);
  EXPECT_TRUE(checksums_ok(frame, parsed)) << "UDP says that it has none";
}

TEST(ChecksumTest, WhatHasNoneIsNotRight) {
  FrameBuilder arp;
  arp.ethernet(0x0806).zeros(28);
  EXPECT_FALSE(checksums_ok(arp, parse(arp)));
  auto longer = known_header();
  store_be16(longer.data() + 16, 2000);  // beyond the frame
  const ParsedFrame parsed = parse(longer);
  EXPECT_FALSE(checksums_ok(longer, parsed));
  fill_checksums(longer, parsed);
}

std::vector<std::byte> tcp_frame(std::size_t payload, bool ipv6) {
  FrameBuilder built;
  built.ethernet(ipv6 ? 0x86dd : 0x0800);
  if (ipv6) {
    built.ipv6(6);
  } else {
    built.ipv4(6);
  }
  built.be16(1).be16(2).be32(0xfffffff0).zeros(4).raw({0x60, 0x99}).zeros(6).zeros(4);  // FIN, PSH, ACK, CWR
  for (std::size_t i = 0; i < payload; ++i) built.raw({static_cast<int>(i & 0xff)});
  const Bytes bytes = built;
  return {bytes.begin(), bytes.end()};
}

TEST(SegmentationTest, EachFrameStandsForItself) {
  for (const bool ipv6 : {false, true}) {
    const auto whole = tcp_frame(2500, ipv6);
    const std::size_t header = whole.size() - 2500;
    const auto cut = Segmentation::of(whole, parse(whole), 1000);
    ASSERT_TRUE(cut);
    ASSERT_EQ(cut->count(), 3U);
    std::vector<std::byte> out(cut->most_bytes()), joined;
    for (std::size_t i = 0; i < cut->count(); ++i) {
      const Bytes made = Bytes(out).first(cut->write(i, out));
      ASSERT_EQ(made.size(), header + (i == 2 ? 500U : 1000U));
      const ParsedFrame parsed = parse(made);
      EXPECT_TRUE(checksums_ok(made, parsed)) << i;
      const std::byte* const tcp = made.data() + parsed.transport_at;
      EXPECT_EQ(load_be32(tcp + 4), static_cast<std::uint32_t>(0xfffffff0 + i * 1000));
      EXPECT_EQ(tcp[13] & std::byte{0x09}, i == 2 ? std::byte{0x09} : std::byte{0}) << "FIN, PSH";
      EXPECT_EQ(tcp[13] & std::byte{0x80}, i == 0 ? std::byte{0x80} : std::byte{0}) << "CWR";
      joined.insert(joined.end(), made.begin() + static_cast<std::ptrdiff_t>(header), made.end());
    }
    EXPECT_TRUE(
        std::equal(joined.begin(), joined.end(), whole.begin() + static_cast<std::ptrdiff_t>(header)));
  }
}

TEST(SegmentationTest, WhatCannotBeCutIsLeft) {
  FrameBuilder arp;
  arp.ethernet(0x0806).zeros(1000);
  EXPECT_FALSE(Segmentation::of(arp, parse(arp), 100));
  const auto empty = tcp_frame(0, false);
  EXPECT_FALSE(Segmentation::of(empty, parse(empty), 100));
  auto options = tcp_frame(10, false);
  options[34 + 12] = std::byte{0xf0};  // a header beyond the frame
  EXPECT_FALSE(Segmentation::of(options, parse(options), 100));
}

}  // namespace
}  // namespace softrnic::ethernet
