#include "subnet/forwarding_tables.h"

#include <gtest/gtest.h>

namespace softrnic::subnet {
namespace {

TEST(LinearForwardingTable, HasNoRouteUnlessOneIsSet) {
  LinearForwardingTable table(Lid(64));
  EXPECT_EQ(table.blocks(), 2U);
  EXPECT_EQ(table.port(Lid(64)), kNoRoute);
  EXPECT_EQ(table.port(Lid(0xbfff)), kNoRoute);
  table.set(Lid(130), 7);
  EXPECT_EQ(table.blocks(), 3U);
  EXPECT_EQ(table.port(Lid(130)), 7);
  EXPECT_EQ(table.block(2)[2], 7);
  EXPECT_EQ(LinearForwardingTable(Lid(63)).blocks(), 1U);
}

TEST(LinearForwardingTable, HoldsUnicastLidsOnly) {
  LinearForwardingTable table;
  table.set(Lid(0), 1);
  table.set(Lid(0xc000), 1);
  table.set(Lid(0xffff), 1);
  EXPECT_EQ(table.blocks(), 0U);
  table.set(Lid(0xbfff), 1);
  EXPECT_EQ(table.blocks(), 0xc000U / 64);
}

TEST(PortMask, HasSixteenPortsAPosition) {
  PortMask mask;
  EXPECT_EQ(mask.first(), kNoRoute);
  mask.set(0);
  mask.set(17);
  mask.set(254);
  EXPECT_EQ(mask.position(0), 1);
  EXPECT_EQ(mask.position(1), 2);
  EXPECT_EQ(mask.position(15), 1 << 14);
  EXPECT_EQ(mask.count(), 3U);
  EXPECT_TRUE(mask.test(17));
  mask.clear(0);
  EXPECT_FALSE(mask.test(0));
  EXPECT_EQ(mask.first(), 17);
}

TEST(MulticastForwardingTable, HasBlocksOfThirtyTwoLids) {
  MulticastForwardingTable table(36);
  EXPECT_EQ(table.positions(), 3U);
  PortMask mask;
  mask.set(36);
  table.set(Lid(0xc021), mask);
  EXPECT_EQ(table.blocks(), 2U);
  EXPECT_EQ(table.block(1, 2)[1], 1 << 4);
  EXPECT_EQ(table.block(0, 2)[1], 0);
  EXPECT_EQ(table.block(9, 2)[1], 0);
  EXPECT_TRUE(table.mask(Lid(0xc021)).test(36));
  EXPECT_TRUE(table.mask(Lid(0xd000)).empty());
  EXPECT_TRUE(table.mask(Lid(0x0021)).empty());
  table.set(Lid(0x0021), mask);
  table.set(Lid(0xffff), mask);
  EXPECT_EQ(table.blocks(), 2U);
  EXPECT_EQ(MulticastForwardingTable(15).positions(), 1U);
  EXPECT_EQ(MulticastForwardingTable(16).positions(), 2U);
}

TEST(Difference, IsToldByBlocks) {
  LinearForwardingTable sent(Lid(200));
  LinearForwardingTable wanted(Lid(200));
  EXPECT_TRUE(changed_blocks(sent, wanted).empty());
  wanted.set(Lid(65), 3);
  wanted.set(Lid(199), 3);
  EXPECT_EQ(changed_blocks(sent, wanted), (std::vector<std::size_t>{1, 3}));
  sent = wanted;
  EXPECT_TRUE(changed_blocks(sent, wanted).empty());
}

// What a switch was never sent it may hold from an earlier subnet manager.
TEST(Difference, CountsBlocksThatWereNeverSent) {
  EXPECT_EQ(changed_blocks(LinearForwardingTable(), LinearForwardingTable(Lid(70))),
            (std::vector<std::size_t>{0, 1}));
  MulticastForwardingTable wanted(20);
  PortMask mask;
  mask.set(1);
  wanted.set(Lid(0xc000), mask);
  EXPECT_EQ(changed_blocks(MulticastForwardingTable(20), wanted),
            (std::vector<MulticastBlock>{{0, 0}, {0, 1}}));
}

TEST(Difference, TakesBackWhatIsNoLongerWanted) {
  LinearForwardingTable sent(Lid(200));
  EXPECT_TRUE(changed_blocks(sent, LinearForwardingTable(Lid(1))).empty());
  sent.set(Lid(150), 1);
  EXPECT_EQ(changed_blocks(sent, LinearForwardingTable(Lid(1))), std::vector<std::size_t>{2});
  MulticastForwardingTable groups(20);
  PortMask mask;
  mask.set(18);
  groups.set(Lid(0xc000), mask);
  EXPECT_EQ(changed_blocks(groups, MulticastForwardingTable(20)), (std::vector<MulticastBlock>{{0, 1}}));
}

TEST(Difference, NamesOnlySwitchesThatChange) {
  Graph graph;
  for (std::uint64_t guid : {1, 2, 3}) {
    Switch description;
    description.guid = Guid(guid);
    description.port_guid = Guid(guid);
    description.ports = 4;
    ASSERT_TRUE(graph.add_switch(description));
  }
  ASSERT_TRUE(graph.set_lids(EndPortId(0), Lid(100), 0));
  const ForwardingTables sent(graph);
  ForwardingTables wanted(graph);
  wanted.at(SwitchId(1)).linear.set(Lid(100), 2);
  const auto changes = difference(sent, wanted);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].sw, SwitchId(1));
  EXPECT_EQ(changes[0].linear, std::vector<std::size_t>{1});
  EXPECT_EQ(difference(ForwardingTables(), wanted).size(), 3U);
}

}  // namespace
}  // namespace softrnic::subnet
