#include "fabric/ibnetdiscover_format.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "fabric/ibsim_format.h"
#include "fabric/topology_shapes.h"

namespace softrnic::fabric {
namespace {

DiscoveredFabric fabric_from(std::string_view text) {
  auto fabric = read_ibnetdiscover(text);
  EXPECT_TRUE(fabric.has_value()) << to_string(fabric.error());
  return fabric ? std::move(*fabric) : DiscoveredFabric();
}

std::string ibnetdiscover_trouble(std::string_view text) {
  const auto fabric = read_ibnetdiscover(text);
  return fabric ? "" : to_string(fabric.error());
}

/// By its ID, such as "H-00000000000000a0".
std::optional<NodeIndex> find(const Topology& topology, std::string_view id) {
  return topology.find(Guid(std::stoull(std::string(id.substr(2)), nullptr, 16)));
}

const Node& node_with_id(const Topology& topology, std::string_view id) {
  const auto found = find(topology, id);
  EXPECT_TRUE(found.has_value()) << id;
  static const Node none = make_node(NodeType::switch_node, "none", 254, Guid(), LinkRate());
  return found ? topology.node(*found) : none;
}

/// One switch with an adapter, whose port GUID is that of the node, and a router.
constexpr std::string_view kSmallFabric =
    "#\n# Topology file: generated on Mon Jan  5 10:00:00 2026\n#\n"
    "# Initiated from node 00000000000000a0 port 00000000000000a0\n"
    "\nvendid=0x2c9\ndevid=0xd2f0\nsysimgguid=0xb0\nswitchguid=0xb0(b8)\n"
    "Switch\t41 \"S-00000000000000b0\"\t\t# \"MF0;leaf \"1\":MQM8700/U1\" enhanced port 0 lid 13 lmc 1\n"
    "[3]\t\"H-00000000000000a0\"[1](a0) \t\t# \"node1 mlx5_0\" lid 4 4xHDR\n"
    "[41]\t\"R-00000000000000c0\"[2](c2) \t\t# \"gateway\" lid 9 2xEDR\n"
    "\nvendid=0x2c9\ndevid=0x101b\nsysimgguid=0xa0\ncaguid=0xa0\n"
    "Ca\t1 \"H-00000000000000a0\"\t\t# \"node1 mlx5_0\"\n"
    "[1](a0) \t\"S-00000000000000b0\"[3]\t\t# lid 4 lmc 2 \"MF0;leaf \"1\":MQM8700/U1\" lid 13 4xHDR\n"
    "\nvendid=0x0\ndevid=0x0\nrtguid=0xc0\n"
    "Rt\t2 \"R-00000000000000c0\"\t\t# \"gateway\"\n"
    "[2](c2) \t\"S-00000000000000b0\"[41]\t\t# lid 9 lmc 0 \"MF0;leaf \"1\":MQM8700/U1\" lid 13 2xEDR\n";

TEST(IbnetdiscoverReader, ReadsWhatTheToolTells) {
  const DiscoveredFabric fabric = fabric_from(kSmallFabric);
  const Topology& topology = fabric.topology;
  const Node& leaf = node_with_id(topology, "S-00000000000000b0");
  EXPECT_EQ(leaf.type, NodeType::switch_node);
  EXPECT_EQ(leaf.port_count(), 41U);
  EXPECT_EQ(leaf.description, "MF0;leaf \"1\":MQM8700/U1");
  EXPECT_EQ(leaf.guid, Guid(0xb0));
  EXPECT_EQ(leaf.ports[0].guid, Guid(0xb8));
  EXPECT_EQ(leaf.vendor_id, 0x2c9U);
  EXPECT_EQ(leaf.device_id, 0xd2f0U);
  EXPECT_TRUE(leaf.enhanced_port0);
  EXPECT_EQ(leaf.ports[0].lmc, 1);
  EXPECT_EQ(to_string(leaf.ports[3].rate), "4xHDR");
  const Node& host = node_with_id(topology, "H-00000000000000a0");
  EXPECT_EQ(host.ports[1].guid, Guid(0xa0));
  EXPECT_EQ(host.ports[1].lmc, 2);
  const Node& router = node_with_id(topology, "R-00000000000000c0");
  EXPECT_EQ(router.type, NodeType::router);
  EXPECT_EQ(router.system_image_guid, Guid());
  EXPECT_EQ(router.ports[1].guid, Guid(0xc1));  // not told
  EXPECT_EQ(router.ports[2].guid, Guid(0xc2));
  const NodeIndex at = *topology.find(leaf.name);
  EXPECT_EQ(topology.peer({at, 41}), (PortAddress{*topology.find(router.name), 2}));
  EXPECT_EQ(fabric.lids.at({at, 0}), wire::Lid(13));
  EXPECT_EQ(fabric.lids.at({*topology.find(host.name), 1}), wire::Lid(4));
  EXPECT_EQ(fabric.lids.size(), 3U);
}

TEST(IbnetdiscoverReader, NodesAreNamedByWhatPeopleCallThem) {
  const Topology topology = fabric_from(kSmallFabric).topology;
  EXPECT_EQ(node_with_id(topology, "H-00000000000000a0").name, "node1 mlx5_0");
  EXPECT_EQ(node_with_id(topology, "R-00000000000000c0").name, "gateway");
  EXPECT_EQ(node_with_id(topology, "S-00000000000000b0").name, "S-00000000000000b0")
      << "a quote is in the other one";
  std::string twins(kSmallFabric);
  for (std::size_t at = 0; (at = twins.find("gateway", at)) != std::string::npos;)
    twins.replace(at, 7, "node1 mlx5_0");
  EXPECT_EQ(node_with_id(fabric_from(twins).topology, "H-00000000000000a0").name, "H-00000000000000a0");
}

TEST(IbnetdiscoverReader, OnlyPortsThatHaveALidAreToldToHaveOne) {
  const DiscoveredFabric fabric = fabric_from(
      "Switch 2 \"S-00000000000000b0\" # \"leaf\" base port 0 lid 3 lmc 0\n"
      "[1] \"H-00000000000000a0\"[1] # lid 7 lmc 0 \"host\" lid 4 4xHDR\n\n"
      "Ca 1 \"H-00000000000000a0\" # \"host\" base port 0 lid 9 lmc 0\n"
      "[1](a1) \"S-00000000000000b0\"[1] # lid 4 lmc 0 \"leaf\" lid 3 4xHDR\n");
  const LidMap lids{{{*find(fabric.topology, "S-00000000000000b0"), 0}, wire::Lid(3)},
                    {{*find(fabric.topology, "H-00000000000000a0"), 1}, wire::Lid(4)}};
  EXPECT_EQ(fabric.lids, lids);
}

TEST(IbnetdiscoverWriter, WritesWhatTheToolPrinted) {
  const DiscoveredFabric fabric = fabric_from(kSmallFabric);
  const PortAddress from{*find(fabric.topology, "H-00000000000000a0"), 1};
  EXPECT_EQ(write_ibnetdiscover(fabric.topology, fabric.lids, from, "Mon Jan  5 10:00:00 2026"),
            kSmallFabric);
}

TEST(IbnetdiscoverReader, NeedsNoLinesAboveANode) {
  const Topology topology = fabric_from(
                                "Switch 2 \"S-00000000000000b0\"\n[1] \"H-00000000000000a0\"[2](a8)\n\n"
                                "Ca 2 \"H-00000000000000a0\"\n[2] \"S-00000000000000b0\"[1]")
                                .topology;
  EXPECT_EQ(node_with_id(topology, "S-00000000000000b0").ports[0].guid, Guid(0xb0));
  EXPECT_EQ(node_with_id(topology, "S-00000000000000b0").description, "S-00000000000000b0");
  EXPECT_EQ(node_with_id(topology, "H-00000000000000a0").ports[2].guid,
            Guid(0xa8));  // told by the peer alone
  EXPECT_EQ(to_string(node_with_id(topology, "H-00000000000000a0").ports[2].rate), "4xSDR");
}

// The manual of ibnetdiscover shows a cable that is 4x at one end and 1x at the other; "??" is the tool's
// too.
TEST(IbnetdiscoverReader, TakesRatesAsTheyAre) {
  const DiscoveredFabric fabric = fabric_from(
      "Switch 2 \"S-00000000000000b0\"\n[1] \"S-00000000000000b1\"[1] # \"b\" lid 6 4xQDR\n"
      "[2] \"S-00000000000000b1\"[2] # \"b\" lid 6 ???DR\n\n"
      "Switch 2 \"S-00000000000000b1\"\n[1] \"S-00000000000000b0\"[1] # \"a\" lid 3 1xEDR slot 3\n"
      "[2] \"S-00000000000000b0\"[2] # \"a\" lid 3 4x???\n");
  const NodeIndex a = *find(fabric.topology, "S-00000000000000b0");
  EXPECT_EQ(to_string(*fabric.topology.link_rate({a, 1})), "1xQDR");
  EXPECT_EQ(to_string(*fabric.topology.link_rate({a, 2})), "4xSDR");
}

// With -g: headings, external ports, and switches of a chassis once more.
TEST(IbnetdiscoverReader, ReadsGroupsToo) {
  const std::string line =
      "vendid=0x8f1\ndevid=0x5a37\nsysimgguid=0xee\t\t# Chassis 1 (big) slot 2\nswitchguid=0xb0(b0)\t# "
      "ISR2012 Line 3\n"
      "Switch\t24 \"S-00000000000000b0\"\t\t# \"line\" base port 0 lid 6 lmc 0\n"
      "[7][ext 5]\t\"H-00000000000000a0\"[1](a1) \t\t# \"host\" lid 4 4xDDR s=2 w=2 v=4\n"
      "[8]\t\"S-00000000000000b1\"[1][ext 12]\t\t# \"other\" lid 8 4xDDR\n";
  const std::string rest =
      "\nNon-Chassis Nodes\n\nswitchguid=0xb1(b1)\nSwitch\t2 \"S-00000000000000b1\"\t\t# \"other\" base port "
      "0 lid 8 lmc 0\n"
      "[1][ext 12]\t\"S-00000000000000b0\"[8]\t\t# \"line\" lid 6 4xDDR\n"
      "\ncaguid=0xa0\nCa\t1 \"H-00000000000000a0\"\t\t# \"host\" (scp)\n"
      "[1](a1) \t\"S-00000000000000b0\"[7][ext 5]\t\t# lid 4 lmc 0 \"line\" lid 6 4xDDR\n";
  const Topology topology = fabric_from("\nChassis 1 (guid 0xee)\nHostname: big\n\n# Line Nodes\n" + line +
                                        "\n# Chassis Switches\n" + line + rest)
                                .topology;
  EXPECT_EQ(topology.nodes().size(), 3U);
  EXPECT_EQ(topology.cables().size(), 2U);
  EXPECT_EQ(node_with_id(topology, "S-00000000000000b0").system_image_guid, Guid(0xee));
  std::string other = line;
  other.replace(other.find("[8]"), 3, "[9]");
  EXPECT_NE(ibnetdiscover_trouble(line + "\n" + other + rest).find("has been described otherwise in line 5"),
            std::string::npos);
}

TEST(IbnetdiscoverReader, SaysWhereAndWhatIsWrong) {
  struct Row {
    const char* text;
    const char* says;
  };
  const std::array table = {
      Row{"# nothing\n", "no node is described"},
      Row{"Switch 8 \"spine\"\n", "line 1: \"spine\": expected S- and a GUID of 16"},
      Row{"Ca 8 \"S-00000000000000b0\"\n", "expected H- and a GUID"},
      Row{"Switch 8 \"S-b0\"\n", "expected S- and a GUID"},
      Row{"Switch 8 \"S-00000000000000bg\"\n", "expected S- and a GUID"},
      Row{"Switch 8 \"S-0x000000000000b0\"\n", "expected S- and a GUID"},
      Row{"Switch 8 \"S-0000000000000000\"\n", "has the GUID 0"},
      Row{"switchguid=0xb1(b1)\nSwitch 8 \"S-00000000000000b0\"\n",
          "line 2: \"S-00000000000000b0\" is not the node"},
      Row{"caguid=0xb0\nSwitch 8 \"S-00000000000000b0\"\n", "is not the node"},
      Row{"switchguid=0xb0(b1\n", "in parentheses"},
      Row{"switchguid=b0\n", "expected = and a number"},
      Row{"sysimgguid=0x11111111111111111\n", "expected = and a number"},
      Row{"vendid=0x1000000\n", "at most 0xffffff"},
      Row{"devid=0x10000\n", "at most 0xffff"},
      Row{"width=4\n", "line 1: \"width=4\": expected what ibnetdiscover prints"},
      Row{"[1] \"S-00000000000000b0\"[1]\n", "no node above"},
      Row{"Switch 8 \"S-00000000000000b0\"\n@[1] \"x\"\n", "expected what ibnetdiscover prints"},
      Row{"Switch 8 \"S-00000000000000b0\"\n[1](b0 \"S-00000000000000b0\"[2]\n", "line 2: \"(b0 "},
      Row{"Switch 8 \"S-00000000000000b0\"\n[1] \"S-00000000000000b0\"[2] # \"x\" lid 1 4xXDR\n",
          "\"4xXDR\": expected"},
      Row{"Switch 8 \"S-00000000000000b0\" # \"x\" enhanced port 0 lid 3 lmc 8\n", "from 0 to 7"},
      Row{"Switch 8 \"S-00000000000000b0\" # \"x\" base port 0 lid 3 lmc 1\n", "enhanced"},
      Row{"Switch 2 \"S-00000000000000b0\"\n[1] \"H-00000000000000a0\"[1](a1)\n",
          "is not described anywhere"},
      Row{"Switch 2 \"S-00000000000000b0\"\n[1] \"H-00000000000000a0\"[1](a1)\n\nCa 1 "
          "\"H-00000000000000a0\"\n",
          "no line for that port"},
      Row{"Switch 2 \"S-00000000000000b0\"\n[1] \"H-00000000000000a0\"[1](a1)\n\nCa 1 "
          "\"H-00000000000000a0\"\n"
          "[1](a2) \"S-00000000000000b0\"[1]\n",
          "line 2: the GUID of port 1 of \"H-00000000000000a0\" is another one in line 5"},
      Row{"Switch 2 \"S-00000000000000b0\"\n[1] \"H-00000000000000a0\"[1](a1)\n\nCa 1 "
          "\"H-00000000000000a0\"\n"
          "[1](a1) \"S-00000000000000b0\"[2]\n",
          "but line 5 says that it leads to port 2"},
      Row{"Ca 2 \"H-00000000000000a0\"\n[1](a1) \"H-00000000000000a0\"[2](a1)\n[2](a1) "
          "\"H-00000000000000a0\"[1](a1)\n",
          "one GUID"},
  };
  for (const Row& row : table) {
    const std::string what = ibnetdiscover_trouble(row.text);
    EXPECT_NE(what.find(row.says), std::string::npos) << row.text << "\n" << what;
  }
}

/// LIDs as a subnet manager might give them: from 1 on, a whole 2^lmc for each.
LidMap numbered(const Topology& topology) {
  LidMap lids;
  std::uint16_t next = 1;
  for (std::uint32_t index = 0; index < topology.nodes().size(); ++index) {
    const Node& of = topology.nodes()[index];
    const bool is_switch = of.type == NodeType::switch_node;
    for (std::size_t port = is_switch ? 0 : 1; port < (is_switch ? 1 : of.ports.size()); ++port)
      lids.emplace(PortAddress{NodeIndex(index), static_cast<std::uint8_t>(port)}, wire::Lid(next++));
  }
  return lids;
}

TEST(IbnetdiscoverWriter, AllThatIsWrittenIsRead) {
  for (const char* shape :
       {"", "fat-tree:k=4,speed=NDR", "torus:3x3", "dragonfly:speed=FDR10", "pair:width=1x"}) {
    const Topology topology = *make_topology(shape);
    const LidMap lids = numbered(topology);
    const PortAddress from{*topology.find("host1"), 1};
    const std::string text = write_ibnetdiscover(topology, lids, from, "now");
    const DiscoveredFabric fabric = fabric_from(text);
    EXPECT_EQ(fabric.topology.nodes().size(), topology.nodes().size()) << shape;
    EXPECT_EQ(fabric.topology.cables().size(), topology.cables().size()) << shape;
    for (const Node& was : topology.nodes()) {
      const auto index = fabric.topology.find(was.guid);
      ASSERT_TRUE(index.has_value());
      Node is = fabric.topology.node(*index);
      EXPECT_EQ(is.description, was.name);
      is.name = was.name;
      for (std::size_t port = 0; port < was.ports.size(); ++port) {
        is.ports[port].peer = was.ports[port].peer;
        if (!was.ports[port].peer) is.ports[port].rate = was.ports[port].rate;  // not told
      }
      EXPECT_EQ(is, was) << shape;
    }
    for (const auto& [port, lid] : lids)
      EXPECT_EQ(fabric.lids.at({*fabric.topology.find(topology.node(port.node).guid), port.port}), lid);
  }
}

// Seen from a switch's port 0, from an adapter of two ports, and from nowhere.
TEST(IbnetdiscoverWriter, WritesWhatRoutesFromThePortReach) {
  const Topology topology = *read_ibsim(
      "Switch 4 \"a\"\n[1] \"h\"[1]\n[2] \"i\"[1]\n\nSwitch 4 \"b\"\n[1] \"h\"[2]\n\n"
      "Ca 2 \"h\"\n[1] \"a\"[1]\n[2] \"b\"[1]\n\nCa 1 \"i\"\n[1] \"a\"[2]\n\n");
  const auto from = [&](const char* name, std::uint8_t port) {
    return write_ibnetdiscover(topology, {}, {*topology.find(name), port}, "now");
  };
  const auto nodes_in = [](const std::string& text) {
    std::string ids;
    for (std::size_t at = 0; (at = text.find(" \"", at)) != std::string::npos; ++at) {
      if (text[at + 3] == '-') ids += text.substr(at + 2, 1) + text.substr(at + 19, 1) + " ";
    }
    return ids;
  };
  EXPECT_EQ(nodes_in(from("h", 1)), "S0 H3 H0 ");
  EXPECT_EQ(nodes_in(from("h", 2)), "S1 H0 ");
  EXPECT_EQ(nodes_in(from("a", 0)), "S0 H3 H0 ");
  EXPECT_EQ(from("h", 1).find("\n[2](100002)"), std::string::npos);  // that cable is not seen
  EXPECT_NE(from("b", 0).find("# Initiated from node 0000000000200001 port 0000000000200001\n"),
            std::string::npos);
  EXPECT_NE(from("h", 2).find("# Initiated from node 0000000000100000 port 0000000000100002\n"),
            std::string::npos);
  EXPECT_EQ(from("h", 3), "");
  EXPECT_EQ(from("h", 0), "");
}

// As Debian's ibnetdiscover 44.0 prints ibsim's small example: the order is that of its lists.
TEST(IbnetdiscoverWriter, PutsWhatWasFoundLastFirst) {
  const Topology topology = *read_ibsim(
      "Switch 8 \"Switch1\"\n[1] \"Hca1\"[1]\n[4] \"Hca2\"[1]\n\nHca 2 \"Hca1\"\n[1] \"Switch1\"[1]\n\n"
      "Hca 2 \"Hca2\"\n[1] \"Switch1\"[4]\n");
  EXPECT_EQ(write_ibnetdiscover(topology, {}, {*topology.find("Hca1"), 1}, "DATE"),
            "#\n# Topology file: generated on DATE\n#\n"
            "# Initiated from node 0000000000100000 port 0000000000100001\n"
            "\nvendid=0x0\ndevid=0x0\nsysimgguid=0x200000\nswitchguid=0x200000(200000)\n"
            "Switch\t8 \"S-0000000000200000\"\t\t# \"Switch1\" base port 0 lid 0 lmc 0\n"
            "[1]\t\"H-0000000000100000\"[1](100001) \t\t# \"Hca1\" lid 0 4xSDR\n"
            "[4]\t\"H-0000000000100003\"[1](100004) \t\t# \"Hca2\" lid 0 4xSDR\n"
            "\nvendid=0x0\ndevid=0x0\nsysimgguid=0x100003\ncaguid=0x100003\n"
            "Ca\t2 \"H-0000000000100003\"\t\t# \"Hca2\"\n"
            "[1](100004) \t\"S-0000000000200000\"[4]\t\t# lid 0 lmc 0 \"Switch1\" lid 0 4xSDR\n"
            "\nvendid=0x0\ndevid=0x0\nsysimgguid=0x100000\ncaguid=0x100000\n"
            "Ca\t2 \"H-0000000000100000\"\t\t# \"Hca1\"\n"
            "[1](100001) \t\"S-0000000000200000\"[1]\t\t# lid 0 lmc 0 \"Switch1\" lid 0 4xSDR\n");
}

TEST(IbnetdiscoverWriter, PrintsBlanksForWhatIsNotAscii) {
  Topology topology;
  Node host = make_node(NodeType::channel_adapter, "h", 1, Guid(0x10), {});
  host.description = "caf\xc3\xa9";
  const NodeIndex index = *topology.add(host);
  EXPECT_NE(write_ibnetdiscover(topology, {}, {index, 1}, "now").find("# \"caf  \"\n"), std::string::npos);
}

}  // namespace
}  // namespace softrnic::fabric
