#include "wire/headers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/support/synthetic.h"
#include "wire/print.h"

namespace softrnic::wire {
namespace {

// The bytes in a heap block of exactly their size, so that the address sanitizer sees a read beyond them.
struct Exact {
  explicit Exact(Bytes bytes) : size(bytes.size()), data(new std::byte[bytes.size()]) {
    std::copy(bytes.begin(), bytes.end(), data.get());
  }
  Bytes bytes() const { return {data.get(), size}; }
  std::size_t size;
  std::unique_ptr<std::byte[]> data;
};

std::vector<std::byte> encoded(const Headers& headers, std::size_t payload) {
  std::vector<std::byte> out(kMaxHeaderBytes);
  out.resize(encode(headers, out));
  out.resize(out.size() + payload + headers.bth.pad, std::byte{0x77});
  return out;
}

TEST(Headers, BthLayoutIsThatOfTheSpecification) {
  Headers h;
  h.bth = {.opcode = Opcode::rc_send_only,
           .solicited = true,
           .migration_request = false,
           .pad = 2,
           .version = 0,
           .pkey = 0x8001,
           .fecn = false,
           .becn = true,
           .reserved6 = 0x15,
           .destination = Qpn(0x123456),
           .ack_request = true,
           .reserved7 = 0x2a,
           .psn = 0xabcdef};
  std::byte out[kMaxHeaderBytes];
  ASSERT_EQ(encode(h, out), kBthBytes);
  const std::uint8_t expected[] = {0x04, 0xa0, 0x80, 0x01, 0x55, 0x12, 0x34, 0x56, 0xaa, 0xab, 0xcd, 0xef};
  for (std::size_t i = 0; i < kBthBytes; ++i) EXPECT_EQ(std::to_integer<int>(out[i]), expected[i]) << i;
}

TEST(Headers, ExtensionsStandInTheirOrder) {
  Headers h = testing::sample_headers(Opcode::rc_write_only_imm);
  std::byte out[kMaxHeaderBytes];
  ASSERT_EQ(encode(h, out), 12U + 16U + 4U);
  EXPECT_EQ(load_be64(out + 12), h.reth.address);
  EXPECT_EQ(load_be32(out + 20), h.reth.key.value);
  EXPECT_EQ(load_be32(out + 24), h.reth.length);
  EXPECT_EQ(load_be32(out + 28), h.immediate);

  h = testing::sample_headers(Opcode::ud_send_only_imm);
  h.deth.reserved = 0x99;
  ASSERT_EQ(encode(h, out), 12U + 8U + 4U);
  EXPECT_EQ(load_be32(out + 12), h.deth.qkey);
  EXPECT_EQ(load_be32(out + 16), 0x99000777U);
  EXPECT_EQ(load_be32(out + 20), h.immediate);

  h = testing::sample_headers(Opcode::rc_atomic_acknowledge);
  ASSERT_EQ(encode(h, out), 12U + 4U + 8U);
  EXPECT_EQ(load_be32(out + 12), 0x1f00cafeU);
  EXPECT_EQ(load_be64(out + 16), h.atomic_original);

  h = testing::sample_headers(Opcode::rc_compare_swap);
  ASSERT_EQ(encode(h, out), 12U + 28U);
  EXPECT_EQ(load_be64(out + 12), h.atomic.address);
  EXPECT_EQ(load_be32(out + 20), h.atomic.key.value);
  EXPECT_EQ(load_be64(out + 24), h.atomic.swap_or_add);
  EXPECT_EQ(load_be64(out + 32), h.atomic.compare);

  h = testing::sample_headers(Opcode::rc_flush);
  ASSERT_EQ(encode(h, out), 12U + 4U + 16U);
  EXPECT_EQ(load_be32(out + 12), h.flush_selector);
  EXPECT_EQ(load_be64(out + 16), h.reth.address);
}

TEST(Headers, EveryOpcodeComesBack) {
  for (const OpcodeInfo& info : all_opcodes()) {
    for (std::size_t payload : {0U, 1U, 2U, 3U, 4U, 255U, 4096U}) {
      Headers h = testing::sample_headers(info.opcode);
      h.bth.pad = pad_for(payload);
      const Exact bytes(encoded(h, payload));
      const auto packet = parse(bytes.bytes());
      ASSERT_TRUE(packet) << info.name;
      EXPECT_EQ(packet->info, &info);
      EXPECT_EQ(packet->payload.size(), payload) << info.name;
      std::byte again[kMaxHeaderBytes];
      const std::size_t size = encode(packet->headers, again);
      ASSERT_EQ(size, kBthBytes + header_bytes(info.headers));
      EXPECT_TRUE(std::equal(again, again + size, bytes.bytes().begin())) << info.name;
    }
  }
}

// Every header bit of every defined opcode survives, reserved ones included; only TVer has to be 0.
TEST(Headers, RandomHeaderBytesReencodeBitForBit) {
  std::mt19937 random(1);
  for (const OpcodeInfo& info : all_opcodes()) {
    for (int round = 0; round < 100; ++round) {
      std::vector<std::byte> bytes(kBthBytes + header_bytes(info.headers) + 4);
      for (std::byte& b : bytes) b = static_cast<std::byte>(random());
      bytes[0] = static_cast<std::byte>(info.opcode);
      bytes[1] &= std::byte{0xf0};
      const auto packet = parse(bytes);
      ASSERT_TRUE(packet) << info.name;
      std::byte again[kMaxHeaderBytes];
      const std::size_t size = encode(packet->headers, again);
      ASSERT_TRUE(std::equal(again, again + size, bytes.begin())) << info.name;
    }
  }
}

TEST(Headers, TruncatedPacketsAreTooShort) {
  for (const OpcodeInfo& info : all_opcodes()) {
    const auto whole = encoded(testing::sample_headers(info.opcode), 0);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const Exact cut(Bytes(whole).first(size));
      const auto packet = parse(cut.bytes());
      ASSERT_FALSE(packet) << info.name << ' ' << size;
      EXPECT_EQ(packet.error(), ParseError::too_short);
    }
  }
}

TEST(Headers, WrongPacketsAreTold) {
  Headers h = testing::sample_headers(Opcode::rc_send_only);
  auto bytes = encoded(h, 4);
  bytes[0] = std::byte{0x15};
  EXPECT_EQ(parse(bytes).error(), ParseError::unknown_opcode);
  bytes = encoded(h, 4);
  bytes[1] |= std::byte{1};
  EXPECT_EQ(parse(bytes).error(), ParseError::bad_version);
}

TEST(Headers, PadHasToFit) {
  for (std::uint8_t pad = 0; pad < 4; ++pad) {
    for (std::size_t tail = 0; tail < 12; ++tail) {
      Headers h = testing::sample_headers(Opcode::uc_send_only);
      h.bth.pad = pad;
      auto bytes = encoded(h, 0);
      bytes.resize(kBthBytes + tail);
      const auto packet = parse(bytes);
      ASSERT_EQ(packet.has_value(), tail % 4 == 0 && pad <= tail) << int{pad} << ' ' << tail;
      if (packet) {
        EXPECT_EQ(packet->payload.size(), tail - pad);
      } else {
        EXPECT_EQ(packet.error(), ParseError::bad_pad);
      }
    }
  }
}

TEST(Headers, PadBringsToAMultipleOfFour) {
  for (std::size_t n = 0; n < 20; ++n) {
    EXPECT_EQ((n + pad_for(n)) % 4, 0U);
    EXPECT_LT(pad_for(n), 4);
  }
}

// IBTA 9.7.5.1.1, table 45.
TEST(Syndrome, KindsAreThoseOfTheTable) {
  EXPECT_EQ(syndrome_kind(kAckUnlimitedCredits), SyndromeKind::ack);
  EXPECT_EQ(syndrome_kind(0x00), SyndromeKind::ack);
  EXPECT_EQ(syndrome_kind(kRnrNak | 31), SyndromeKind::rnr_nak);
  EXPECT_EQ(syndrome_kind(0x40), SyndromeKind::reserved);
  EXPECT_EQ(syndrome_kind(kNakRemoteOperational), SyndromeKind::nak);
  for (int s = 0x80; s < 0x100; ++s) {
    EXPECT_EQ(syndrome_kind(static_cast<std::uint8_t>(s)), SyndromeKind::reserved);
  }
}

TEST(Print, ShowsTheFieldsOfTheOpcodeAndNoOthers) {
  Packet packet;
  packet.headers = testing::sample_headers(Opcode::rc_write_only_imm);
  packet.info = find_opcode(0x0b);
  packet.headers.bth.pkey = 0x7fff;
  EXPECT_EQ(to_string(packet),
            "RC RDMA Write Only Immediate QP=0x012345 PSN=11259375 AckReq SE pkey=0x7fff va=0x7f0011223348 "
            "rkey=0x1234 "
            "len=8192 imm=0xdeadbeef payload=0");
  packet.headers = testing::sample_headers(Opcode::rc_acknowledge);
  packet.info = find_opcode(0x11);
  EXPECT_EQ(to_string(packet),
            "RC Acknowledge QP=0x012345 PSN=11259375 SE syndrome=0x1f msn=51966 payload=0");
}

TEST(Print, EveryOpcodeIsOneLine) {
  for (const OpcodeInfo& info : all_opcodes()) {
    Packet packet;
    packet.headers = testing::sample_headers(info.opcode);
    packet.info = &info;
    const std::string line = to_string(packet);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_TRUE(line.starts_with(info.name)) << line;
    EXPECT_TRUE(line.ends_with("payload=0")) << line;
  }
  EXPECT_EQ(to_string(Packet{}), "no packet");
}

}  // namespace
}  // namespace softrnic::wire
