#include "fabric/topology.h"

#include <gtest/gtest.h>

namespace softrnic::fabric {
namespace {

Node adapter(std::string name, std::uint64_t guid, unsigned ports = 1) {
  return make_node(NodeType::channel_adapter, std::move(name), ports, Guid(guid), LinkRate());
}
Node a_switch(std::string name, std::uint64_t guid, unsigned ports = 4) {
  return make_node(NodeType::switch_node, std::move(name), ports, Guid(guid), LinkRate());
}

/// Why the node is refused, by a topology that has "there" with the GUIDs 100, 101 and 102.
std::string refusal_of(const Node& node) {
  Topology topology;
  EXPECT_TRUE(topology.add(adapter("there", 100, 2)).has_value());
  const auto added = topology.add(node);
  EXPECT_EQ(topology.nodes().size(), added ? 2U : 1U);
  return added ? "" : added.error();
}

bool refuses(const Node& node, std::string_view why) {
  return refusal_of(node).find(why) != std::string::npos;
}

TEST(LinkRate, IsNamedAsTheToolsDo) {
  EXPECT_EQ(to_string(LinkRate{LinkWidth::x12, LinkSpeed::fdr10}), "12xFDR10");
  EXPECT_EQ(parse_link_rate("4xHDR"), (LinkRate{LinkWidth::x4, LinkSpeed::hdr}));
  EXPECT_EQ(parse_link_rate("2Xndr"), (LinkRate{LinkWidth::x2, LinkSpeed::ndr}));
  for (const char* wrong : {"", "x", "4x", "EDR", "3xEDR", "4xXDR", "4xEDRR", " 4xEDR"})
    EXPECT_FALSE(parse_link_rate(wrong)) << wrong;
  for (const LinkWidthRow& width : kLinkWidths) {
    for (const LinkSpeedRow& speed : kLinkSpeeds) {
      const LinkRate rate{width.width, speed.speed};
      EXPECT_EQ(parse_link_rate(to_string(rate)), rate);
    }
  }
}

// The figures that "4X" links are sold by: 8, 16, 32, 40, 54, 100, 200 and 400 Gb/s.
TEST(LinkRate, HasTheDataRateOfItsLanes) {
  const std::array gigabits = {8U, 16U, 32U, 40U, 54U, 100U, 200U, 400U};
  for (const LinkSpeedRow& row : kLinkSpeeds) {
    EXPECT_EQ(megabits_per_second({LinkWidth::x4, row.speed}) / 1000,
              gigabits[static_cast<std::size_t>(row.speed)]);
    EXPECT_EQ(&row_of(row.speed), &row);
  }
  EXPECT_EQ(megabits_per_second({LinkWidth::x2, LinkSpeed::hdr}), 100'000U);
}

TEST(LinkRate, OfALinkIsTheLowerOfBothInEachRespect) {
  const LinkRate wide{LinkWidth::x8, LinkSpeed::sdr}, fast{LinkWidth::x2, LinkSpeed::edr};
  EXPECT_EQ(lower(wide, fast), (LinkRate{LinkWidth::x2, LinkSpeed::sdr}));
  EXPECT_EQ(lower(fast, wide), lower(wide, fast));
}

TEST(Topology, MadeNodesHaveTheirGuids) {
  const Node ca = adapter("h", 0x10, 2);
  EXPECT_EQ(ca.port_count(), 2U);
  EXPECT_EQ(ca.ports[1].guid, Guid(0x11));
  EXPECT_EQ(ca.ports[2].guid, Guid(0x12));
  const Node sw = a_switch("s", 0x20);
  EXPECT_EQ(sw.ports[0].guid, Guid(0x20));
  EXPECT_EQ(sw.ports[1].guid, Guid());
  EXPECT_EQ(sw.system_image_guid, Guid(0x20));
}

TEST(Topology, FindsNodesPortsAndPeers) {
  Topology topology;
  const NodeIndex host = *topology.add(adapter("host", 0x10, 2));
  const NodeIndex sw = *topology.add(a_switch("switch", 0x20));
  ASSERT_TRUE(topology.connect({host, 2}, {sw, 3}).has_value());
  EXPECT_EQ(topology.find("switch"), sw);
  EXPECT_EQ(topology.find("Switch"), std::nullopt);
  EXPECT_EQ(topology.find(Guid(0x12)), host);
  EXPECT_EQ(topology.find(Guid(0x13)), std::nullopt);
  EXPECT_EQ(topology.peer({sw, 3}), (PortAddress{host, 2}));
  EXPECT_EQ(topology.peer({host, 2}), (PortAddress{sw, 3}));
  EXPECT_EQ(topology.peer({host, 1}), std::nullopt);
  EXPECT_EQ(topology.peer({NodeIndex(7), 1}), std::nullopt);
  EXPECT_NE(topology.port({sw, 0}), nullptr);
  EXPECT_EQ(topology.port({host, 0}), nullptr);
  EXPECT_EQ(topology.port({sw, 5}), nullptr);
  EXPECT_EQ(topology.count(NodeType::switch_node), 1U);
  EXPECT_EQ(topology.port_count(), 6U);
  EXPECT_EQ(topology.lid_count(), 3U);
  EXPECT_EQ(topology.cables().size(), 1U);
  EXPECT_EQ(topology.node(host).description, "host");
}

TEST(Topology, ALinkHasTheLowerRate) {
  Topology topology;
  Node slow = adapter("slow", 0x10);
  slow.ports[1].rate = {LinkWidth::x1, LinkSpeed::qdr};
  const NodeIndex host = *topology.add(slow), sw = *topology.add(a_switch("switch", 0x20));
  EXPECT_EQ(topology.link_rate({sw, 1}), std::nullopt);
  ASSERT_TRUE(topology.connect({sw, 1}, {host, 1}).has_value());
  EXPECT_EQ(topology.link_rate({sw, 1}), (LinkRate{LinkWidth::x1, LinkSpeed::qdr}));
}

TEST(Topology, RefusesCablesThatCannotBe) {
  Topology topology;
  const NodeIndex host = *topology.add(adapter("host", 0x10, 2)),
                  sw = *topology.add(a_switch("switch", 0x20));
  ASSERT_TRUE(topology.connect({host, 1}, {sw, 1}).has_value());
  const std::array wrong = {Cable{{host, 1}, {sw, 2}},           // has one
                            Cable{{host, 2}, {sw, 1}},           // the other has one
                            Cable{{sw, 2}, {sw, 2}},             // to itself
                            Cable{{sw, 0}, {host, 2}},           // port 0
                            Cable{{host, 0}, {sw, 2}},           // an adapter has no port 0 at all
                            Cable{{host, 3}, {sw, 2}},           // no such port
                            Cable{{sw, 2}, {host, 255}},         //
                            Cable{{sw, 2}, {NodeIndex(9), 1}}};  // no such node
  for (const Cable& cable : wrong) {
    const auto made = topology.connect(cable.a, cable.b);
    ASSERT_FALSE(made.has_value());
    EXPECT_FALSE(made.error().empty());
  }
  EXPECT_EQ(topology.cables().size(), 1U);
  EXPECT_EQ(topology.peer({sw, 2}), std::nullopt);
  EXPECT_TRUE(topology.connect({sw, 2}, {sw, 3}).has_value());  // a loop between two ports of a switch can be
}

TEST(Topology, RefusesNamesThatAreTakenOrCannotBeWritten) {
  EXPECT_EQ(refusal_of(adapter("new", 200)), "");
  EXPECT_EQ(refusal_of(adapter(std::string(64, 'n'), 200)), "");
  EXPECT_TRUE(refuses(adapter("there", 200), "another node"));
  for (const std::string& name :
       {std::string(), std::string(65, 'n'), std::string("a\"b"), std::string("a#b"), std::string("a@b"),
        std::string("a\nb"), std::string("a\0b", 3)})
    EXPECT_NE(refusal_of(adapter(name, 200)), "") << name;
  Node described = adapter("new", 200);
  described.description = std::string(65, 'd');
  EXPECT_TRUE(refuses(described, "description"));
  described.description = "two\nlines";
  EXPECT_TRUE(refuses(described, "description"));
}

TEST(Topology, RefusesGuidsThatAreTaken) {
  EXPECT_TRUE(refuses(adapter("new", 0), "GUID 0"));
  EXPECT_TRUE(refuses(adapter("new", 100), "\"there\""));
  EXPECT_TRUE(refuses(adapter("new", 102), "\"there\""));  // of a port
  EXPECT_TRUE(refuses(adapter("new", 99), "\"there\""));   // its port's is taken
  Node twice = adapter("new", 200, 2);
  twice.ports[2].guid = twice.ports[1].guid;
  EXPECT_TRUE(refuses(twice, "one GUID"));
  Node none = adapter("new", 200);
  none.ports[1].guid = Guid();
  EXPECT_TRUE(refuses(none, "GUID 0"));
  Node shared = adapter("new", 200);  // as adapters of one port often have it
  shared.ports[1].guid = Guid(200);
  EXPECT_EQ(refusal_of(shared), "");
}

TEST(Topology, RefusesLmcsWhereThereIsNoLid) {
  Node host = adapter("new", 200);
  host.ports[1].lmc = 7;
  EXPECT_EQ(refusal_of(host), "");
  host.ports[1].lmc = 8;
  EXPECT_TRUE(refuses(host, "at most 7"));
  Node sw = a_switch("new", 200);
  sw.ports[0].lmc = 1;
  EXPECT_TRUE(refuses(sw, "enhanced"));
  sw.enhanced_port0 = true;
  EXPECT_EQ(refusal_of(sw), "");
  sw.ports[1].lmc = 1;
  EXPECT_TRUE(refuses(sw, "no LID"));
}

TEST(Topology, RefusesNumbersOfPortsThatNodesDoNotHave) {
  EXPECT_EQ(refusal_of(a_switch("new", 200, 254)), "");
  EXPECT_TRUE(refuses(a_switch("new", 200, 255), "1 to 254"));
  EXPECT_TRUE(refuses(a_switch("new", 200, 0), "1 to 254"));
  Node bare = a_switch("new", 200);
  bare.ports.clear();
  EXPECT_TRUE(refuses(bare, "1 to 254"));
  Node joined = a_switch("new", 200);
  joined.ports[1].peer = PortAddress{};
  EXPECT_NE(refusal_of(joined), "");
}

TEST(Topology, HasNoMoreLidsThanASubnet) {
  Topology topology;
  Node big = adapter("big", 1, 254);
  for (std::size_t port = 1; port <= 254; ++port) big.ports[port].lmc = 7;
  ASSERT_TRUE(topology.add(big).has_value());
  EXPECT_EQ(topology.lid_count(), 254U * 128U);
  Node more = adapter("more", 0x1000, 130);
  for (std::size_t port = 1; port <= 130; ++port) more.ports[port].lmc = 7;
  const auto added = topology.add(more);
  ASSERT_FALSE(added.has_value());
  EXPECT_NE(added.error().find("49151 LIDs"), std::string::npos);
  more.ports.resize(130);  // 129 ports: 49,024 LIDs in all
  EXPECT_TRUE(topology.add(more).has_value());
  EXPECT_TRUE(topology.add(adapter("rest", 0x2000, 127)).has_value());
  EXPECT_EQ(topology.lid_count(), Topology::kMaxLids);
  EXPECT_FALSE(topology.add(adapter("one", 0x3000)).has_value());
}

TEST(Topology, HasNoMorePortsThanItSays) {
  Topology topology;
  std::uint64_t number = 1;
  while (topology.add(a_switch("s" + std::to_string(number), number, 254)).has_value()) ++number;
  EXPECT_EQ(number - 1, Topology::kMaxPorts / 254);
}

}  // namespace
}  // namespace softrnic::fabric
