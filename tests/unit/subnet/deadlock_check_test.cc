#include "subnet/deadlock_check.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "subnet/min_hop.h"
#include "tests/unit/subnet/topologies.h"

namespace softrnic::subnet {
namespace {

using testing::Builder;

// Each channel leads to the switch that the next one leaves.
void expect_circle(const Graph& graph, const std::vector<Channel>& cycle) {
  ASSERT_FALSE(cycle.empty());
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    EXPECT_EQ(graph.at(cycle[i].from).peer.sw, cycle[(i + 1) % cycle.size()].from.sw);
  }
}

TEST(Deadlock, IsPossibleWithMinHopInATorus) {
  const Builder b = testing::torus(4, 4);
  const auto cycle = find_deadlock(b.graph, route_min_hop(b.graph).tables);
  expect_circle(b.graph, cycle);
  EXPECT_GE(cycle.size(), 4U);
}

TEST(Deadlock, IsPossibleInARingOfFiveOnly) {
  const Builder five = testing::ring(5);
  const auto cycle = find_deadlock(five.graph, route_min_hop(five.graph).tables);
  expect_circle(five.graph, cycle);
  EXPECT_EQ(cycle.size(), 5U);
  // In a ring of three nobody passes two links, so nobody holds one and waits for another.
  const Builder three = testing::ring(3);
  EXPECT_TRUE(find_deadlock(three.graph, route_min_hop(three.graph).tables).empty());
}

TEST(Deadlock, IsNotPossibleInATree) {
  const Builder b = testing::fat_tree_324();
  EXPECT_TRUE(find_deadlock(b.graph, route_min_hop(b.graph).tables).empty());
}

TEST(Deadlock, IsPossibleInATreeWhoseSpinesTalkToEachOther) {
  const Builder b = testing::fat_tree_324();
  ForwardingTables tables = route_min_hop(b.graph).tables;
  const DeadlockOptions options{EndPorts::adapters_and_switches, {}, 15, {}};
  // All of them turn at the same leaf, unless one is told to turn at another.
  EXPECT_TRUE(find_deadlock(b.graph, tables, options).empty());
  const Lid other_spine = b.graph.at(b.graph.at(SwitchId(36)).port0).base_lid;
  tables.at(SwitchId(37)).linear.set(other_spine, 2);
  expect_circle(b.graph, find_deadlock(b.graph, tables, options));
  EXPECT_TRUE(find_deadlock(b.graph, tables).empty());
}

TEST(Deadlock, IsNotPossibleInAMeshWithoutTurns) {
  Builder b;  // a chain
  for (unsigned i = 0; i < 6; ++i) b.add_hosts(b.add_switch(8), 2);
  for (unsigned i = 0; i < 5; ++i) b.link(SwitchId(i), SwitchId(i + 1));
  b.assign();
  EXPECT_TRUE(find_deadlock(b.graph, route_min_hop(b.graph).tables).empty());
}

TEST(Deadlock, IsFoundInALoopOfRoutes) {
  Builder b = testing::ring(3);
  ForwardingTables tables = route_min_hop(b.graph).tables;
  const Lid lid = b.graph.at(b.hosts[0]).base_lid;
  for (std::uint32_t sw = 0; sw < 3; ++sw) {
    b.graph.for_each_neighbour(SwitchId(sw), [&](std::uint8_t port, SwitchPort peer) {
      if (peer.sw.value == (sw + 1) % 3) tables.at(SwitchId(sw)).linear.set(lid, port);
    });
  }
  EXPECT_EQ(find_deadlock(b.graph, tables).size(), 3U);
}

TEST(Deadlock, IsToldWithSwitchesAndPorts) {
  const Builder b = testing::ring(5);
  const auto cycle = find_deadlock(b.graph, route_min_hop(b.graph).tables);
  const std::string text = to_string(b.graph, cycle);
  EXPECT_EQ(std::ranges::count(text, ','), 4);
  EXPECT_NE(text.find("switch 0x0000000000001000 port "), std::string::npos);
  EXPECT_NE(text.find(" VL 0, "), std::string::npos);
}

// A dateline (Dally and Seitz): who passes the link between the last switch and the first is on the other VL
// from the start.
class Dateline : public ::testing::Test {
 protected:
  std::uint16_t service_levels(EndPortId source, Lid destination) const {
    const Route route = trace_route(b.graph, tables, source, destination);
    for (std::size_t i = 0; i + 1 < route.hops.size(); ++i) {
      const std::uint32_t from = route.hops[i].sw.value;
      const std::uint32_t to = route.hops[i + 1].sw.value;
      if (std::max(from, to) == 5 && std::min(from, to) == 0) return 1 << 1;
    }
    return 1 << 0;
  }

  Builder b = testing::ring(6);
  ForwardingTables tables = route_min_hop(b.graph).tables;
  DeadlockOptions options{
      EndPorts::adapters,
      [](SwitchId, std::uint8_t, std::uint8_t, std::uint8_t sl) { return sl; },
      2,
      [this](EndPortId source, Lid destination) { return service_levels(source, destination); },
  };
};

TEST_F(Dateline, BreaksTheCircleOfARing) {
  EXPECT_FALSE(find_deadlock(b.graph, tables).empty());
  EXPECT_TRUE(find_deadlock(b.graph, tables, options).empty());
}

TEST_F(Dateline, DoesNotWithBothServiceLevelsOnOneVl) {
  options.vl = [](SwitchId, std::uint8_t, std::uint8_t, std::uint8_t) { return std::uint8_t{1}; };
  const auto cycle = find_deadlock(b.graph, tables, options);
  expect_circle(b.graph, cycle);
  EXPECT_TRUE(std::ranges::all_of(cycle, [](const Channel& channel) { return channel.vl == 1; }));
}

TEST_F(Dateline, DoesNotWhenAnybodyMayTakeEither) {
  options.service_levels = [](EndPortId, Lid) { return std::uint16_t{3}; };
  EXPECT_FALSE(find_deadlock(b.graph, tables, options).empty());
}

// The VL changes from one link to the next: the table of a switch has the ports in it.
TEST_F(Dateline, MayBeAChangeOfVlOnTheWay) {
  options.service_levels = {};
  options.vl = [&](SwitchId sw, std::uint8_t in, std::uint8_t, std::uint8_t) {
    return b.graph.at(SwitchPort{sw, in}).leads_to_switch() ? std::uint8_t{1} : std::uint8_t{0};
  };
  // Three links at most: the first on VL 0, the others on VL 1, of which two in a row still wait for each
  // other.
  const auto cycle = find_deadlock(b.graph, tables, options);
  expect_circle(b.graph, cycle);
  EXPECT_TRUE(std::ranges::all_of(cycle, [](const Channel& channel) { return channel.vl == 1; }));
  const Builder four = testing::ring(4);
  options.vl = [&](SwitchId sw, std::uint8_t in, std::uint8_t, std::uint8_t) {
    return four.graph.at(SwitchPort{sw, in}).leads_to_switch() ? std::uint8_t{1} : std::uint8_t{0};
  };
  EXPECT_TRUE(find_deadlock(four.graph, route_min_hop(four.graph).tables, options).empty());
}

TEST_F(Dateline, DroppedPacketsWaitForNothing) {
  options.vl = [](SwitchId, std::uint8_t, std::uint8_t, std::uint8_t) { return std::uint8_t{15}; };
  EXPECT_TRUE(find_deadlock(b.graph, tables, options).empty());
  options.vls = 255;
  EXPECT_TRUE(find_deadlock(b.graph, tables, options).empty());
}

}  // namespace
}  // namespace softrnic::subnet
