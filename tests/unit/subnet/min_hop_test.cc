#include "subnet/min_hop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "subnet/route_check.h"
#include "tests/unit/subnet/topologies.h"

namespace softrnic::subnet {
namespace {

using testing::Builder;

// Floyd and Warshall's: nothing in common with a search.
std::vector<std::vector<unsigned>> all_distances(const Graph& graph) {
  const std::size_t n = graph.switches().size();
  std::vector<std::vector<unsigned>> distance(n, std::vector<unsigned>(n, 10000));
  for (std::uint32_t i = 0; i < n; ++i) {
    distance[i][i] = 0;
    graph.for_each_neighbour(SwitchId(i), [&](std::uint8_t, SwitchPort peer) {
      if (peer.sw.value != i) distance[i][peer.sw.value] = 1;
    });
  }
  for (std::size_t via = 0; via < n; ++via) {
    for (std::size_t from = 0; from < n; ++from) {
      for (std::size_t to = 0; to < n; ++to) {
        distance[from][to] = std::min(distance[from][to], distance[from][via] + distance[via][to]);
      }
    }
  }
  return distance;
}

void expect_minimal(const Graph& graph, const Routing& routing) {
  const auto distance = all_distances(graph);
  for (const EndPort& destination : graph.end_ports()) {
    for (std::uint32_t source = 0; source < graph.end_ports().size(); ++source) {
      for (unsigned offset = 0; offset < destination.lids(); ++offset) {
        const Route route = trace_route(graph, routing.tables, EndPortId(source), destination.lid(offset));
        ASSERT_EQ(route.end, RouteEnd::reached) << to_string(graph, route);
        const SwitchId from = graph.at(EndPortId(source)).attached.sw;
        ASSERT_EQ(route.hops.size() - 1, distance[from.value][destination.attached.sw.value]);
        ASSERT_EQ(route.hops.size() - 1, routing.hops.hops(from, destination.attached.sw));
      }
    }
  }
}

TEST(MinHop, TakesTheLeastLinksEverywhere) {
  for (const Builder& b : {testing::ring(7), testing::torus(4, 3), testing::two_level_tree(6, 3, 2, 1)}) {
    expect_minimal(b.graph, route_min_hop(b.graph));
  }
}

TEST(MinHop, TakesTheLeastLinksInRandomGraphs) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const Builder b = testing::random_graph(seed, 8 + seed, seed * 2);
    expect_minimal(b.graph, route_min_hop(b.graph));
  }
}

// How many LIDs of adapters leave by each port that leads to a switch.
std::vector<unsigned> loads(const Graph& graph, const Routing& routing, SwitchId sw) {
  std::vector<unsigned> by_port(graph.at(sw).ports + 1U);
  for (const EndPort& port : graph.end_ports()) {
    if (port.type == NodeType::switch_node) continue;
    for (unsigned offset = 0; offset < port.lids(); ++offset) {
      ++by_port[routing.tables.at(sw).linear.port(port.lid(offset))];
    }
  }
  std::vector<unsigned> up;
  graph.for_each_neighbour(sw, [&](std::uint8_t port, SwitchPort) { up.push_back(by_port[port]); });
  return up;
}

TEST(MinHop, BalancesTheLinksOfEachLeaf) {
  const Builder b = testing::fat_tree_324();
  const Routing routing = route_min_hop(b.graph);
  const RouteReport report = check_routes(b.graph, routing.tables);
  EXPECT_TRUE(report.all_reach());
  const std::uint64_t ports = 324 + 54;
  EXPECT_EQ(report.routes, ports * (ports - 1));
  for (std::uint32_t leaf = 0; leaf < 36; ++leaf) {
    const auto up = loads(b.graph, routing, SwitchId(leaf));
    ASSERT_EQ(up.size(), 18U);
    const auto [least, most] = std::ranges::minmax(up);
    EXPECT_LE(most - least, 1U) << leaf;  // 315 LIDs over 18 links
  }
  for (std::uint32_t spine = 36; spine < 54; ++spine) {
    for (const unsigned load : loads(b.graph, routing, SwitchId(spine))) EXPECT_EQ(load, 9U);
  }
}

TEST(MinHop, BalancesLinksBetweenTheSameSwitches) {
  Builder b;
  b.add_hosts(b.add_switch(36), 1);
  b.add_hosts(b.add_switch(36), 20);
  for (unsigned i = 0; i < 4; ++i) b.link(SwitchId(0), SwitchId(1));
  b.assign();
  EXPECT_EQ(loads(b.graph, route_min_hop(b.graph), SwitchId(0)), std::vector<unsigned>(4, 5));
}

