#include "wire/mpa.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string_view>

namespace softrnic::wire {
namespace {

std::array<std::byte, kMpaFrameBytes> encoded(const MpaFrame& frame) {
  std::array<std::byte, kMpaFrameBytes> out{};
  encode(frame, out);
  return out;
}

TEST(MpaFrame, EveryBitComesBack) {
  for (MpaFrameKind kind : {MpaFrameKind::request, MpaFrameKind::reply})
    for (unsigned flags = 0; flags < 256; ++flags) {
      auto bytes = encoded({.kind = kind, .revision = 2, .private_bytes = 300});
      bytes[16] = static_cast<std::byte>(flags);
      const auto frame = parse_mpa_frame(kind, bytes);
      ASSERT_TRUE(frame);
      EXPECT_EQ(frame->markers, (flags & 0x80) != 0);
      EXPECT_EQ(frame->crc, (flags & 0x40) != 0);
      EXPECT_EQ(frame->reject, (flags & 0x20) != 0);
      EXPECT_EQ(frame->enhanced, (flags & 0x10) != 0);
      EXPECT_EQ(encoded(*frame), bytes) << flags;
    }
}

TEST(MpaFrame, HasTheKeyOfItsKind) {
  const auto bytes = encoded({MpaFrameKind::request});
  EXPECT_EQ(std::memcmp(bytes.data(), "MPA ID Req Frame", 16), 0);
  EXPECT_EQ(parse_mpa_frame(MpaFrameKind::reply, bytes).error(), MpaFrameError::wrong_key);
  for (std::size_t size = 0; size <= 16; ++size) {
    EXPECT_TRUE(begins_mpa_frame(MpaFrameKind::request, Bytes(bytes).first(size)));
    EXPECT_EQ(begins_mpa_frame(MpaFrameKind::reply, Bytes(bytes).first(size)), size < 10);
  }
  EXPECT_EQ(parse_mpa_frame(MpaFrameKind::request, Bytes(bytes).first(19)).error(), MpaFrameError::wrong_key);
}

TEST(MpaFrame, BoundsItsPrivateData) {
  MpaFrame frame{MpaFrameKind::request};
  frame.private_bytes = 512;
  EXPECT_TRUE(parse_mpa_frame(frame.kind, encoded(frame)));
  frame.private_bytes = 513;
  EXPECT_EQ(parse_mpa_frame(frame.kind, encoded(frame)).error(), MpaFrameError::private_data_length);
  frame.private_bytes = 3;
  EXPECT_TRUE(parse_mpa_frame(frame.kind, encoded(frame)));
  frame.enhanced = true;
  frame.revision = 2;
  EXPECT_EQ(parse_mpa_frame(frame.kind, encoded(frame)).error(), MpaFrameError::private_data_length);
}

TEST(MpaEnhanced, EveryWordComesBack) {
  for (unsigned flags = 0; flags < 16; ++flags) {
    const std::uint16_t ird = static_cast<std::uint16_t>((flags & 3) << 14 | 0x1234);
    const std::uint16_t ord = static_cast<std::uint16_t>((flags >> 2) << 14 | 0x2abc);
    std::array<std::byte, kMpaEnhancedBytes> bytes{}, again{};
    store_be16(bytes.data(), ird);
    store_be16(bytes.data() + 2, ord);
    const MpaEnhanced enhanced = parse_mpa_enhanced(bytes);
    EXPECT_EQ(enhanced.peer_to_peer, (ird & 0x8000) != 0);
    EXPECT_EQ((enhanced.rtr & kRtrSend) != 0, (ird & 0x4000) != 0);
    EXPECT_EQ((enhanced.rtr & kRtrWrite) != 0, (ord & 0x8000) != 0);
    EXPECT_EQ((enhanced.rtr & kRtrRead) != 0, (ord & 0x4000) != 0);
    EXPECT_EQ(enhanced.ird, 0x1234);
    EXPECT_EQ(enhanced.ord, 0x2abc);
    encode(enhanced, again);
    EXPECT_EQ(again, bytes);
  }
}

TEST(Fpdu, IsAMultipleOfFour) {
  for (std::size_t ulpdu = 0; ulpdu <= kMaxUlpduBytes; ulpdu += 1 + ulpdu / 50) {
    EXPECT_EQ(fpdu_bytes(ulpdu) % 4, 0U);
    EXPECT_LT(fpdu_pad(ulpdu), 4U);
  }
}

TEST(Fpdu, OfTheMulpduFitsTheSegment) {
  for (std::size_t emss = 512; emss < 9000; emss += 13) {
    EXPECT_LE(fpdu_bytes(max_ulpdu(emss, false)), emss);
    EXPECT_GT(fpdu_bytes(max_ulpdu(emss, false)) + 4, emss);
    const std::size_t marked = fpdu_bytes(max_ulpdu(emss, true));
    EXPECT_LE(marked + kMarkerBytes * ((emss + 511) / 512), emss);
  }
  EXPECT_EQ(max_ulpdu(1448, false), 1442U);  // as Linux's siw sends it
  EXPECT_EQ(max_ulpdu(1 << 20, false), kMaxUlpduBytes);
  EXPECT_EQ(max_ulpdu(4, true), 0U);
}

TEST(Marker, PointsBack) {
  std::array<std::byte, kMarkerBytes> bytes{};
  encode_marker(508, bytes);
  EXPECT_EQ(load_be32(bytes.data()), 508U);
  EXPECT_EQ(parse_marker(bytes), 508U);
}

}  // namespace
}  // namespace softrnic::wire
