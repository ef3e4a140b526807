#include "subnet/up_down.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "subnet/deadlock_check.h"
#include "subnet/min_hop.h"
#include "subnet/route_check.h"
#include "tests/unit/subnet/topologies.h"

namespace softrnic::subnet {
namespace {

using testing::Builder;

std::vector<SwitchId> chosen_roots(const Graph& graph) {
  std::uint64_t steps = 0;
  return choose_roots(graph, min_hops(graph, steps));
}

// No route goes up after it went down.
void expect_legal(const Graph& graph, const ForwardingTables& tables, const UpDownOrder& order) {
  for (const EndPort& destination : graph.end_ports()) {
    for (std::uint32_t source = 0; source < graph.end_ports().size(); ++source) {
      for (unsigned offset = 0; offset < destination.lids(); ++offset) {
        const Route route = trace_route(graph, tables, EndPortId(source), destination.lid(offset));
        bool went_down = false;
        for (std::size_t i = 0; i + 1 < route.hops.size(); ++i) {
          const bool is_up = order.is_up(route.hops[i].sw, route.hops[i + 1].sw);
          ASSERT_FALSE(is_up && went_down) << to_string(graph, route);
          went_down |= !is_up;
        }
      }
    }
  }
}

DeadlockOptions everybody() { return {EndPorts::adapters_and_switches, {}, 15, {}}; }

TEST(UpDown, HasNoDeadlockWhereMinHopHas) {
  const Builder b = testing::torus(4, 4);
  EXPECT_FALSE(find_deadlock(b.graph, route_min_hop(b.graph).tables).empty());
  const Routing routing = route_up_down(b.graph).value();
  EXPECT_TRUE(check_routes(b.graph, routing.tables).all_reach());
  EXPECT_TRUE(find_deadlock(b.graph, routing.tables, everybody()).empty());
  const auto roots = chosen_roots(b.graph);
  ASSERT_EQ(roots.size(), 1U);
  expect_legal(b.graph, routing.tables, order_up_down(b.graph, roots));
}

TEST(UpDown, IsLegalAndConnectsEverybodyInRandomGraphs) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    const Builder b = testing::random_graph(seed, 6 + seed, seed * 3);
    UpDownOptions options;
    options.roots = {b.graph.at(SwitchId(seed % 5)).guid};
    const Routing routing = route_up_down(b.graph, options).value();
    EXPECT_TRUE(check_routes(b.graph, routing.tables).all_reach());
    const std::vector<SwitchId> roots{SwitchId(seed % 5)};
    expect_legal(b.graph, routing.tables, order_up_down(b.graph, roots));
    EXPECT_TRUE(find_deadlock(b.graph, routing.tables, everybody()).empty());
    EXPECT_TRUE(check_routes(b.graph, route_up_down(b.graph).value().tables, EndPorts::adapters).all_reach());
  }
}

TEST(UpDown, TellsTheLinksThatRoutesPass) {
  const Builder b = testing::random_graph(3, 20, 30);
  const Routing routing = route_up_down(b.graph).value();
  for (const EndPortId destination : b.hosts) {
    for (const EndPortId source : b.hosts) {
      const Route route = trace_route(b.graph, routing.tables, source, b.graph.at(destination).base_lid);
      ASSERT_EQ(route.end, RouteEnd::reached);
      EXPECT_EQ(route.hops.size() - 1,
                routing.hops.hops(b.graph.at(source).attached.sw, b.graph.at(destination).attached.sw));
    }
  }
}

TEST(UpDown, IsMinHopInAFatTree) {
  const Builder b = testing::fat_tree_324();
  const auto roots = chosen_roots(b.graph);
  ASSERT_EQ(roots.size(), 18U);
  for (const SwitchId root : roots) EXPECT_GE(root.value, 36U);
  const Routing routing = route_up_down(b.graph).value();
  const Routing least = route_min_hop(b.graph);
  for (std::uint32_t leaf = 0; leaf < 36; ++leaf) {
    EXPECT_TRUE(
        changed_blocks(routing.tables.at(SwitchId(leaf)).linear, least.tables.at(SwitchId(leaf)).linear)
            .empty());
  }
  EXPECT_TRUE(check_routes(b.graph, routing.tables, EndPorts::adapters).all_reach());
  EXPECT_TRUE(find_deadlock(b.graph, routing.tables, everybody()).empty());
}

// In a tree of three levels with many leaves every switch sees most adapters at one distance.
TEST(UpDown, FindsTheTopOfALargeTree) {
  const Builder b = testing::three_level_tree(24);
  const auto roots = chosen_roots(b.graph);
  EXPECT_EQ(roots.size(), 144U);
  for (const SwitchId root : roots) EXPECT_LT(root.value, 144U);  // the builder's first are the cores
  const Routing routing = route_up_down(b.graph).value();
  const RouteReport report = check_routes(b.graph, routing.tables, EndPorts::adapters);
  EXPECT_TRUE(report.all_reach());
  EXPECT_EQ(report.by_hops.size(), 5U);
  const std::uint64_t switches = b.graph.switches().size();
  EXPECT_LE(routing.steps, 5 * switches * b.graph.port_count() + switches * b.graph.end_ports().size() * 24);
}