// Switches and systems that the LIDs of each host pass first, seen from another leaf.
void expect_spread(const Builder& b, std::size_t switches, std::size_t systems) {
  const Routing routing = route_min_hop(b.graph);
  for (const EndPortId host : b.hosts) {
    const EndPort& port = b.graph.at(host);
    for (std::uint32_t leaf = 0; leaf < 4; ++leaf) {
      if (port.attached.sw == SwitchId(leaf)) continue;
      std::set<SwitchId> next;
      std::set<Guid> next_systems;
      for (unsigned offset = 0; offset < port.lids(); ++offset) {
        const std::uint8_t out = routing.tables.at(SwitchId(leaf)).linear.port(port.lid(offset));
        next.insert(b.graph.at(SwitchPort{SwitchId(leaf), out}).peer.sw);
        next_systems.insert(b.graph.at(b.graph.at(SwitchPort{SwitchId(leaf), out}).peer.sw).system_image);
      }
      ASSERT_EQ(next.size(), switches);
      ASSERT_EQ(next_systems.size(), systems);
    }
  }
}

TEST(MinHop, SendsTheLidsOfOnePortByDifferentSwitches) {
  expect_spread(testing::two_level_tree(4, 4, 5, 2), 4, 4);
}

TEST(MinHop, SendsTheLidsOfOnePortByDifferentSystemsFirst) {
  expect_spread(testing::two_level_tree(4, 8, 5, 1, 4), 2, 2);
  expect_spread(testing::two_level_tree(4, 6, 5, 2, 3), 4, 2);
}

TEST(MinHop, BalancesWithSeveralLidsAPortAsWell) {
  const Builder b = testing::two_level_tree(4, 4, 5, 3);
  const Routing routing = route_min_hop(b.graph);
  EXPECT_TRUE(check_routes(b.graph, routing.tables).all_reach());
  for (std::uint32_t leaf = 0; leaf < 4; ++leaf) {
    EXPECT_EQ(loads(b.graph, routing, SwitchId(leaf)), std::vector<unsigned>(4, 30));
  }
}

TEST(MinHop, KeepsRoutesThatAreAsGoodAsBefore) {
  Builder b = testing::two_level_tree(6, 4, 6);
  const Routing before = route_min_hop(b.graph);
  EXPECT_TRUE(difference(before.tables, route_min_hop(b.graph, {&before.tables}).tables).empty());
  b.graph.disconnect({SwitchId(0), 7});  // to spine 6
  const Routing after = route_min_hop(b.graph, {&before.tables});
  EXPECT_TRUE(check_routes(b.graph, after.tables, EndPorts::adapters).all_reach());
  for (const EndPortId host : b.hosts) {
    const EndPort& port = b.graph.at(host);
    for (std::uint32_t leaf = 1; leaf < 6; ++leaf) {
      if (port.attached.sw == SwitchId(0)) continue;
      EXPECT_EQ(before.tables.at(SwitchId(leaf)).linear.port(port.base_lid),
                after.tables.at(SwitchId(leaf)).linear.port(port.base_lid));
    }
    EXPECT_NE(after.tables.at(SwitchId(0)).linear.port(port.base_lid), 7);
  }
}

// The same fabric, found the other way round.
TEST(MinHop, DoesNotDependOnTheOrderOfDiscovery) {
  Graph graphs[2];
  for (int backwards = 0; backwards < 2; ++backwards) {
    Graph& graph = graphs[backwards];
    const auto number = [&](std::uint64_t i) { return backwards != 0 ? 5 - i : i; };
    for (std::uint64_t i = 0; i < 6; ++i) {
      Switch sw;
      sw.guid = sw.port_guid = sw.system_image = Guid(number(i) + 1);
      sw.ports = 12;
      EndPort host;
      host.guid = Guid(number(i) + 100);
      const SwitchId id = graph.add_switch(sw).value();
      const EndPortId port = graph.add_end_port(host).value();
      ASSERT_TRUE(graph.connect({id, 1}, port));
      ASSERT_TRUE(graph.set_lids(graph.at(id).port0, Lid(static_cast<std::uint16_t>(number(i) + 1)), 0));
      ASSERT_TRUE(graph.set_lids(port, Lid(static_cast<std::uint16_t>(number(i) + 10)), 0));
    }
    for (std::uint64_t i = 0; i < 6; ++i) {  // a ring with its chords
      for (const unsigned step : {1U, 2U}) {
        const SwitchId from = graph.find_switch(Guid(i + 1));
        const SwitchId to = graph.find_switch(Guid((i + step) % 6 + 1));
        const auto out = static_cast<std::uint8_t>(step * 2);
        ASSERT_TRUE(graph.connect({from, out}, SwitchPort{to, static_cast<std::uint8_t>(out + 1)}));
      }
    }
  }
  const Routing first = route_min_hop(graphs[0]);
  const Routing second = route_min_hop(graphs[1]);
  for (std::uint64_t guid = 1; guid <= 6; ++guid) {
    EXPECT_TRUE(changed_blocks(first.tables.at(graphs[0].find_switch(Guid(guid))).linear,
                               second.tables.at(graphs[1].find_switch(Guid(guid))).linear)
                    .empty());
  }
}

