#include "subnet/multicast_tree.h"

#include <gtest/gtest.h>

#include <map>

#include "subnet/min_hop.h"
#include "tests/unit/subnet/topologies.h"

namespace softrnic::subnet {
namespace {

using testing::Builder;

HopMatrix hops_of(const Graph& graph) {
  std::uint64_t steps = 0;
  return min_hops(graph, steps);
}

constexpr Lid kGroup{0xc005};

// Sends a packet from `source` through the tables as switches do; how often each end port gets it. A loop
// ends by `lives`, with numbers that no tree has.
std::map<EndPortId, unsigned> flood(const Graph& graph, const ForwardingTables& tables, EndPortId source) {
  std::map<EndPortId, unsigned> received;
  std::vector<SwitchPort> arrivals{graph.at(source).attached};
  for (unsigned lives = 10000; !arrivals.empty() && lives > 0; --lives) {
    const SwitchPort at = arrivals.back();
    arrivals.pop_back();
    const PortMask mask = tables.at(at.sw).multicast.mask(kGroup);
    for (std::size_t number = 0; number < graph.ports(at.sw).size(); ++number) {
      const auto out = static_cast<std::uint8_t>(number);
      if (out == at.port || !mask.test(out)) continue;
      const Port& port = graph.at(SwitchPort{at.sw, out});
      if (port.end_port != kNoEndPort) ++received[port.end_port];
      if (port.leads_to_switch()) arrivals.push_back(port.peer);
    }
  }
  return received;
}

// Every member gets one copy of what any member sends, but not of its own; nobody else gets anything.
void expect_delivery(const Graph& graph, const MulticastTree& tree, std::span<const EndPortId> members) {
  ForwardingTables tables(graph);
  tree.store(kGroup, tables);
  for (const EndPortId source : members) {
    std::map<EndPortId, unsigned> expected;
    for (const EndPortId member : members) {
      if (member != source) expected[member] = 1;
    }
    ASSERT_EQ(flood(graph, tables, source), expected);
  }
}

// As many links as switches less one, and no switch without use.
void expect_tree(const Graph& graph, const MulticastTree& tree) {
  std::size_t link_ends = 0;
  std::size_t switches = 0;
  for (std::uint32_t i = 0; i < graph.switches().size(); ++i) {
    const PortMask mask = tree.mask(SwitchId(i));
    if (mask.empty()) continue;
    ++switches;
    EXPECT_TRUE(mask.count() > 1 || tree.members() < 2) << i;
    graph.for_each_neighbour(SwitchId(i), [&](std::uint8_t port, SwitchPort peer) {
      if (!mask.test(port)) return;
      ++link_ends;
      EXPECT_TRUE(tree.mask(peer.sw).test(peer.port));
    });
  }
  EXPECT_EQ(switches, tree.switches());
  if (switches != 0) {
    EXPECT_EQ(link_ends, 2 * (switches - 1));
  }
}

TEST(MulticastTree, ReachesEveryMemberOnce) {
  const Builder b = testing::fat_tree_324();
  const MulticastTree tree = MulticastTree::build(b.graph, hops_of(b.graph), b.hosts);
  EXPECT_EQ(tree.members(), 324U);
  EXPECT_EQ(tree.switches(), 37U) << "all leaves and one spine";
  expect_tree(b.graph, tree);
  expect_delivery(b.graph, tree, b.hosts);
}

TEST(MulticastTree, ReachesRandomMembersInRandomGraphs) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    const Builder b = testing::random_graph(seed, 20, seed * 2);
    std::vector<EndPortId> members;
    for (std::uint32_t i = 0; i < b.graph.end_ports().size(); i += 1 + seed % 4)
      members.push_back(EndPortId(i));
    const MulticastTree tree = MulticastTree::build(b.graph, hops_of(b.graph), members);
    EXPECT_EQ(tree.members(), members.size());
    expect_tree(b.graph, tree);
    expect_delivery(b.graph, tree, members);
  }
}

TEST(MulticastTree, StandsAroundTheSwitchNearestToAll) {
  Builder b;  // a chain with most members at one end
  for (unsigned i = 0; i < 7; ++i) b.add_hosts(b.add_switch(16), i == 6 ? 8 : 1);
  for (unsigned i = 0; i < 6; ++i) b.link(SwitchId(i), SwitchId(i + 1));
  b.assign();
  const std::vector<EndPortId> two{b.hosts[2], b.hosts[4]};
  const MulticastTree tree = MulticastTree::build(b.graph, hops_of(b.graph), two);
  EXPECT_EQ(tree.switches(), 3U);
  EXPECT_TRUE(tree.mask(SwitchId(1)).empty());
  EXPECT_TRUE(tree.mask(SwitchId(5)).empty());
}

TEST(MulticastTree, GrowsAndShrinksByBranches) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const Builder b = testing::random_graph(seed, 15, 20);
    std::mt19937 random(seed);
    MulticastTree tree;
    std::vector<EndPortId> members;
    for (unsigned step = 0; step < 60; ++step) {
      const EndPortId port(static_cast<std::uint32_t>(random() % b.graph.end_ports().size()));
      if (tree.has_member(port)) {
        EXPECT_FALSE(tree.join(b.graph, port));
        EXPECT_TRUE(tree.leave(b.graph, port));
        std::erase(members, port);
      } else {
        EXPECT_FALSE(tree.leave(b.graph, port));
        EXPECT_TRUE(tree.join(b.graph, port));
        members.push_back(port);
      }
      expect_tree(b.graph, tree);
      expect_delivery(b.graph, tree, members);
    }
    while (!members.empty()) {
      EXPECT_TRUE(tree.leave(b.graph, members.back()));
      members.pop_back();
    }
    EXPECT_EQ(tree.switches(), 0U);
  }
}

