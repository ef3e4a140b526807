#include "wire/vcrc.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/support/ibta_packets.h"
#include "tests/unit/wire/random_bytes.h"
#include "wire/link_header.h"

namespace softrnic::wire {
namespace {

// The definition, with the polynomial as IBTA 7.8.2 writes it: the first bit, of each byte the lowest, is
// that of the highest power.
std::uint16_t defined(std::uint16_t state, Bytes bytes) {
  unsigned remainder = 0;  // not reflected
  for (int bit = 0; bit < 16; ++bit) remainder |= (state >> bit & 1U) << (15 - bit);
  for (const std::byte byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      const unsigned top = (remainder >> 15 ^ std::to_integer<unsigned>(byte) >> bit) & 1U;
      remainder = (remainder << 1 ^ (top != 0 ? 0x100bU : 0U)) & 0xffffU;
    }
  }
  unsigned reflected = 0;
  for (int bit = 0; bit < 16; ++bit) reflected |= (remainder >> bit & 1U) << (15 - bit);
  return static_cast<std::uint16_t>(reflected);
}

TEST(Vcrc, IsThatOfTheSamplePackets) {
  for (const auto& packet : {testing::ibta_local_packet(), testing::ibta_global_packet()}) {
    const Bytes covered = Bytes(packet).first(packet.size() - kVcrcBytes);
    EXPECT_EQ(vcrc_of(covered), load_vcrc(&packet[covered.size()]));
  }
}

// Sizes around every change of method, starting at every alignment; blocks of exact size for the address
// sanitizer.
TEST(Vcrc, EqualsTheDefinitionAtEverySize) {
  for (std::size_t size = 0; size < 100; ++size) {
    const auto bytes = random_bytes(size, static_cast<std::uint32_t>(size));
    const std::unique_ptr<std::byte[]> exact(new std::byte[size]);
    std::copy(bytes.begin(), bytes.end(), exact.get());
    ASSERT_EQ(vcrc_update(0x1234, Bytes(exact.get(), size)), defined(0x1234, bytes)) << size;
  }
  const auto large = random_bytes(8189, 3);
  for (std::size_t offset = 0; offset < 8; ++offset) {
    const Bytes part = Bytes(large).subspan(offset);
    ASSERT_EQ(vcrc_update(kVcrcStart, part), defined(kVcrcStart, part));
  }
}

TEST(Vcrc, PiecesDoNotMatter) {
  const auto bytes = random_bytes(300, 4);
  for (std::size_t at = 0; at <= bytes.size(); ++at) {
    const std::uint16_t head = vcrc_update(kVcrcStart, Bytes(bytes).first(at));
    const Bytes rest = Bytes(bytes).subspan(at);
    ASSERT_EQ(static_cast<std::uint16_t>(~vcrc_update(head, rest)), vcrc_of(bytes));
    // and the rest may be known before the head
    ASSERT_EQ(vcrc_zeros(head, rest.size()) ^ vcrc_update(0, rest), vcrc_update(head, rest));
  }
}

TEST(Vcrc, ZerosAreSteppedOver) {
  const std::vector<std::byte> zeros(0x20001);
  for (std::size_t count :
       {0U, 1U, 2U, 255U, 256U, 257U, 4096U, 65535U, 65536U, 65537U, 0x18000U, 0x20001U}) {
    EXPECT_EQ(vcrc_zeros(0xcafe, count), vcrc_update(0xcafe, Bytes(zeros).first(count))) << count;
  }
}

TEST(Vcrc, FollowsTheVl) {
  for (const std::size_t size : {8U, 24U, 290U, 4188U, 8188U}) {
    auto packet = random_bytes(size, 5);
    for (std::uint8_t from = 0; from < 16; ++from) {
      for (std::uint8_t to = 0; to < 16; ++to) {
        set_vl(MutableBytes(packet).first<kLrhBytes>(), from);
        const std::uint16_t before = vcrc_of(packet);
        set_vl(MutableBytes(packet).first<kLrhBytes>(), to);
        ASSERT_EQ(vcrc_after_vl_change(before, from, to, size), vcrc_of(packet));
      }
    }
  }
}

TEST(Vcrc, LiesLittleEndian) {
  std::byte place[kVcrcBytes];
  store_vcrc(place, 0x1234);
  EXPECT_EQ(place[0], std::byte{0x34});
  EXPECT_EQ(place[1], std::byte{0x12});
  EXPECT_EQ(load_vcrc(place), 0x1234);
}

}  // namespace
}  // namespace softrnic::wire