TEST(MinHop, HasNoRouteWhereThereIsNoWay) {
  Builder b = testing::ring(4);
  b.graph.disconnect(b.graph.at(SwitchPort{SwitchId(0), 2}).peer);
  b.graph.set_link(b.graph.at(b.hosts[2]).attached, {0, PortState::down});
  b.graph.set_link({SwitchId(0), 3}, {0, PortState::down});
  const Routing routing = route_min_hop(b.graph);
  EXPECT_EQ(routing.hops.hops(SwitchId(0), SwitchId(1)), kUnreachable);
  EXPECT_EQ(routing.tables.at(SwitchId(0)).linear.port(b.graph.at(b.hosts[1]).base_lid), kNoRoute);
  EXPECT_EQ(routing.tables.at(SwitchId(1)).linear.port(b.graph.at(b.hosts[2]).base_lid), kNoRoute);
  EXPECT_NE(routing.tables.at(SwitchId(1)).linear.port(b.graph.at(b.hosts[3]).base_lid), kNoRoute);
}

// A byte holds 254 hops; beyond, there is no route rather than a wrong one.
TEST(MinHop, GivesUpBeyondTwoHundredFiftyFourLinks) {
  Builder b;
  for (unsigned i = 0; i < 300; ++i) b.add_hosts(b.add_switch(4), 1);
  for (unsigned i = 0; i + 1 < 300; ++i) b.link(SwitchId(i), SwitchId(i + 1));
  b.assign();
  const Routing routing = route_min_hop(b.graph);
  EXPECT_EQ(routing.hops.hops(SwitchId(0), SwitchId(254)), 254);
  for (std::uint32_t far = 255; far < 300; ++far) {
    EXPECT_EQ(routing.hops.hops(SwitchId(0), SwitchId(far)), kUnreachable);
    EXPECT_EQ(routing.hops.hops(SwitchId(far), SwitchId(0)), kUnreachable);
  }
  const RouteReport report = check_routes(b.graph, routing.tables);
  EXPECT_EQ(report.ends[static_cast<std::size_t>(RouteEnd::loop)], 0U);
  EXPECT_GT(report.ends[static_cast<std::size_t>(RouteEnd::no_entry)], 0U);
}

TEST(MinHop, IgnoresCablesFromASwitchToItself) {
  Builder b = testing::ring(3);
  b.link(SwitchId(0), SwitchId(0));
  const Routing routing = route_min_hop(b.graph);
  EXPECT_TRUE(check_routes(b.graph, routing.tables).all_reach());
}

TEST(MinHop, OfNothingIsNothing) {
  EXPECT_EQ(route_min_hop(Graph()).tables.switches(), 0U);
  Builder b;
  b.add_hosts(b.add_switch(8), 2);
  b.assign();
  EXPECT_TRUE(check_routes(b.graph, route_min_hop(b.graph).tables).all_reach());
}

// 17,280 ports of switches. Work is counted, not timed: a search from each switch and a look at the ports of
// each for each other, and for each LID the ports that lead to it.
TEST(MinHop, RoutesAFabricOfTenThousandPortsInBoundedWork) {
  const Builder b = testing::three_level_tree(24);
  const std::uint64_t switches = b.graph.switches().size();
  const std::uint64_t ports = b.graph.port_count();
  EXPECT_EQ(switches, 720U);
  EXPECT_EQ(b.hosts.size(), 3456U);
  EXPECT_GT(ports, 10000U);
  const Routing routing = route_min_hop(b.graph);
  EXPECT_LE(routing.steps, 2 * switches * ports + switches * b.graph.end_ports().size() * 12);
  const RouteReport report = check_routes(b.graph, routing.tables, EndPorts::adapters);
  EXPECT_TRUE(report.all_reach());
  ASSERT_EQ(report.by_hops.size(), 5U);  // 0, 2 or 4 links between switches
  EXPECT_EQ(report.by_hops[2], 3456U * 12 * 11);
}

}  // namespace
}  // namespace softrnic::subnet
