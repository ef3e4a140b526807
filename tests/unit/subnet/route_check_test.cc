#include "subnet/route_check.h"

#include <gtest/gtest.h>

#include "subnet/min_hop.h"
#include "tests/unit/subnet/topologies.h"

namespace softrnic::subnet {
namespace {

using testing::Builder;

std::uint64_t count(const RouteReport& report, RouteEnd end) {
  return report.ends[static_cast<std::size_t>(end)];
}

// A chain of three switches with a host each: host at port 1, then the neighbours.
class RouteCheckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (unsigned i = 0; i < 3; ++i) b.add_hosts(b.add_switch(4), 1);
    b.link(SwitchId(0), SwitchId(1));
    b.link(SwitchId(1), SwitchId(2));
    b.assign();
    tables = route_min_hop(b.graph).tables;
  }
  LinearForwardingTable& table(std::uint32_t sw) { return tables.at(SwitchId(sw)).linear; }
  Lid lid(unsigned host) { return b.graph.at(b.hosts[host]).base_lid; }
  Route trace(unsigned from, unsigned to) { return trace_route(b.graph, tables, b.hosts[from], lid(to)); }

  Builder b;
  ForwardingTables tables;
};

TEST_F(RouteCheckTest, ShowsEachSwitchWithThePortsOfThePacket) {
  const Route route = trace(0, 2);
  EXPECT_EQ(route.end, RouteEnd::reached);
  EXPECT_EQ(route.hops, (std::vector<Hop>{{SwitchId(0), 1, 2}, {SwitchId(1), 2, 3}, {SwitchId(2), 2, 1}}));
  EXPECT_EQ(to_string(b.graph, route),
            "switch 0x0000000000001000: in by port 1, out by port 2\n"
            "switch 0x0000000000001001: in by port 2, out by port 3\n"
            "switch 0x0000000000001002: in by port 2, out by port 1\n"
            "reached");
}

TEST_F(RouteCheckTest, EndsAtPortZeroOfASwitch) {
  const EndPort& own = b.graph.at(b.graph.at(SwitchId(1)).port0);
  const Route route = trace_route(b.graph, tables, b.hosts[0], own.base_lid);
  EXPECT_EQ(route.end, RouteEnd::reached);
  EXPECT_EQ(route.hops.back(), (Hop{SwitchId(1), 2, 0}));
  const Route back = trace_route(b.graph, tables, b.graph.at(SwitchId(1)).port0, lid(0));
  EXPECT_EQ(back.hops.front(), (Hop{SwitchId(1), 0, 2}));
}

TEST_F(RouteCheckTest, NamesWhatIsWrong) {
  table(1).set(lid(2), kNoRoute);
  EXPECT_EQ(trace(0, 2).end, RouteEnd::no_entry);
  EXPECT_EQ(trace(0, 2).hops.back(), (Hop{SwitchId(1), 2, kNoRoute}));
  table(1).set(lid(2), 4);  // nothing is plugged in
  EXPECT_EQ(trace(0, 2).end, RouteEnd::no_link);
  table(1).set(lid(2), 200);  // the switch has four ports
  EXPECT_EQ(trace(0, 2).end, RouteEnd::no_link);
  table(1).set(lid(2), 1);
  EXPECT_EQ(trace(0, 2).end, RouteEnd::wrong_end_port);
  table(1).set(lid(2), 0);
  EXPECT_EQ(trace(0, 2).end, RouteEnd::wrong_end_port);
  table(1).set(lid(2), 2);
  EXPECT_EQ(trace(0, 2).end, RouteEnd::loop);
  EXPECT_EQ(trace(0, 2).hops.size(), 2U);
  EXPECT_EQ(trace_route(b.graph, tables, b.hosts[0], Lid(0x1234)).end, RouteEnd::no_such_lid);
  EXPECT_EQ(trace_route(b.graph, tables, b.hosts[0], Lid(0xc001)).end, RouteEnd::no_such_lid);
}

TEST_F(RouteCheckTest, NeedsLinksThatAreUp) {
  b.graph.set_link({SwitchId(1), 3}, {0, PortState::down});
  EXPECT_EQ(trace(0, 2).end, RouteEnd::no_link);
  b.graph.set_link(b.graph.at(b.hosts[0]).attached, {0, PortState::down});
  EXPECT_EQ(trace(0, 1).end, RouteEnd::unattached);
  EXPECT_EQ(trace(1, 0).end, RouteEnd::no_link);
  EXPECT_EQ(check_routes(b.graph, tables, EndPorts::adapters).routes, 2U);
}

TEST_F(RouteCheckTest, CountsAllRoutes) {
  const RouteReport good = check_routes(b.graph, tables);
  EXPECT_TRUE(good.all_reach());
  EXPECT_EQ(good.routes, 30U);  // six end ports
  EXPECT_EQ(good.by_hops, (std::vector<std::uint64_t>{6, 16, 8}));
  EXPECT_TRUE(good.broken.empty());
  EXPECT_EQ(check_routes(b.graph, tables, EndPorts::adapters).by_hops, (std::vector<std::uint64_t>{0, 4, 2}));
}

TEST_F(RouteCheckTest, TellsWhichAreBroken) {
  table(1).set(lid(2), 2);
  const RouteReport report = check_routes(b.graph, tables, EndPorts::adapters);
  EXPECT_FALSE(report.all_reach());
  EXPECT_EQ(report.routes, 6U);
  EXPECT_EQ(count(report, RouteEnd::loop), 2U);
  EXPECT_EQ(count(report, RouteEnd::reached), 4U);
  ASSERT_EQ(report.broken.size(), 2U);
  EXPECT_EQ(report.broken[0].from, SwitchId(0));
  EXPECT_EQ(report.broken[0].destination, lid(2));
  EXPECT_EQ(report.broken[0].end, RouteEnd::loop);
}

// The report and the traces are two programs; they must agree, also on tables of noise.
TEST(RouteCheck, AgreesWithTracesOnAnyTables) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    const Builder b = testing::random_graph(seed, 12, 10);
    std::mt19937 random(seed);
    ForwardingTables tables(b.graph);
    for (std::uint32_t sw = 0; sw < tables.switches(); ++sw) {
      for (std::uint16_t lid = 1; lid <= b.graph.top_lid().value; ++lid) {
        tables.at(SwitchId(sw)).linear.set(Lid(lid), static_cast<std::uint8_t>(random() % 12));
      }
    }
    std::array<std::uint64_t, kRouteEnds> ends{};
    for (std::uint32_t source = 0; source < b.graph.end_ports().size(); ++source) {
      for (std::uint16_t lid = 1; lid <= b.graph.top_lid().value; ++lid) {
        const EndPortId owner = b.graph.owner_of(Lid(lid));
        if (owner == kNoEndPort || owner == EndPortId(source)) continue;
        ++ends[static_cast<std::size_t>(trace_route(b.graph, tables, EndPortId(source), Lid(lid)).end)];
      }
    }
    EXPECT_EQ(check_routes(b.graph, tables).ends, ends) << seed;
  }
}

}  // namespace
}  // namespace softrnic::subnet
