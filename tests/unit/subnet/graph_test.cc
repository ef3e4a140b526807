#include "subnet/graph.h"

#include <gtest/gtest.h>

namespace softrnic::subnet {
namespace {

Switch switch_of(std::uint64_t guid, std::uint8_t ports = 4) {
  Switch description;
  description.guid = Guid(guid);
  description.port_guid = Guid(guid + 0x100);
  description.ports = ports;
  return description;
}

EndPort adapter_of(std::uint64_t guid) {
  EndPort description;
  description.guid = Guid(guid);
  return description;
}

class GraphTest : public ::testing::Test {
 protected:
  Graph graph;
  SwitchId a = graph.add_switch(switch_of(1)).value();
  SwitchId b = graph.add_switch(switch_of(2)).value();
  EndPortId host = graph.add_end_port(adapter_of(9)).value();
};

TEST_F(GraphTest, ASwitchIsReachedThroughItsPortZero) {
  const EndPortId own = graph.at(a).port0;
  EXPECT_EQ(graph.at(own).attached, (SwitchPort{a, 0}));
  EXPECT_EQ(graph.at(own).type, NodeType::switch_node);
  EXPECT_TRUE(graph.is_attached(own));
  EXPECT_EQ(graph.find_end_port(Guid(0x101)), own);
  EXPECT_EQ(graph.find_switch(Guid(1)), a);
  EXPECT_EQ(graph.find_switch(Guid(3)), kNoSwitch);
}

TEST_F(GraphTest, LinksAreSeenFromBothEnds) {
  ASSERT_TRUE(graph.connect({a, 2}, SwitchPort{b, 4}, {100000, PortState::active}));
  EXPECT_EQ(graph.at(SwitchPort{a, 2}).peer, (SwitchPort{b, 4}));
  EXPECT_EQ(graph.at(SwitchPort{b, 4}).peer, (SwitchPort{a, 2}));
  EXPECT_EQ(graph.at(SwitchPort{b, 4}).link.rate_mbps, 100000U);
  std::vector<std::uint8_t> ports;
  graph.for_each_neighbour(a, [&](std::uint8_t port, SwitchPort peer) {
    ports.push_back(port);
    EXPECT_EQ(peer.sw, b);
  });
  EXPECT_EQ(ports, std::vector<std::uint8_t>{2});
  graph.set_link({b, 4}, {0, PortState::down});
  graph.for_each_neighbour(a, [&](std::uint8_t, SwitchPort) { FAIL() << "the link is down"; });
  graph.disconnect({b, 4});
  EXPECT_EQ(graph.at(SwitchPort{a, 2}).peer.sw, kNoSwitch);
}

TEST_F(GraphTest, RefusesWhatNoFabricHas) {
  EXPECT_EQ(graph.add_switch(switch_of(1)).error(), GraphError::duplicate_guid);
  EXPECT_EQ(graph.add_switch(switch_of(3, 0)).error(), GraphError::bad_port_count);
  EXPECT_EQ(graph.add_switch(switch_of(3, 255)).error(), GraphError::bad_port_count);
  EXPECT_EQ(graph.add_end_port(adapter_of(9)).error(), GraphError::duplicate_guid);
  EXPECT_EQ(graph.connect({a, 0}, SwitchPort{b, 1}).error(), GraphError::no_such_port);
  EXPECT_EQ(graph.connect({a, 5}, SwitchPort{b, 1}).error(), GraphError::no_such_port);
  EXPECT_EQ(graph.connect({kNoSwitch, 1}, SwitchPort{b, 1}).error(), GraphError::no_such_port);
  EXPECT_EQ(graph.connect({a, 1}, SwitchPort{a, 1}).error(), GraphError::port_taken);
  EXPECT_EQ(graph.connect({a, 1}, kNoEndPort).error(), GraphError::no_such_port);
  ASSERT_TRUE(graph.connect({a, 1}, host));
  EXPECT_EQ(graph.connect({a, 1}, SwitchPort{b, 1}).error(), GraphError::port_taken);
  EXPECT_EQ(graph.connect({b, 1}, host).error(), GraphError::port_taken);
  EXPECT_EQ(graph.connect({b, 1}, graph.at(a).port0).error(), GraphError::port_taken);
  EXPECT_EQ(graph.switches().size(), 2U);
  EXPECT_EQ(graph.end_ports().size(), 3U);
}

TEST_F(GraphTest, LidsBelongToTheirPort) {
  ASSERT_TRUE(graph.set_lids(host, Lid(8), 2));
  for (std::uint16_t lid = 8; lid < 12; ++lid) EXPECT_EQ(graph.owner_of(Lid(lid)), host);
  EXPECT_EQ(graph.owner_of(Lid(12)), kNoEndPort);
  EXPECT_EQ(graph.top_lid(), Lid(11));
  ASSERT_TRUE(graph.set_lids(host, Lid(4), 0));
  EXPECT_EQ(graph.owner_of(Lid(8)), kNoEndPort);
  EXPECT_EQ(graph.top_lid(), Lid(4));
  ASSERT_TRUE(graph.set_lids(host, Lid(), 0));
  EXPECT_EQ(graph.top_lid(), Lid());
  EXPECT_EQ(graph.at(host).lids(), 0U);
}

// A sweep may find the same LID twice; when one of the two gets another, the other still has it.
TEST_F(GraphTest, AnothersLidIsNotTakenAway) {
  ASSERT_TRUE(graph.set_lids(host, Lid(5), 0));
  ASSERT_TRUE(graph.set_lids(graph.at(a).port0, Lid(5), 0));
  ASSERT_TRUE(graph.set_lids(host, Lid(6), 0));
  EXPECT_EQ(graph.owner_of(Lid(5)), graph.at(a).port0);
}

TEST_F(GraphTest, RefusesLidsThatAreNotLegal) {
  EXPECT_EQ(graph.set_lids(host, Lid(6), 2).error(), GraphError::bad_lid);
  EXPECT_EQ(graph.set_lids(host, Lid(0x100), 8).error(), GraphError::bad_lid);
  EXPECT_EQ(graph.set_lids(host, Lid(0x100), 255).error(), GraphError::bad_lid);
  EXPECT_EQ(graph.set_lids(host, Lid(0xc000), 0).error(), GraphError::bad_lid);
  EXPECT_EQ(graph.set_lids(host, Lid(0xffff), 0).error(), GraphError::bad_lid);
  EXPECT_TRUE(graph.set_lids(host, Lid(0xbf80), 7));
}

}  // namespace
}  // namespace softrnic::subnet
