#include "fabric/ibsim_format.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fabric/topology_shapes.h"

namespace softrnic::fabric {
namespace {

Topology topology_from(std::string_view text) {
  auto topology = read_ibsim(text);
  EXPECT_TRUE(topology.has_value()) << to_string(topology.error());
  return topology ? std::move(*topology) : Topology();
}

const Node& node_named(const Topology& topology, std::string_view name) {
  const auto found = topology.find(name);
  EXPECT_TRUE(found.has_value()) << name;
  static const Node none = make_node(NodeType::switch_node, "none", 254, Guid(), LinkRate());
  return found ? topology.node(*found) : none;
}

std::string peer(const Topology& topology, std::string_view name, std::uint8_t port) {
  const auto found = topology.peer({*topology.find(name), port});
  return found ? topology.node(found->node).name + ":" + std::to_string(found->port) : "";
}

std::string ibsim_trouble(std::string_view text) {
  const auto topology = read_ibsim(text);
  return topology ? "" : to_string(topology.error());
}

void expect_same(const Topology& a, const Topology& b) {
  ASSERT_EQ(a.nodes().size(), b.nodes().size());
  for (std::size_t i = 0; i < a.nodes().size(); ++i)
    EXPECT_EQ(a.nodes()[i], b.nodes()[i]) << a.nodes()[i].name;
}

// Two switches with two cables between them, and two adapters, as in the files that come with ibsim.
constexpr std::string_view kSmallTopology = R"(# two paths
Switch 8 "left"
[1] "alpha"[1]
[3] "right"[3]
# a comment does not end a node
[5] "right"[5]

Switch 8 "right"
[3] "left"[3]
[5] "left"[5]
[1] "beta" [2]

Hca 2 "alpha"
[1] "left"

Ca  2 "beta"   # "host beta mlx4_0"
[2] "right"[1])";

TEST(IbsimReader, ReadsNodesAndCables) {
  const Topology topology = topology_from(kSmallTopology);
  EXPECT_EQ(topology.count(NodeType::switch_node), 2U);
  EXPECT_EQ(topology.count(NodeType::channel_adapter), 2U);
  EXPECT_EQ(topology.cables().size(), 4U);
  EXPECT_EQ(node_named(topology, "left").port_count(), 8U);
  EXPECT_EQ(peer(topology, "left", 5), "right:5");
  EXPECT_EQ(peer(topology, "alpha", 1), "left:1");  // port 1 when none is said
  EXPECT_EQ(peer(topology, "beta", 2), "right:1");
  EXPECT_EQ(peer(topology, "beta", 1), "");
  EXPECT_EQ(node_named(topology, "beta").description, "host beta mlx4_0");
  EXPECT_EQ(node_named(topology, "left").description, "left");
}

TEST(IbsimReader, NumbersGuidsAsIbsimDoes) {
  const Topology topology = topology_from(kSmallTopology);
  EXPECT_EQ(node_named(topology, "left").guid, Guid(0x200000));
  EXPECT_EQ(node_named(topology, "right").guid, Guid(0x200001));
  EXPECT_EQ(node_named(topology, "alpha").guid, Guid(0x100000));
  EXPECT_EQ(node_named(topology, "alpha").ports[2].guid, Guid(0x100002));
  EXPECT_EQ(node_named(topology, "beta").guid, Guid(0x100003));
  EXPECT_EQ(node_named(topology, "beta").system_image_guid, Guid(0x100003));
}

TEST(IbsimReader, WithoutAWordLinksAre4xSdr) {
  const Topology topology = topology_from(kSmallTopology);
  EXPECT_EQ(node_named(topology, "left").ports[1].rate, (LinkRate{LinkWidth::x4, LinkSpeed::sdr}));
  EXPECT_EQ(node_named(topology, "left").ports[8].rate, (LinkRate{LinkWidth::x4, LinkSpeed::sdr}));
}

TEST(IbsimReader, TakesTheNumbersAboveANode) {
  const Topology topology = topology_from(
      "switchguid=0x2c903(2c903)\nvendid=0x2c9\ndevid=0x1003\nsysimgguid=0x2c900\nSwitch 4 \"a\"\n\n"
      "Switch 4 \"b\"\n\nswitchguid+16\nSwitch 4 \"c\"\n\n"
      "caguid=4096\nCa 1 \"d\"\n\nhcaguids=0x2000\nHca 1 \"e\"\n\nrtguid=0x5000\nRt 2 \"f\"\n\n");
  const Node& a = node_named(topology, "a");
  EXPECT_EQ(a.guid, Guid(0x2c903));
  EXPECT_EQ(a.vendor_id, 0x2c9U);
  EXPECT_EQ(a.device_id, 0x1003U);
  EXPECT_EQ(a.system_image_guid, Guid(0x2c900));
  const Node& b = node_named(topology, "b");  // vendor and image are said again, the device stays
  EXPECT_EQ(b.guid, Guid(0x2c904));
  EXPECT_EQ(b.vendor_id, 0U);
  EXPECT_EQ(b.device_id, 0x1003U);
  EXPECT_EQ(b.system_image_guid, Guid(0x2c904));
  EXPECT_EQ(node_named(topology, "c").guid, Guid(0x2c913));
  EXPECT_EQ(node_named(topology, "d").guid, Guid(4096));
  EXPECT_EQ(node_named(topology, "e").guid, Guid(0x2000));
  EXPECT_EQ(node_named(topology, "f").guid, Guid(0x5000));
  EXPECT_EQ(node_named(topology, "f").type, NodeType::router);
}

TEST(IbsimReader, TakesTheBestOfTheMasks) {
  const Topology topology = topology_from(
      "Switch 8 \"s\"\n[1] \"s\"[2] w=12\n[2] \"s\"[1]\tw=1 s=2\n\nwidth=16\nspeed=7\nextspeed=3\n"
      "Switch 8 \"t\"\n[1] \"t\"[2] e=15 w=0x1f\n[2] \"t\"[1] s=0 e=0\n[3] \"t\"[4] s=1 e=0\n[4] \"t\"[3] "
      "e=4\n\n");
  const auto rate = [&](std::string_view name, std::size_t port) {
    return to_string(node_named(topology, name).ports[port].rate);
  };
  EXPECT_EQ(rate("s", 1), "12xSDR");
  EXPECT_EQ(rate("s", 2), "1xDDR");
  EXPECT_EQ(rate("t", 1), "12xNDR");
  EXPECT_EQ(rate("t", 2), "2xQDR");
  EXPECT_EQ(rate("t", 3), "2xSDR");
  EXPECT_EQ(rate("t", 4), "2xHDR");
  EXPECT_EQ(rate("t", 8), "2xEDR");
}

TEST(IbsimReader, TakesWhatIbnetdiscoverPutsIntoComments) {
  const Topology topology = topology_from(
      "Switch 4 \"s\" # core switch enhanced port 0 lid 7 lmc 2\n[1] \"h\"[1](abc) # \"node 1 \"x\"\" lid 4 "
      "4xFDR10\n\n"
      "Ca 1 \"h\" # \"node 1\"\n[1](abc)  \"s\"[1] # lid 4 lmc 3 \"core switch\" lid 7 1xQDR s=4 w=1 v=4\n");
  EXPECT_EQ(node_named(topology, "s").description, "core switch");
  EXPECT_TRUE(node_named(topology, "s").enhanced_port0);
  EXPECT_EQ(node_named(topology, "s").ports[0].lmc, 2);
  EXPECT_EQ(to_string(node_named(topology, "s").ports[1].rate), "4xFDR10");
  EXPECT_EQ(to_string(node_named(topology, "h").ports[1].rate), "1xQDR");
  EXPECT_EQ(node_named(topology, "h").ports[1].lmc, 3);
  EXPECT_EQ(node_named(topology, "h").ports[1].guid, Guid(0xabc));
}

TEST(IbsimReader, GivesOtherGuidsToPortsWhereTheUsualOnesAreTaken) {
  const Topology topology = topology_from(
      "caguid=0x10\nCa 2 \"a\"\n\ncaguid=0x11\nCa 1 \"b\"\n\nSwitch 2 \"s\"\n[1] \"c\"[1](13)\n\n"
      "caguid=0x20\nCa 2 \"c\"\n[1] \"s\"[1]\n");
  EXPECT_EQ(node_named(topology, "c").ports[1].guid, Guid(0x13));  // as its peer tells
  EXPECT_NE(node_named(topology, "a").ports[1].guid, Guid(0x11));  // b has it
  EXPECT_EQ(node_named(topology, "a").ports[2].guid, Guid(0x12));
  EXPECT_NE(node_named(topology, "b").ports[1].guid, Guid(0x12));
}

TEST(IbsimReader, PutsModulesBeforeNames) {
  const Topology topology = topology_from(
      "module=\"one\"\nSwitch 4 \"s\"\n[1] \"h\"[1]\n[2] \"two#s\"[2]\n\nCa 1 \"h\"\n[1] \"s\"[1]\n\n"
      "module=\"two\"\nSwitch 4 \"s\"\n[2] \"one#s\"[2]\n\nmodule=\"\"\nSwitch 2 \"s\"\n\n");
  EXPECT_EQ(peer(topology, "one.s", 1), "one.h:1");
  EXPECT_EQ(peer(topology, "two.s", 2), "one.s:2");
  EXPECT_TRUE(topology.find("s").has_value());
}

TEST(IbsimReader, FollowsNamesOfPorts) {
  const Topology topology = topology_from(
      "Switch 4 \"s\"\n@[3] \"uplink\" w=1\n\nSwitch 4 \"t\"\n[4] \"@uplink\"\n\n"
      "module=\"m\"\nSwitch 4 \"s\"\n[1] \"m@later\"\n\nCa 1 \"h\"\n@[1] \"later\"\n\n");
  EXPECT_EQ(peer(topology, "t", 4), "s:3");
  EXPECT_EQ(peer(topology, "m.s", 1), "m.h:1");
  EXPECT_EQ(node_named(topology, "s").ports[3].rate.width, LinkWidth::x1);
}

TEST(IbsimReader, TakesLineEndsOfAnySystem) {
  std::string text(kSmallTopology);
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.insert(at, 1, '\r');
  expect_same(topology_from(text), topology_from(kSmallTopology));
}

struct WrongText {
  const char* text;
  const char* says;
};

template <std::size_t n>
void expect_troubles(const std::array<WrongText, n>& table) {
  for (const WrongText& row : table) {
    const std::string what = ibsim_trouble(row.text);
    EXPECT_NE(what.find(row.says), std::string::npos) << row.text << "\n" << what;
  }
}

TEST(IbsimReader, SaysWhereAndWhatIsWrongWithNodesAndSettings) {
  expect_troubles(std::array{
      WrongText{"", "no node is described"},
      WrongText{"# nothing\n\n", "no node is described"},
      WrongText{"Switch 8 \"s\"\nSwich 8 \"t\"\n", "line 2: \"Swich 8 \"t\"\": expected a node"},
      WrongText{"[1] \"s\"[1]\n", "line 1: a port, but there is no node"},
      WrongText{"Switch 8 \"s\"\n\n[1] \"s\"[2]\n", "line 3: a port, but there is no node"},
      WrongText{"Switch 8 s\n", "line 1: \"s\": expected the name"},
      WrongText{"Switch 8 \"s\n", "expected the name of the node in quotes"},
      WrongText{"Switch 8 \"\"\n", "expected the name"},
      WrongText{"Switch 8 \"s\" x\n", "expected # and a description"},
      WrongText{"Switch \"s\"\n", "from 1 to 254"},
      WrongText{"Switch 0 \"s\"\n", "from 1 to 254"},
      WrongText{"Switch 255 \"s\"\n", "from 1 to 254"},
      WrongText{"Switch 99999999999999999999999999 \"s\"\n", "from 1 to 254"},
      WrongText{"Switch 8 \"a#b\"\n", "module="},
      WrongText{"Switch 8 \"a\x01\"\n", "control character"},
      WrongText{"Switch 8 \"s\"\n\nCa 1 \"s\"\n", "line 3: \"s\" has been described already, in line 1"},
      WrongText{"switchguid=1\nSwitch 8 \"s\"\n\nswitchguid=1\nSwitch 8 \"t\"\n",
                "line 5: switch \"t\" has a GUID of \"s\""},
      WrongText{"switchguid=0\nSwitch 8 \"s\"\n", "line 2: switch \"s\" has the GUID 0"},
      WrongText{"switchguid 1\n", "expected = and a GUID"},
      WrongText{"switchguid=0x11111111111111111\n", "expected = and a GUID"},
      WrongText{"vendid=0x1000000\n", "at most 16777215"},
      WrongText{"devid=65536\n", "at most 65535"},
      WrongText{"width=32\n", "1 to 31"},
      WrongText{"width=256\n", "at most 255"},
      WrongText{"speed=8\n", "0 to 7"},
      WrongText{"extspeed=16\n", "0 to 15"},
      WrongText{"module=m\n", "in quotes"},
      WrongText{"module=\"123456789012345678901\"\n", "20 bytes"},
      WrongText{"include \"other\"\n", "put the text"},
      WrongText{"do Link\n", "console"},
  });
}

TEST(IbsimReader, SaysWhereAndWhatIsWrongWithPorts) {
  expect_troubles(std::array{
      WrongText{"Switch 8 \"s\"\n[0] \"s\"[1]\n", "line 2: \"[0] "},
      WrongText{"Switch 8 \"s\"\n[255] \"s\"[1]\n", "from 1 to 254"},
      WrongText{"Switch 8 \"s\"\n[18446744073709551617] \"s\"[1]\n", "from 1 to 254"},
      WrongText{"Switch 8 \"s\"\n[-1] \"s\"[1]\n", "from 1 to 254"},
      WrongText{"Switch 8 \"s\"\n[1\n", "from 1 to 254"},
      WrongText{"Switch 8 \"s\"\n[1] s[1]\n", "expected the name of the peer"},
      WrongText{"Switch 8 \"s\"\n[1] \"s\n", "expected the name of the peer"},
      WrongText{"Switch 8 \"s\"\n[1] \"s\"[2] w=32\n", "1 to 31"},
      WrongText{"Switch 8 \"s\"\n[1] \"s\"[2] x=1\n", "w (widths)"},
      WrongText{"Switch 8 \"s\"\n[1] \"s\"[2] w=\n", "expected a number"},
      WrongText{"Switch 8 \"s\"\n[1] \"s\"[2] width\n", "expected w=, s= or e="},
      WrongText{"Switch 8 \"s\"\n[1] \"s\"[2] # \"s\" lid 1 5xEDR\n", "as in 4xEDR"},
      WrongText{"Switch 8 \"s\"\n[1] \"s\"[2] # lid 1 lmc 8 \"s\"\n", "from 0 to 7"},
      WrongText{"Switch 8 \"s\"\n[9] \"s\"[2]\n", "line 2: port 9 of \"s\" does not exist: it has 8 ports"},
      WrongText{"Switch 8 \"s\"\n[1] \"s\"[9]\n",
                "line 2: port 1 of \"s\" leads to port 9 of \"s\", which does not exist"},
      WrongText{"Switch 8 \"s\"\n[1] \"s\"[1]\n", "line 2: port 1 of \"s\" cannot have a cable to itself"},
      WrongText{"Switch 8 \"s\"\n[1] \"s\"[2]\n[1] \"s\"[3]\n",
                "line 3: port 1 of \"s\" has been described already, in line 2"},
      WrongText{"Switch 8 \"s\"\n[1] \"t\"[2]\n",
                "line 2: port 1 of \"s\" leads to \"t\", which is not described"},
      WrongText{"Switch 8 \"s\"\n[1] \"s\"[2]\n", "no line for that port"},
      WrongText{"Switch 8 \"s\"\n[1] \"s\"[2]\n[2] \"s\"[3]\n[3] \"s\"[2]\n",
                "line 2: port 1 of \"s\" leads to port 2 of \"s\", but line 3"},
      WrongText{"Switch 8 \"s\"\n[1] \"@x\"\n", "line 2: \"@x\": expected a name that"},
      WrongText{"Switch 8 \"s\"\n@[1] \"x\"\n@[2] \"x\"\n",
                "line 3: \"x\" is the name of another port, see line 2"},
      WrongText{"Switch 8 \"s\"\n@[1] \"x\"\n[2] \"@x\"\n[3] \"@x\"\n",
                "line 4: port 1 of \"s\" has a cable already"},
  });
}

TEST(IbsimReader, RefusesLongLines) {
  EXPECT_NE(ibsim_trouble("Switch 8 \"s\"\n#\n" + std::string(1100, 'x')).find("line 3: this line is longer"),
            std::string::npos);
}

TEST(IbsimReader, DoesNotPassAnotherTextOnToATerminal) {
  EXPECT_EQ(ibsim_trouble("\x1b[31m").find('\x1b'), std::string::npos);
  EXPECT_LT(ibsim_trouble(std::string(1000, 'a')).size(), 400U);
}

TEST(IbsimWriter, WritesWhatTheReaderReads) {
  for (const char* shape : {"", "fat-tree:k=4,speed=NDR", "torus:3x3,width=12x,speed=QDR", "dragonfly",
                            "pair:speed=SDR", "star:3,width=2x,speed=HDR,ports=9"}) {
    const auto topology = make_topology(shape);
    ASSERT_TRUE(topology.has_value()) << topology.error();
    expect_same(topology_from(write_ibsim(*topology)), *topology);
  }
  expect_same(topology_from(write_ibsim(topology_from(kSmallTopology))), topology_from(kSmallTopology));
}

TEST(IbsimWriter, WritesEverythingThatTheFormatHas) {
  Topology topology;
  Node sw =
      make_node(NodeType::switch_node, "s.1", 4, Guid(0x2c9030000000001), {LinkWidth::x4, LinkSpeed::edr});
  sw.description = "a switch, # 1";
  sw.vendor_id = 0x2c9;
  sw.device_id = 0xcb20;
  sw.system_image_guid = Guid(0x77);
  sw.enhanced_port0 = true;
  sw.ports[0].lmc = 1;
  sw.ports[1].rate = {LinkWidth::x4, LinkSpeed::fdr10};
  sw.ports[2].rate = {LinkWidth::x8, LinkSpeed::ddr};
  Node ca =
      make_node(NodeType::channel_adapter, "h", 2, Guid(0x2c9030000000101), {LinkWidth::x4, LinkSpeed::edr});
  ca.ports[1].guid = ca.guid;
  ca.ports[1].lmc = 3;
  ca.ports[1].rate = {LinkWidth::x1, LinkSpeed::hdr};
  const Node router = make_node(NodeType::router, "r", 1, Guid(0x99), {LinkWidth::x4, LinkSpeed::edr});
  const NodeIndex s = *topology.add(sw), h = *topology.add(ca), r = *topology.add(router);
  ASSERT_TRUE(topology.connect({s, 1}, {h, 1}).has_value());
  ASSERT_TRUE(topology.connect({s, 2}, {r, 1}).has_value());
  const std::string text = write_ibsim(topology);
  const Topology again = topology_from(text);
  // The first port of the file speaks for those without a cable.
  EXPECT_EQ(to_string(node_named(again, "s.1").ports[4].rate), "4xQDR");
  EXPECT_EQ(to_string(node_named(again, "s.1").ports[1].rate), "4xFDR10");
  EXPECT_EQ(to_string(node_named(again, "s.1").ports[2].rate), "8xDDR");
  EXPECT_EQ(node_named(again, "h").ports[1], node_named(topology, "h").ports[1]);
  EXPECT_EQ(node_named(again, "r").ports[1], node_named(topology, "r").ports[1]);
  EXPECT_EQ(node_named(again, "s.1").ports[0], sw.ports[0]);
  sw.ports = node_named(again, "s.1").ports;
  EXPECT_EQ(node_named(again, "s.1"), sw) << text;
}

// 34 ports behind alpha's first one lies beta's second, and behind gamma's GUID what is given to ports whose
// usual GUID is taken, as that of alpha's third.
TEST(IbsimWriter, TellsGuidsThatPortsOfOtherNodesCouldTake) {
  const Topology topology = topology_from(R"(
switchguid=0xb0
Switch 8 "left"
[1] "alpha"[1]
[2] "beta"[2]
[3] "gamma"[1]
[4] "delta"[1]
caguid=0xa0
Ca 71 "alpha"
[1] "left"[1]
caguid=0xc0
Ca 2 "beta"
[2](c2) "left"[2]
caguid=0x2fefffffffffffff
Ca 1 "gamma"
[1](2ff000000000000) "left"[3]
caguid=0x1000
Ca 1 "delta"
[1](a3) "left"[4]
)");
  const Topology again = topology_from(write_ibsim(topology));
  EXPECT_EQ(node_named(again, "beta").ports[2].guid, Guid(0xc2));
  EXPECT_EQ(node_named(again, "gamma").ports[1].guid, Guid(0x2ff'0000'0000'0000));
  expect_same(topology, again);
}

TEST(IbsimWriter, WritesNothingForNothing) { EXPECT_EQ(write_ibsim(Topology()), ""); }

}  // namespace
}  // namespace softrnic::fabric
