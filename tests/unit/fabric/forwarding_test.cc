#include "fabric/forwarding.h"

#include <gtest/gtest.h>

#include "fabric/partition_table.h"

namespace softrnic::fabric {
namespace {

using wire::Lid;
constexpr std::uint8_t kNone = ForwardingTables::kNoPort;

TEST(Forwarding, LeadsNowhereUntilItIsSet) {
  const ForwardingTables tables;
  EXPECT_EQ(tables.unicast(Lid(1)), kNone);
  EXPECT_EQ(tables.unicast(Lid(0xbfff)), kNone);
  EXPECT_TRUE(tables.multicast(Lid(0xc000), 1).none());
  EXPECT_TRUE(tables.multicast(Lid(0xfffe), 1).none());
}

TEST(Forwarding, LinearBlocksHave64Entries) {
  ForwardingTables tables;
  std::array<std::uint8_t, 64> block{};
  for (std::size_t i = 0; i < block.size(); ++i) block[i] = static_cast<std::uint8_t>(i);
  EXPECT_TRUE(tables.set_linear_block(2, block));
  EXPECT_EQ(tables.unicast(Lid(127)), kNone);
  EXPECT_EQ(tables.unicast(Lid(128)), 0);
  EXPECT_EQ(tables.unicast(Lid(191)), 63);
  EXPECT_EQ(tables.unicast(Lid(192)), kNone);
  EXPECT_TRUE(tables.set_linear_block(767, block));
  EXPECT_EQ(tables.unicast(Lid(0xbfff)), 63);
  EXPECT_FALSE(tables.set_linear_block(768, block));
  EXPECT_EQ(tables.linear_block(2), block);
  EXPECT_EQ(tables.linear_block(3)[0], kNone);
  EXPECT_EQ(tables.linear_block(0xffff)[63], kNone);
}

TEST(Forwarding, TheReservedLidLeadsNowhere) {
  ForwardingTables tables;
  const std::array<std::uint8_t, 64> block{};
  ASSERT_TRUE(tables.set_linear_block(0, block));
  EXPECT_EQ(tables.unicast(Lid(0)), kNone);
  EXPECT_EQ(tables.unicast(Lid(1)), 0);
}

TEST(Forwarding, NothingIsAboveTheTop) {
  ForwardingTables tables;
  EXPECT_TRUE(tables.set_linear(Lid(5), 3));
  EXPECT_TRUE(tables.set_linear(Lid(6), 4));
  tables.set_linear_top(5);
  EXPECT_EQ(tables.unicast(Lid(5)), 3);
  EXPECT_EQ(tables.unicast(Lid(6)), kNone);
  EXPECT_FALSE(tables.set_linear(Lid(0), 1));
  EXPECT_FALSE(tables.set_linear(Lid(0xc000), 1));
}

TEST(Forwarding, MulticastBlocksHave32EntriesOf16Ports) {
  ForwardingTables tables;
  std::array<std::uint16_t, 32> masks{};
  masks[0] = 0x0003;
  masks[31] = 0x8000;
  EXPECT_TRUE(tables.set_multicast_block(1, 0, masks));
  EXPECT_TRUE(tables.set_multicast_block(1, 2, masks));
  const PortMask first = tables.multicast(Lid(0xc020), 99);
  EXPECT_EQ(first.count(), 4U);
  EXPECT_TRUE(first[0] && first[1] && first[32] && first[33]);
  const PortMask last = tables.multicast(Lid(0xc03f), 99);
  EXPECT_TRUE(last[15] && last[47]);
  EXPECT_EQ(last.count(), 2U);
  EXPECT_FALSE(tables.set_multicast_block(512, 0, masks));
  EXPECT_EQ(tables.multicast_block(1, 2), masks);
  EXPECT_EQ(tables.multicast_block(1, 1)[0], 0);
  EXPECT_EQ(tables.multicast_block(0xffff, 0)[0], 0);
  EXPECT_EQ(tables.multicast_block(1, 255)[0], 0);
  EXPECT_FALSE(tables.set_multicast_block(0, 16, masks));
}

TEST(Forwarding, MulticastNeverReturns) {
  ForwardingTables tables;
  std::array<std::uint16_t, 32> masks{};
  masks[0] = 0x000e;
  ASSERT_TRUE(tables.set_multicast_block(0, 0, masks));
  const PortMask ports = tables.multicast(Lid(0xc000), 2);
  EXPECT_TRUE(ports[1] && ports[3]);
  EXPECT_EQ(ports.count(), 2U);
}

TEST(Forwarding, MulticastWithoutEntryTakesTheDefaultPorts) {
  ForwardingTables tables;
  tables.set_default_multicast(7, 9);
  EXPECT_TRUE(tables.multicast(Lid(0xc100), 3)[7]);
  EXPECT_TRUE(tables.multicast(Lid(0xc100), 7)[9]);
  EXPECT_TRUE(tables.multicast(Lid(0xc100), 9)[7]);
  EXPECT_EQ(tables.multicast(Lid(0xc100), 7).count(), 1U);
}

constexpr std::array<std::uint16_t, 4> kPkeys = {0x8001, 0x0002, 0x0000, 0x8000};

TEST(PartitionTable, WantsOneFullMemberAtLeastOnTheWayOut) {
  PartitionTable table;
  EXPECT_FALSE(table.admits_out(0xffff));
  table.set(kPkeys);
  EXPECT_TRUE(table.admits_out(0x8001));
  EXPECT_TRUE(table.admits_out(0x0001));
  EXPECT_TRUE(table.admits_out(0x8002));
  EXPECT_FALSE(table.admits_out(0x0002));
  EXPECT_FALSE(table.admits_out(0x8003));
  EXPECT_FALSE(table.admits_out(0x8000));
  EXPECT_FALSE(table.admits_out(0x0000));
}

TEST(PartitionTable, TakesFromALimitedMemberWhatItIs) {
  PartitionTable table;
  EXPECT_FALSE(table.admits_in(0xffff));
  table.set(kPkeys);
  EXPECT_TRUE(table.admits_in(0x8001));
  EXPECT_TRUE(table.admits_in(0x0001));
  EXPECT_TRUE(table.admits_in(0x0002));
  EXPECT_FALSE(table.admits_in(0x8002));
  EXPECT_FALSE(table.admits_in(0x0003));
  EXPECT_FALSE(table.admits_in(0x8000));
  EXPECT_FALSE(table.admits_in(0x0000));
}

}  // namespace
}  // namespace softrnic::fabric
