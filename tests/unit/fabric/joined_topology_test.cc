#include "fabric/joined_topology.h"

#include <gtest/gtest.h>

#include "fabric/topology_shapes.h"

namespace softrnic::fabric {
namespace {

TEST(JoinedTopology, SparePortsAreAtTheLastSwitch) {
  const Topology before = *make_topology("star:2");
  EXPECT_TRUE(free_switch_ports(before, 9).empty());
  const auto after = with_spare_ports(before, 3);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->node(*after->find("switch1")).port_count(), 5U);
  EXPECT_EQ(after->cables().size(), before.cables().size());
  const auto spare = free_switch_ports(*after, 2);
  ASSERT_EQ(spare.size(), 2U) << "no more than were asked for";
  EXPECT_EQ(spare[0].port, 3);
  EXPECT_EQ(after->port(spare[0])->rate, before.port({spare[0].node, 1})->rate);
}

TEST(JoinedTopology, PortsThatAreThereAreTaken) {
  const auto roomy = with_spare_ports(*make_topology("star:2,ports=6"), 5);
  ASSERT_TRUE(roomy);
  EXPECT_EQ(roomy->node(*roomy->find("switch1")).port_count(), 7U);
  EXPECT_EQ(with_spare_ports(*roomy, 3)->node(*roomy->find("switch1")).port_count(), 7U);
}

TEST(JoinedTopology, ASwitchHas254PortsAtMost) {
  const auto full = with_spare_ports(*make_topology("star:250"), 8);
  ASSERT_TRUE(full);
  EXPECT_EQ(free_switch_ports(*full, 99).size(), 4U);
}

TEST(JoinedTopology, WithoutASwitchThereIsNoPlace) {
  EXPECT_FALSE(with_spare_ports(*make_topology("pair"), 1));
}

TEST(JoinedTopology, NamesAndGuidsMeetThoseOfNoOtherFabric) {
  const Topology first = *make_topology("");
  Topology all = first;
  for (std::uint8_t index = 1; index <= kMostJoinedFabrics; ++index) {
    const auto joined = as_joined(first, index);
    ASSERT_TRUE(joined) << joined.error();
    EXPECT_EQ(joined->cables().size(), first.cables().size());
    for (Node node : joined->nodes()) {
      EXPECT_EQ(node.description, node.name);
      for (Port& port : node.ports) port.peer.reset();
      EXPECT_TRUE(all.add(node)) << node.name;
    }
  }
  EXPECT_TRUE(as_joined(first, 1)->find("b-host1"));
  EXPECT_TRUE(as_joined(first, 15)->find("p-spine1"));
}

TEST(JoinedTopology, ANameThatGetsTooLongIsRefused) {
  Topology topology;
  ASSERT_TRUE(topology.add(make_node(NodeType::switch_node, std::string(63, 's'), 2, Guid(1), {})));
  EXPECT_FALSE(as_joined(topology, 1));
}

}  // namespace
}  // namespace softrnic::fabric
