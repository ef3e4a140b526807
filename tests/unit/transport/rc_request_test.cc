#include "transport/ib/rc_request.h"

#include <gtest/gtest.h>

#include <array>

#include "base/reason_id.h"
#include "tests/script/fake_host.h"

namespace softrnic::ib {
namespace {

constexpr std::uint32_t kMtu = 1024;

class RcRequestTest : public ::testing::Test {
 protected:
  RcRequestTest() {
    attributes.path_mtu = kMtu;
    attributes.max_reads_out = 4;
    host.regions[1] = {0, memory.data(), memory.size(), 15};
  }
  /// A work request that has begun at PSN 100.
  SendEntry& make(SendOp op, std::uint32_t length) {
    SendSlot slot = queue.reserve();
    slot.wqe->op = op;
    slot.wqe->length = length;
    slot.wqe->remote_address = 0x1000;
    slot.wqe->rkey = MemoryKey(7);
    slot.wqe->immediate = 42;
    slot.wqe->solicited = true;
    slot.wqe->sge_count = 1;
    slot.sges[0] = {0, length, MemoryKey(1)};
    queue.commit();
    SendEntry& entry = queue.front();
    const RequestExtent extent = extent_of(entry.wqe, context);
    entry.first = Psn::first(100);
    entry.end = entry.first + extent.packets;
    entry.chunk = extent.chunk;
    return entry;
  }
  std::uint32_t packets(SendOp op, std::uint32_t length) const {
    SendWqe wqe;
    wqe.op = op;
    wqe.length = length;
    return extent_of(wqe, context).packets;
  }
  Expected<void, Reason> build(const SendEntry& entry, std::uint32_t from, std::uint32_t stop) {
    return build_request(context, queue, entry, Psn::first(from), Psn::first(stop), cursor, out);
  }

  std::array<std::byte, 64 * 1024> memory{};
  test::FakeHost host;
  Attributes attributes;
  PathWindow path;
  PathWindow* window = &path;
  EndpointContext context{host, attributes, window};
  SendQueue queue{{.send_wqes = 4, .send_sges = 1}};
  SgeCursor cursor;
  TxPacket out;
};

TEST_F(RcRequestTest, AMessageTakesAPsnForEachMtu) {
  EXPECT_EQ(make(SendOp::send, 0).end, Psn::first(101));
  EXPECT_EQ(packets(SendOp::write, kMtu), 1U);
  EXPECT_EQ(packets(SendOp::write, kMtu + 1), 2U);
  EXPECT_EQ(packets(SendOp::read, 5 * kMtu), 5U);
  EXPECT_EQ(packets(SendOp::fetch_add, 8), 1U);
}

TEST_F(RcRequestTest, ItsLastPacketIsShorter) {
  const SendEntry& entry = make(SendOp::write, 2 * kMtu + 10);
  EXPECT_EQ(offset_of(entry, Psn::first(101), kMtu), kMtu);
  EXPECT_EQ(offset_of(entry, entry.end, kMtu), 2 * kMtu + 10);
  EXPECT_EQ(cost_of(entry, Psn::first(102), entry.end, kMtu), 10 + kPacketOverhead);
  EXPECT_EQ(cost_of(entry, entry.first, entry.end, kMtu), 2 * kMtu + 10 + 3 * kPacketOverhead);
  EXPECT_EQ(cost_of(entry, entry.end, entry.end, kMtu), 0U);
}

TEST_F(RcRequestTest, OnANetworkAsManyPacketsAsTheWindowTakesAreMadeAtOnce) {
  path = PathWindow({.longest_packet = 2 * kMtu});
  const SendEntry& entry = make(SendOp::write, 5 * kMtu);
  EXPECT_EQ(packet_end(entry, Psn::first(100), context), Psn::first(102));
  EXPECT_EQ(packet_end(entry, Psn::first(104), context), entry.end);
  window = nullptr;
  EXPECT_EQ(packet_end(entry, Psn::first(100), context), Psn::first(101));
}

TEST_F(RcRequestTest, AReadIsAskedForByShareOfTheWindow) {
  path = PathWindow({.initial_bytes = 128 * 1024});
  const SendEntry& entry = make(SendOp::read, 100 * kMtu);
  EXPECT_EQ(entry.chunk, 32U);
  EXPECT_EQ(packet_end(entry, Psn::first(100), context), Psn::first(132));
  EXPECT_EQ(packet_end(entry, Psn::first(131), context), Psn::first(132)) << "no re-request goes beyond";
  EXPECT_EQ(packet_end(entry, Psn::first(196), context), entry.end);
  attributes.max_reads_out = 1;
  EXPECT_EQ(extent_of(entry.wqe, context).chunk, 64U);
  path = PathWindow({.initial_bytes = 1000, .minimum_bytes = 1000});
  EXPECT_EQ(extent_of(entry.wqe, context).chunk, 16U) << "16 KiB at least";
  window = nullptr;
  EXPECT_EQ(extent_of(entry.wqe, context).chunk, kLargestChunk);
}

TEST_F(RcRequestTest, AReadRequestNamesItsPart) {
  const SendEntry& entry = make(SendOp::read, 3 * kMtu + 1);
  ASSERT_TRUE(build(entry, 101, 104));
  EXPECT_EQ(out.headers.bth.opcode, wire::Opcode::rc_read_request);
  EXPECT_EQ(out.headers.bth.psn, 101U);
  EXPECT_EQ(out.headers.reth.address, 0x1000U + kMtu);
  EXPECT_EQ(out.headers.reth.length, 2 * kMtu + 1);
  EXPECT_EQ(out.fragment_count, 0U);
}

TEST_F(RcRequestTest, OnlyTheLastPacketOfAMessageHasWhatEndsIt) {
  const SendEntry& entry = make(SendOp::send_with_imm, 2 * kMtu);
  ASSERT_TRUE(build(entry, 100, 101));
  EXPECT_EQ(out.headers.bth.opcode, wire::Opcode::rc_send_first);
  EXPECT_FALSE(out.headers.bth.solicited);
  EXPECT_EQ(out.payload_bytes, kMtu);
  ASSERT_TRUE(build(entry, 101, 102));
  EXPECT_EQ(out.headers.bth.opcode, wire::Opcode::rc_send_last_imm);
  EXPECT_TRUE(out.headers.bth.solicited);
  EXPECT_EQ(out.headers.immediate, 42U);
  ASSERT_TRUE(build(entry, 100, 102));
  EXPECT_EQ(out.headers.bth.opcode, wire::Opcode::rc_send_only_imm);
  EXPECT_EQ(out.packets, 2U);
  EXPECT_EQ(out.payload_bytes, 2 * kMtu);
}

TEST_F(RcRequestTest, AKeyThatDoesNotAllowItIsNamed) {
  const SendEntry& entry = make(SendOp::write, 10);
  host.regions.clear();
  const auto built = build(entry, 100, 101);
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().id, ReasonId::lkey_unknown);
}

}  // namespace
}  // namespace softrnic::ib
