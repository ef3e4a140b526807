#include "subnet/fat_tree.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "subnet/deadlock_check.h"
#include "subnet/min_hop.h"
#include "subnet/route_check.h"
#include "tests/unit/subnet/topologies.h"

namespace softrnic::subnet {
namespace {

using testing::Builder;

// The most messages that a link between switches carries while each host sends to the one `shift` places on.
unsigned worst_load(const Builder& b, const ForwardingTables& tables, std::size_t shift) {
  std::vector<unsigned> loads(b.graph.port_count());
  for (std::size_t i = 0; i < b.hosts.size(); ++i) {
    const EndPortId to = b.hosts[(i + shift) % b.hosts.size()];
    const Route route = trace_route(b.graph, tables, b.hosts[i], b.graph.at(to).base_lid);
    EXPECT_EQ(route.end, RouteEnd::reached);
    for (const Hop& hop : route.hops) {
      const SwitchPort out{hop.sw, hop.out_port};
      if (b.graph.at(out).leads_to_switch()) ++loads[b.graph.index(out)];
    }
  }
  return *std::ranges::max_element(loads);
}

void expect_shifts_without_contention(const Builder& b) {
  const Routing routing = route_fat_tree(b.graph).value();
  for (std::size_t shift = 1; shift < b.hosts.size(); ++shift) {
    ASSERT_EQ(worst_load(b, routing.tables, shift), 1U) << shift;
  }
}

TEST(FatTree, CarriesShiftsWithoutContentionInTwoLevels) {
  expect_shifts_without_contention(testing::two_level_tree(8, 4, 4));
}

TEST(FatTree, CarriesShiftsWithoutContentionInThreeLevels) {
  const Builder b = testing::three_level_tree(8);
  expect_shifts_without_contention(b);
  // What this is good for: min-hop cannot.
  const Routing least = route_min_hop(b.graph);
  unsigned worst = 0;
  for (std::size_t shift = 1; shift < b.hosts.size(); ++shift) {
    worst = std::max(worst, worst_load(b, least.tables, shift));
  }
  EXPECT_GT(worst, 1U);
}

TEST(FatTree, UsesAllLinksBetweenTwoSwitches) {
  Builder b;
  for (unsigned i = 0; i < 6; ++i) b.add_hosts(b.add_switch(36), 4);
  for (unsigned spine = 0; spine < 2; ++spine) {
    const SwitchId sw = b.add_switch(36);
    for (unsigned leaf = 0; leaf < 6; ++leaf) {
      b.link(SwitchId(leaf), sw);
      b.link(SwitchId(leaf), sw);
    }
  }
  b.assign();
  expect_shifts_without_contention(b);
}

// Leaves found and named in any order: what counts is which stand under the same switches.
TEST(FatTree, NumbersAdaptersAlongTheTree) {
  Builder b;
  std::vector<SwitchId> leaves;
  for (unsigned i = 0; i < 4; ++i) leaves.push_back(b.add_switch(8));
  std::vector<SwitchId> middles;
  for (unsigned i = 0; i < 4; ++i) middles.push_back(b.add_switch(8));
  std::vector<SwitchId> tops;
  for (unsigned i = 0; i < 4; ++i) tops.push_back(b.add_switch(8));
  // Leaves 0 and 2 are one pod, 1 and 3 the other.
  for (unsigned leaf : {0U, 2U, 1U, 3U}) b.add_hosts(leaves[leaf], 2);
  for (unsigned pod = 0; pod < 2; ++pod) {
    for (unsigned i = 0; i < 2; ++i) {
      b.link(leaves[pod], middles[pod * 2 + i]);
      b.link(leaves[pod + 2], middles[pod * 2 + i]);
      b.link(middles[pod * 2 + i], tops[i * 2]);
      b.link(middles[pod * 2 + i], tops[i * 2 + 1]);
    }
  }
  b.assign();
  expect_shifts_without_contention(b);
}

TEST(FatTree, IsFreeOfDeadlocks) {
  for (const Builder& b : {testing::fat_tree_324(), testing::three_level_tree(6)}) {
    const Routing routing = route_fat_tree(b.graph).value();
    EXPECT_TRUE(check_routes(b.graph, routing.tables, EndPorts::adapters).all_reach());
    EXPECT_TRUE(
        find_deadlock(b.graph, routing.tables, {EndPorts::adapters_and_switches, {}, 15, {}}).empty());
  }
}

TEST(FatTree, StaysLegalWhereLinksAreMissing) {
  Builder b = testing::three_level_tree(6);
  std::mt19937 random(1);
  for (unsigned i = 0; i < 25; ++i) {
    const SwitchId sw(static_cast<std::uint32_t>(random() % b.graph.switches().size()));
    const SwitchPort port{sw, static_cast<std::uint8_t>(1 + random() % 6)};
    if (b.graph.at(port).peer.sw != kNoSwitch) b.graph.disconnect(port);
  }
  const Routing routing = route_fat_tree(b.graph).value();
  const RouteReport report = check_routes(b.graph, routing.tables, EndPorts::adapters);
  EXPECT_EQ(report.ends[0] + report.ends[static_cast<std::size_t>(RouteEnd::no_entry)], report.routes);
  EXPECT_GT(report.ends[0], report.routes * 9 / 10);
  EXPECT_TRUE(find_deadlock(b.graph, routing.tables, {EndPorts::adapters_and_switches, {}, 15, {}}).empty());
}

TEST(FatTree, SendsTheLidsOfOnePortByDifferentSwitches) {
  const Builder b = testing::two_level_tree(4, 4, 4, 2);
  const Routing routing = route_fat_tree(b.graph).value();
  const EndPort& port = b.graph.at(b.hosts[15]);
  std::vector<std::uint8_t> ports;
  for (unsigned offset = 0; offset < 4; ++offset) {
    ports.push_back(routing.tables.at(SwitchId(0)).linear.port(port.lid(offset)));
  }
  std::ranges::sort(ports);
  EXPECT_EQ(ports, (std::vector<std::uint8_t>{5, 6, 7, 8}));
}

TEST(FatTree, RoutesSwitchesThatNoAdapterIsConnectedTo) {
  Builder b = testing::two_level_tree(2, 1, 2);
  const SwitchId first = b.add_switch(4);
  b.link(first, b.add_switch(4));
  b.assign();
  const Routing routing = route_fat_tree(b.graph).value();
  EXPECT_TRUE(check_routes(b.graph, routing.tables, EndPorts::adapters).all_reach());
  const EndPort& other = b.graph.at(b.graph.at(SwitchId(first.value + 1)).port0);
  EXPECT_EQ(routing.tables.at(first).linear.port(other.base_lid), 1);
}

TEST(FatTree, RefusesWhatIsNoTree) {
  EXPECT_EQ(route_fat_tree(testing::ring(5).graph).error(), FatTreeError::mixed_levels);
  EXPECT_EQ(route_fat_tree(Graph()).error(), FatTreeError::no_adapters);
  Builder b;
  b.add_hosts(b.add_switch(8), 3);
  b.assign();
  EXPECT_TRUE(check_routes(b.graph, route_fat_tree(b.graph).value().tables).all_reach());
}

}  // namespace
}  // namespace softrnic::subnet