TEST(MulticastTree, LeavesWhatOthersReceiveAsItIs) {
  const Builder b = testing::torus(4, 4);
  MulticastTree tree;
  ASSERT_TRUE(tree.join(b.graph, b.hosts[0]));
  ASSERT_TRUE(tree.join(b.graph, b.hosts[1]));
  const PortMask before = tree.mask(SwitchId(0));
  ASSERT_TRUE(tree.join(b.graph, b.hosts[3]));  // beside 0 by the cable around
  PortMask after = tree.mask(SwitchId(0));
  for (std::uint8_t port = 0; port < 16; ++port) {
    EXPECT_TRUE(!before.test(port) || after.test(port));
  }
  ASSERT_TRUE(tree.leave(b.graph, b.hosts[3]));
  EXPECT_EQ(tree.mask(SwitchId(0)), before);
}

TEST(MulticastTree, TakesPacketsOfWhoOnlySends) {
  const Builder b = testing::ring(5);
  MulticastTree tree;
  ASSERT_TRUE(tree.join(b.graph, b.hosts[0]));
  ASSERT_TRUE(tree.join(b.graph, b.hosts[2], MulticastRole::send_only));
  ForwardingTables tables(b.graph);
  tree.store(kGroup, tables);
  EXPECT_EQ(flood(b.graph, tables, b.hosts[2]), (std::map<EndPortId, unsigned>{{b.hosts[0], 1}}));
  EXPECT_TRUE(flood(b.graph, tables, b.hosts[0]).empty());
  ASSERT_TRUE(tree.leave(b.graph, b.hosts[2]));
  EXPECT_EQ(tree.switches(), 1U);
}

TEST(MulticastTree, GoesRoundSwitchesThatDoNotKnowMulticast) {
  Builder b;
  for (unsigned i = 0; i < 4; ++i) b.add_hosts(b.add_switch(8), 1);
  Switch plain;
  plain.guid = plain.port_guid = Guid(0x10);
  plain.ports = 4;
  plain.multicast = false;
  const SwitchId between = b.graph.add_switch(plain).value();
  ASSERT_TRUE(b.graph.connect({SwitchId(0), 7}, SwitchPort{between, 1}));
  ASSERT_TRUE(b.graph.connect({SwitchId(2), 7}, SwitchPort{between, 2}));
  b.link(SwitchId(0), SwitchId(3));
  b.link(SwitchId(3), SwitchId(1));
  b.link(SwitchId(1), SwitchId(2));
  const std::vector<EndPortId> members{b.hosts[0], b.hosts[2]};
  const MulticastTree tree = MulticastTree::build(b.graph, hops_of(b.graph), members);
  EXPECT_TRUE(tree.mask(between).empty());
  EXPECT_EQ(tree.switches(), 4U);
  expect_delivery(b.graph, tree, members);
  MulticastTree grown;
  EXPECT_TRUE(grown.join(b.graph, b.hosts[0]));
  EXPECT_TRUE(grown.join(b.graph, b.hosts[2]));
  expect_delivery(b.graph, grown, members);
  EXPECT_FALSE(grown.join(b.graph, b.graph.at(between).port0));
}

TEST(MulticastTree, LeavesOutWhoCannotBeReached) {
  Builder b = testing::ring(4);
  b.graph.set_link({SwitchId(0), 2}, {0, PortState::down});
  b.graph.set_link({SwitchId(0), 3}, {0, PortState::down});
  const EndPortId loose = b.graph.add_end_port(EndPort{Guid(0x42), {}, {}, {}, 1, 32, {}, {}, 0}).value();
  std::vector<EndPortId> members = b.hosts;
  members.push_back(loose);
  const MulticastTree tree = MulticastTree::build(b.graph, hops_of(b.graph), members);
  EXPECT_EQ(tree.members(), 3U);
  EXPECT_FALSE(tree.has_member(b.hosts[0]));
  EXPECT_FALSE(tree.has_member(loose));
  expect_delivery(b.graph, tree, std::span(b.hosts).subspan(1));
  EXPECT_EQ(MulticastTree::build(b.graph, hops_of(b.graph), {}).switches(), 0U);
  EXPECT_EQ(MulticastTree::build(Graph(), HopMatrix(), {}).switches(), 0U);
}

TEST(MulticastTree, ClearsTheGroupWhereItDoesNotPass) {
  const Builder b = testing::ring(5);
  ForwardingTables tables(b.graph);
  MulticastTree::build(b.graph, hops_of(b.graph), b.hosts).store(kGroup, tables);
  EXPECT_FALSE(tables.at(SwitchId(3)).multicast.mask(kGroup).empty());
  MulticastTree::build(b.graph, hops_of(b.graph), std::span(b.hosts).first(2)).store(kGroup, tables);
  EXPECT_TRUE(tables.at(SwitchId(3)).multicast.mask(kGroup).empty());
}

}  // namespace
}  // namespace softrnic::subnet
