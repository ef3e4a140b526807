#include "subnet/lid_assignment.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/subnet/topologies.h"

namespace softrnic::subnet {
namespace {

using testing::Builder;

// A switch (GUID 0x1000) with three hosts (GUIDs 0x100000 to 0x100002), without LIDs.
class LidAssignmentTest : public ::testing::Test {
 protected:
  void SetUp() override { b.add_hosts(b.add_switch(8), 3); }

  LidAssignment assign(const GuidToLid& earlier = {}, const LidOptions& options = {}) {
    return assign_lids(b.graph, options, earlier).value();
  }
  void has_now(unsigned host, std::uint16_t lid) {
    ASSERT_TRUE(b.graph.set_lids(b.hosts[host], Lid(lid), 0));
  }
  Lid of_host(const LidAssignment& made, unsigned host) { return made.ranges[b.hosts[host].value].base; }
  Lid of_switch(const LidAssignment& made) { return made.ranges[b.graph.at(SwitchId(0)).port0.value].base; }
  static Guid host_guid(unsigned host) { return Guid(0x100000 + host); }

  Builder b;
};

TEST_F(LidAssignmentTest, CountsFromOneInTheOrderOfGuids) {
  const LidAssignment made = assign();
  EXPECT_EQ(of_switch(made), Lid(1));
  for (unsigned host = 0; host < 3; ++host)
    EXPECT_EQ(of_host(made, host), Lid(static_cast<std::uint16_t>(2 + host)));
  EXPECT_EQ(made.guid_to_lid.size(), 4U);
  EXPECT_EQ(made.guid_to_lid.at(host_guid(2)), (LidRange{Lid(4), 0}));
}

TEST_F(LidAssignmentTest, AlignsToTheLmc) {
  const LidAssignment made = assign({}, {3, false, false});
  EXPECT_EQ(of_switch(made), Lid(1));
  EXPECT_EQ(of_host(made, 0), Lid(8));
  EXPECT_EQ(of_host(made, 2), Lid(24));
  EXPECT_EQ(made.ranges[b.hosts[0].value].lmc, 3);
  EXPECT_EQ(assign({}, {200, false, false}).ranges[b.hosts[0].value].lmc, kMaxLmc);
}

TEST_F(LidAssignmentTest, GivesSeveralToEnhancedPortZeroOnly) {
  Switch enhanced;
  enhanced.guid = enhanced.port_guid = Guid(0x2000);
  enhanced.ports = 4;
  enhanced.enhanced_port0 = true;
  const EndPortId own = b.graph.at(b.graph.add_switch(enhanced).value()).port0;
  EXPECT_EQ(assign({}, {2, false, false}).ranges[own.value].lmc, 0);
  const LidAssignment made = assign({}, {2, true, false});
  EXPECT_EQ(made.ranges[own.value], (LidRange{Lid(4), 2}));
  EXPECT_EQ(made.ranges[b.graph.at(SwitchId(0)).port0.value].lmc, 0);
}

TEST_F(LidAssignmentTest, KeepsWhatWasAssignedEarlier) {
  has_now(0, 30);
  has_now(1, 31);
  const LidAssignment made = assign({{host_guid(0), {Lid(50), 0}}, {Guid(0x77), {Lid(1), 0}}});
  EXPECT_EQ(of_host(made, 0), Lid(50));
  EXPECT_EQ(of_host(made, 1), Lid(31));
  EXPECT_EQ(of_switch(made), Lid(2)) << "1 is that of a port that is away";
  EXPECT_EQ(made.guid_to_lid.at(Guid(0x77)), (LidRange{Lid(1), 0}));
  EXPECT_EQ(assign(made.guid_to_lid).ranges, made.ranges);
}

TEST_F(LidAssignmentTest, ResolvesConflictsByRank) {
  has_now(0, 7);
  has_now(1, 7);
  has_now(2, 9);
  const LidAssignment made = assign({{host_guid(1), {Lid(9), 0}}});
  EXPECT_EQ(of_host(made, 0), Lid(7));
  EXPECT_EQ(of_host(made, 1), Lid(9));
  EXPECT_EQ(of_host(made, 2), Lid(2));
  apply_lids(b.graph, made);
  for (const EndPortId host : b.hosts) EXPECT_EQ(b.graph.owner_of(b.graph.at(host).base_lid), host);
}

TEST_F(LidAssignmentTest, DropsEarlierOnesThatAreNotLegal) {
  const GuidToLid earlier = {
      {host_guid(0), {Lid(0), 0}}, {host_guid(1), {Lid(0xc000), 0}}, {host_guid(2), {Lid(9), 0}},
      {Guid(0x70), {Lid(9), 0}},   {Guid(0x71), {Lid(0x80), 200}},   {Guid(0x72), {Lid(0x81), 3}},
  };
  const LidAssignment made = assign(earlier);
  EXPECT_EQ(of_host(made, 0), Lid(2));
  EXPECT_EQ(of_host(made, 1), Lid(3));
  EXPECT_EQ(of_host(made, 2), Lid(4)) << "the lower GUID has 9";
  EXPECT_EQ(made.guid_to_lid.size(), 5U);
  EXPECT_FALSE(made.guid_to_lid.contains(Guid(0x71)));
}

// After a change of LMC, what is too short or not aligned goes.
TEST_F(LidAssignmentTest, NeedsRangesLongEnough) {
  const GuidToLid earlier = {
      {host_guid(0), {Lid(8), 2}}, {host_guid(1), {Lid(16), 0}}, {host_guid(2), {Lid(21), 2}}};
  const LidAssignment made = assign(earlier, {2, false, false});
  EXPECT_EQ(of_host(made, 0), Lid(8));
  EXPECT_EQ(of_host(made, 1), Lid(4));
  EXPECT_EQ(of_host(made, 2), Lid(12));
}

TEST_F(LidAssignmentTest, ReassignsWhenAsked) {
  has_now(0, 30);
  const LidAssignment made = assign({{host_guid(1), {Lid(50), 0}}}, {0, false, true});
  EXPECT_EQ(of_host(made, 0), Lid(2));
  EXPECT_EQ(of_host(made, 1), Lid(3));
  EXPECT_EQ(made.guid_to_lid.size(), 4U);
}

TEST_F(LidAssignmentTest, GivesUpAbsentPortsBeforeItFails) {
  GuidToLid earlier;
  for (unsigned lid = 1; lid <= 0xbfff; ++lid) {
    earlier.emplace(Guid(0x5000000 + lid), LidRange{Lid(static_cast<std::uint16_t>(lid)), 0});
  }
  const LidAssignment made = assign(earlier);
  EXPECT_EQ(of_host(made, 2), Lid(4));
  EXPECT_EQ(made.guid_to_lid.size(), 4U);
}

TEST(LidAssignment, TellsWhenTheSpaceIsFull) {
  Builder b;
  // 0xbfff LIDs hold 383 ranges of 128, as the first begins at 128.
  for (unsigned i = 0; i < 383; ++i) {
    EndPort port;
    port.guid = Guid(i + 1);
    ASSERT_TRUE(b.graph.add_end_port(port));
  }
  const auto made = assign_lids(b.graph, {7, false, false}, {});
  ASSERT_TRUE(made.has_value());
  std::set<std::uint16_t> bases;
  for (const LidRange& range : made->ranges) bases.insert(range.base.value);
  EXPECT_EQ(bases.size(), 383U);
  EXPECT_EQ(*bases.rbegin(), 0xbf80);
  EndPort one_more;
  one_more.guid = Guid(1000);
  ASSERT_TRUE(b.graph.add_end_port(one_more));
  EXPECT_EQ(assign_lids(b.graph, {7, false, false}, {}).error(), LidError::space_full);
}

}  // namespace
}  // namespace softrnic::subnet
