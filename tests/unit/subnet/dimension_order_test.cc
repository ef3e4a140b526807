#include "subnet/dimension_order.h"

#include <gtest/gtest.h>

#include "subnet/deadlock_check.h"
#include "subnet/route_check.h"
#include "tests/unit/subnet/topologies.h"

namespace softrnic::subnet {
namespace {

using testing::Builder;

// Cabled by dimension: all links along x have lower port numbers than those along y.
Builder mesh(unsigned width, unsigned height) {
  Builder b;
  for (unsigned i = 0; i < width * height; ++i) b.add_hosts(b.add_switch(16), 2);
  for (unsigned i = 0; i < width * height; ++i) {
    if (i % width + 1 < width) b.link(SwitchId(i), SwitchId(i + 1));
  }
  for (unsigned i = 0; i + width < width * height; ++i) b.link(SwitchId(i), SwitchId(i + width));
  b.assign();
  return b;
}

TEST(DimensionOrder, GoesAlongXFirst) {
  const Builder b = mesh(4, 4);
  const Routing routing = route_dimension_order(b.graph);
  const Route route = trace_route(b.graph, routing.tables, b.hosts[0], b.graph.at(b.hosts[31]).base_lid);
  std::vector<std::uint32_t> path;
  for (const Hop& hop : route.hops) path.push_back(hop.sw.value);
  EXPECT_EQ(path, (std::vector<std::uint32_t>{0, 1, 2, 3, 7, 11, 15}));
}

TEST(DimensionOrder, HasNoDeadlockInAMesh) {
  const Builder b = mesh(5, 4);
  const Routing routing = route_dimension_order(b.graph);
  EXPECT_TRUE(check_routes(b.graph, routing.tables).all_reach());
  EXPECT_TRUE(find_deadlock(b.graph, routing.tables, {EndPorts::adapters_and_switches, {}, 15, {}}).empty());
}

TEST(DimensionOrder, HasNoDeadlockInAHypercube) {
  Builder b;
  for (unsigned i = 0; i < 32; ++i) b.add_hosts(b.add_switch(8), 1);
  for (unsigned dimension = 0; dimension < 5; ++dimension) {
    for (unsigned i = 0; i < 32; ++i) {
      if ((i >> dimension & 1) == 0) b.link(SwitchId(i), SwitchId(i | 1U << dimension));
    }
  }
  b.assign();
  const Routing routing = route_dimension_order(b.graph);
  EXPECT_TRUE(check_routes(b.graph, routing.tables).all_reach());
  EXPECT_TRUE(find_deadlock(b.graph, routing.tables).empty());
}

TEST(DimensionOrder, StillHasADeadlockInATorus) {
  const Builder b = testing::torus(5, 5);
  EXPECT_FALSE(find_deadlock(b.graph, route_dimension_order(b.graph).tables).empty());
}

TEST(DimensionOrder, BalancesLinksBetweenTheSameSwitches) {
  Builder b;
  b.add_hosts(b.add_switch(16), 1);
  b.add_hosts(b.add_switch(16), 8);
  b.link(SwitchId(0), SwitchId(1));
  b.link(SwitchId(0), SwitchId(1));
  b.assign();
  const Routing routing = route_dimension_order(b.graph);
  unsigned by_first = 0;
  for (unsigned i = 1; i <= 8; ++i) {
    by_first += routing.tables.at(SwitchId(0)).linear.port(b.graph.at(b.hosts[i]).base_lid) == 2 ? 1 : 0;
  }
  EXPECT_EQ(by_first, 4U);
}

}  // namespace
}  // namespace softrnic::subnet