// Two roots have nothing above them.
TEST(UpDown, ConnectsRootsWhenAsked) {
  const Builder b = testing::two_level_tree(4, 3, 2);
  UpDownOptions options;
  const RouteReport apart = check_routes(b.graph, route_up_down(b.graph, options).value().tables);
  EXPECT_EQ(apart.routes - apart.ends[0], 3U * 2);
  options.connect_roots = true;
  const Routing connected = route_up_down(b.graph, options).value();
  EXPECT_TRUE(check_routes(b.graph, connected.tables).all_reach());
  EXPECT_TRUE(find_deadlock(b.graph, connected.tables).empty());
}

TEST(UpDown, TakesRootsByNodeOrByPortOfWhatIsAttached) {
  const Builder b = testing::ring(5);
  UpDownOptions by_switch;
  by_switch.roots = {Guid(0xdead), b.graph.at(SwitchId(3)).guid};
  UpDownOptions by_host;
  by_host.roots = {b.graph.at(b.hosts[3]).guid};
  const Routing first = route_up_down(b.graph, by_switch).value();
  const Routing second = route_up_down(b.graph, by_host).value();
  EXPECT_TRUE(difference(first.tables, second.tables).empty());
  const std::vector<SwitchId> roots{SwitchId(3)};
  EXPECT_EQ(order_up_down(b.graph, roots).from_top[0], SwitchId(3));
  by_switch.roots = {Guid(0xdead)};
  EXPECT_EQ(route_up_down(b.graph, by_switch).error(), UpDownError::no_root);
}

// Roots at the wrong places of a ring: each has hosts that the other's cannot reach.
TEST(UpDown, GivenRootsMayKeepAdaptersApart) {
  const Builder b = testing::ring(6);
  UpDownOptions options;
  options.roots = {b.graph.at(SwitchId(0)).guid, b.graph.at(SwitchId(3)).guid};
  const Routing routing = route_up_down(b.graph, options).value();
  EXPECT_FALSE(check_routes(b.graph, routing.tables, EndPorts::adapters).all_reach());
  EXPECT_TRUE(find_deadlock(b.graph, routing.tables, everybody()).empty());
  const std::vector<SwitchId> roots{SwitchId(0), SwitchId(3)};
  expect_legal(b.graph, routing.tables, order_up_down(b.graph, roots));
}

// Both spines look like roots, but each has a host of its own, and the other's has no way to it over the top.
TEST(UpDown, FoundRootsDoNotKeepAdaptersApart) {
  Builder b = testing::two_level_tree(2, 2, 20);
  b.add_host(SwitchId(2));
  b.add_host(SwitchId(3));
  b.assign();
  EXPECT_EQ(chosen_roots(b.graph), (std::vector<SwitchId>{SwitchId(2), SwitchId(3)}));
  const Routing routing = route_up_down(b.graph).value();
  EXPECT_TRUE(check_routes(b.graph, routing.tables, EndPorts::adapters).all_reach());
  EXPECT_TRUE(find_deadlock(b.graph, routing.tables, everybody()).empty());
}

TEST(UpDown, RoutesEachPartOfASubnetThatFellApart) {
  Builder b = testing::ring(8);
  b.graph.set_link({SwitchId(0), 2}, {0, PortState::down});
  b.graph.set_link({SwitchId(4), 3}, {0, PortState::down});
  const Routing routing = route_up_down(b.graph).value();
  const Routing least = route_min_hop(b.graph);
  EXPECT_EQ(check_routes(b.graph, routing.tables).ends[0], check_routes(b.graph, least.tables).ends[0]);
  EXPECT_LT(check_routes(b.graph, least.tables).ends[0], check_routes(b.graph, least.tables).routes);
}

TEST(UpDown, BalancesWhatIsLegal) {
  const Builder b = testing::two_level_tree(4, 4, 6);
  const Routing routing = route_up_down(b.graph).value();
  std::vector<unsigned> loads(37);
  for (const EndPortId host : b.hosts) {
    ++loads[routing.tables.at(SwitchId(0)).linear.port(b.graph.at(host).base_lid)];
  }
  EXPECT_EQ(*std::max_element(loads.begin() + 7, loads.end()), 5U);  // 18 LIDs over 4 links
}

TEST(UpDown, OfNothingIsNothing) {
  EXPECT_TRUE(route_up_down(Graph()).has_value());
  Builder b;
  b.add_hosts(b.add_switch(8), 2);
  b.assign();
  EXPECT_TRUE(check_routes(b.graph, route_up_down(b.graph).value().tables).all_reach());
}

}  // namespace
}  // namespace softrnic::subnet
