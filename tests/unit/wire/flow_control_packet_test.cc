#include "wire/flow_control_packet.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "wire/vcrc.h"

namespace softrnic::wire {
namespace {

using PacketBytes = std::array<std::byte, kFlowControlPacketBytes>;

PacketBytes image_of(std::array<unsigned, 4> covered) {
  PacketBytes out;
  for (std::size_t i = 0; i < covered.size(); ++i) out[i] = static_cast<std::byte>(covered[i]);
  store_vcrc(&out[4], vcrc_of(Bytes(out).first(4)));
  return out;
}

TEST(FlowControlPacket, LiesWhereTheSpecificationPutsIt) {
  const FlowControlPacket packet{FlowControlOperation::init, 0x123, 3, 0x456};
  PacketBytes out;
  encode_flow_control_packet(packet, out);
  EXPECT_EQ(out, image_of({0x11, 0x23, 0x34, 0x56}));
  EXPECT_EQ(out[4], std::byte{0x3a});
  EXPECT_EQ(out[5], std::byte{0xf8});
  EXPECT_EQ(*parse_flow_control_packet(out), packet);
  EXPECT_EQ(to_string(packet), "init VL 3 FCTBS 291 FCCL 1110");
}

TEST(FlowControlPacket, EveryValueComesBack) {
  std::mt19937 random(1);
  for (int round = 0; round < 10000; ++round) {
    const FlowControlPacket packet{
        static_cast<FlowControlOperation>(random() % 2), static_cast<std::uint16_t>(random() % 4096),
        static_cast<std::uint8_t>(random() % 16), static_cast<std::uint16_t>(random() % 4096)};
    PacketBytes out;
    encode_flow_control_packet(packet, out);
    const auto again = parse_flow_control_packet(out);
    ASSERT_TRUE(again.has_value());
    ASSERT_EQ(*again, packet);
  }
}

TEST(FlowControlPacket, ValuesTooLargeStayInTheirFields) {
  PacketBytes out;
  encode_flow_control_packet({FlowControlOperation::normal, 0xffff, 0xff, 0xffff}, out);
  EXPECT_EQ(out, image_of({0x0f, 0xff, 0xff, 0xff}));
}

TEST(FlowControlPacket, RefusesOtherLengths) {
  const std::array<std::byte, 7> zeros{};
  for (const std::size_t size : {0U, 4U, 5U, 7U}) {
    EXPECT_EQ(parse_flow_control_packet(Bytes(zeros).first(size)).error(), FlowControlError::bad_length);
  }
}

TEST(FlowControlPacket, RefusesEveryBitThatChanged) {
  const PacketBytes good = image_of({0x01, 0x23, 0x34, 0x56});
  ASSERT_TRUE(parse_flow_control_packet(good).has_value());
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    PacketBytes bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    ASSERT_EQ(parse_flow_control_packet(bad).error(), FlowControlError::bad_crc) << bit;
  }
}

TEST(FlowControlPacket, RefusesReservedOperations) {
  for (unsigned operation = 2; operation < 16; ++operation) {
    const auto parsed = parse_flow_control_packet(image_of({operation << 4, 0, 0, 0}));
    ASSERT_EQ(parsed.error(), FlowControlError::reserved_operation);
  }
  EXPECT_EQ(name_of(FlowControlOperation{2}), "");
  EXPECT_EQ(name_of(FlowControlError::reserved_operation), "reserved operation");
}

}  // namespace
}  // namespace softrnic::wire
