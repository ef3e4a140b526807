#include "wire/icrc.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <vector>

#include "tests/support/synthetic.h"
#include "tests/unit/wire/random_bytes.h"
#include "wire/crc32.h"
#include "wire/headers.h"

namespace softrnic::wire {
namespace {

constexpr std::byte kMasked{0xff};

std::uint32_t bitwise(std::uint32_t state, Bytes bytes) {
  for (std::byte b : bytes) {
    state ^= std::to_integer<std::uint32_t>(b);
    for (int i = 0; i < 8; ++i) state = (state >> 1) ^ ((state & 1) != 0 ? kCrc32Polynomial : 0);
  }
  return state;
}

TEST(Crc32, CheckValueOfTheStandard) {
  const char* text = "123456789";
  EXPECT_EQ(~crc32_update(0xffffffff, Bytes(reinterpret_cast<const std::byte*>(text), 9)), 0xcbf43926U);
}

// Sizes around every change of method, starting at every alignment; blocks of exact size for the address
// sanitizer.
TEST(Crc32, EqualsTheDefinitionAtEverySize) {
  for (std::size_t size = 0; size < 600; ++size) {
    const auto bytes = random_bytes(size, static_cast<std::uint32_t>(size));
    const std::unique_ptr<std::byte[]> exact(new std::byte[size]);
    std::copy(bytes.begin(), bytes.end(), exact.get());
    ASSERT_EQ(crc32_update(0x12345678, Bytes(exact.get(), size)), bitwise(0x12345678, bytes)) << size;
  }
  const auto large = random_bytes(70001, 3);
  for (std::size_t offset = 0; offset < 16; ++offset) {
    const Bytes part = Bytes(large).subspan(offset);
    ASSERT_EQ(crc32_update(~0U, part), bitwise(~0U, part));
  }
}

TEST(Crc32, RewindUndoesZeros) {
  const std::vector<std::byte> zeros(1U << 17);
  for (std::size_t count : {0U, 1U, 2U, 255U, 256U, 257U, 4096U, 65535U, 65536U, 65555U, 131071U}) {
    const std::uint32_t state = 0xcafef00d;
    EXPECT_EQ(crc32_rewind(crc32_update(state, Bytes(zeros).first(count)), count), state) << count;
  }
}

// IBTA A17.3.2: the register starts after eight bytes of ones that stand for the masked LRH.
TEST(Icrc, IsTheCrcOfTheMaskedPacket) {
  for (const bool ipv6 : {false, true}) {
    FrameHeaders below = testing::sample_frame(ipv6);
    below.ip_id = 0x1234;
    below.flow.traffic_class = 0x2a;
    below.flow.flow_label = 0x54321;
    const auto payload = random_bytes(333, 4);
    auto frame = testing::build_frame(below, testing::sample_headers(Opcode::rc_write_only), payload);
    const std::size_t ip = kEthernetBytes;
    const std::size_t udp = ip + (ipv6 ? kIpv6Bytes : kIpv4Bytes);
    const auto mask = [&frame](std::size_t at) { frame[at] = kMasked; };
    if (ipv6) {
      frame[ip] |= std::byte{0x0f};  // traffic class and flow label
      for (std::size_t at : {ip + 1, ip + 2, ip + 3, ip + 7}) mask(at);
    } else {
      for (std::size_t at : {ip + 1, ip + 8, ip + 10, ip + 11}) mask(at);  // TOS, TTL, checksum
    }
    for (std::size_t at : {udp + 6, udp + 7, udp + kUdpBytes + 4}) mask(at);  // UDP checksum, BTH resv8a
    const std::array<std::byte, 8> lrh = {kMasked, kMasked, kMasked, kMasked,
                                          kMasked, kMasked, kMasked, kMasked};
    const Bytes covered = Bytes(frame).subspan(ip, frame.size() - ip - kIcrcBytes);
    std::uint32_t stored;
    std::memcpy(&stored, frame.data() + frame.size() - kIcrcBytes, sizeof stored);
    EXPECT_EQ(stored, ~bitwise(bitwise(~0U, lrh), covered));
  }
}

std::uint32_t icrc(const Flow& flow, std::uint16_t id, Bytes bytes) {
  Icrc crc(flow, bytes.size() + kIcrcBytes, id);
  crc.add_headers(bytes);
  return crc.value();
}

TEST(Icrc, MaskedFieldsDoNotMatterOthersDo) {
  for (const bool ipv6 : {false, true}) {
    const Flow flow = testing::sample_frame(ipv6).flow;
    auto bytes = random_bytes(100, 5);
    const std::uint32_t base = icrc(flow, 1, bytes);
    Flow masked = flow;
    masked.traffic_class = 0xff;
    masked.hop_limit = 1;
    masked.flow_label = 0xfffff;
    EXPECT_EQ(icrc(masked, 1, bytes), base);
    EXPECT_EQ(icrc(flow, 2, bytes) == base, ipv6);
    Flow other = flow;
    other.source_port ^= 1;
    EXPECT_NE(icrc(other, 1, bytes), base);
    other = flow;
    other.destination_port ^= 1;
    EXPECT_NE(icrc(other, 1, bytes), base);
    other = flow;
    other.source.raw[15] ^= std::byte{1};
    EXPECT_NE(icrc(other, 1, bytes), base);
    other = flow;
    other.destination.raw[15] ^= std::byte{1};
    EXPECT_NE(icrc(other, 1, bytes), base);
    bytes[4] ^= std::byte{0xff};  // FECN, BECN and reserved bits
    EXPECT_EQ(icrc(flow, 1, bytes), base);
    bytes[5] ^= std::byte{0x01};
    EXPECT_NE(icrc(flow, 1, bytes), base);
  }
}

// However the payload is scattered, the value is the same.
TEST(Icrc, PiecesDoNotMatter) {
  const Flow flow = testing::sample_frame(false).flow;
  const auto bytes = random_bytes(5000, 6);
  const std::uint32_t whole = icrc(flow, 0, bytes);
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::size_t headers = 12 + random() % 80;
    Icrc crc(flow, bytes.size() + kIcrcBytes, 0);
    crc.add_headers(Bytes(bytes).first(headers));
    for (std::size_t at = headers; at < bytes.size();) {
      const std::size_t n = std::min<std::size_t>(random() % (1U << (random() % 12)), bytes.size() - at);
      crc.add(Bytes(bytes).subspan(at, n));
      at += n;
    }
    ASSERT_EQ(crc.value(), whole);
    ASSERT_EQ(crc.value(), whole);  // reading it changes nothing
  }
}

TEST(SolveIpId, FindsEveryIdentification) {
  const Flow flow = testing::sample_frame(false).flow;
  const auto bytes = random_bytes(44, 8);
  const std::uint32_t zero = icrc(flow, 0, bytes);
  for (int id = 0; id <= 0xffff; ++id) {
    ASSERT_EQ(solve_ip_id(zero, icrc(flow, static_cast<std::uint16_t>(id), bytes), bytes.size() + kIcrcBytes),
              id);
  }
}

TEST(SolveIpId, AtEveryLength) {
  const Flow flow = testing::sample_frame(false).flow;
  const auto all = random_bytes(65507, 9);  // the largest UDP payload of IPv4
  for (std::size_t size = 16; size <= all.size(); size += size < 1100 ? 4 : 3697) {
    const Bytes covered = Bytes(all).first(size - kIcrcBytes);
    ASSERT_EQ(solve_ip_id(icrc(flow, 0, covered), icrc(flow, 0xbeef, covered), size), 0xbeef) << size;
  }
}

// A damaged packet passes with a chance of 2^-16, as 16 of the 32 bits are spent on the identification.
TEST(SolveIpId, DamageIsRarelyExplained) {
  const Flow flow = testing::sample_frame(false).flow;
  auto bytes = random_bytes(1036, 10);
  const std::uint32_t good = icrc(flow, 77, bytes);
  std::mt19937 random(11);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::size_t at = 5 + random() % (bytes.size() - 5);
    const auto flip = static_cast<std::byte>(1 + random() % 255);
    bytes[at] ^= flip;
    if (solve_ip_id(icrc(flow, 0, bytes), good, bytes.size() + kIcrcBytes) >= 0) ++accepted;
    bytes[at] ^= flip;
  }
  EXPECT_LT(accepted, 10);
}

TEST(SolveIpId, ImpossibleSizesAreRefused) {
  EXPECT_EQ(solve_ip_id(1, 2, 0), -1);
  EXPECT_EQ(solve_ip_id(1, 2, 3), -1);
}

}  // namespace
}  // namespace softrnic::wire
