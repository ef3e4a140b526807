#include "fabric/topology_shapes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace softrnic::fabric {
namespace {

struct ShapeCounts {
  const char* specification;
  std::size_t switches, hosts, cables;
  std::size_t diameter;  ///< cables between the two hosts that are farthest from each other
};

Topology made(std::string_view specification) {
  auto topology = make_topology(specification);
  EXPECT_TRUE(topology.has_value()) << specification << ": " << topology.error();
  return topology ? std::move(*topology) : Topology();
}

/// Cables on the shortest way from a node to each other one.
std::vector<std::size_t> distances(const Topology& topology, std::uint32_t from) {
  std::vector<std::size_t> distance(topology.nodes().size(), SIZE_MAX);
  std::vector<std::uint32_t> queue{from};
  distance[from] = 0;
  for (std::size_t next = 0; next < queue.size(); ++next) {
    for (const Port& port : topology.nodes()[queue[next]].ports) {
      if (!port.peer || distance[port.peer->node.value] != SIZE_MAX) continue;
      distance[port.peer->node.value] = distance[queue[next]] + 1;
      queue.push_back(port.peer->node.value);
    }
  }
  return distance;
}

std::size_t diameter(const Topology& topology) {
  std::size_t most = 0;
  for (std::uint32_t from = 0; from < topology.nodes().size(); ++from) {
    if (topology.nodes()[from].type == NodeType::switch_node) continue;
    const auto distance = distances(topology, from);
    for (std::uint32_t to = 0; to < distance.size(); ++to) {
      if (topology.nodes()[to].type != NodeType::switch_node) most = std::max(most, distance[to]);
    }
  }
  return most;
}

std::size_t degree(const Node& node) {
  return static_cast<std::size_t>(std::count_if(node.ports.begin(), node.ports.end(),
                                                [](const Port& port) { return port.peer.has_value(); }));
}

std::string shape_trouble(std::string_view specification) {
  const auto topology = make_topology(specification);
  return topology ? "" : topology.error();
}

// Numbers by the formulas of the shapes: k-ary fat tree 5k²/4 switches, k³/4 hosts, 3k³/4 cables; dragonfly
// a(ah+1) switches, each with (a-1)/2 + h/2 cables of its own; a torus of d dimensions d cables a switch.
TEST(Shapes, HaveTheCountsOfTheirFormulas) {
  const std::array table = {
      ShapeCounts{"", 3, 4, 6, 4},
      ShapeCounts{"fat-tree", 3, 4, 6, 4},
      ShapeCounts{"fat-tree:k=2", 5, 2, 6, 6},
      ShapeCounts{"fat-tree:k=4", 20, 16, 48, 6},
      ShapeCounts{"fat-tree:k=8", 80, 128, 384, 6},
      ShapeCounts{"fat-tree:k=4,hosts=1", 20, 8, 40, 6},
      ShapeCounts{"fat-tree:648", 54, 648, 1296, 4},
      ShapeCounts{"fat-tree:648,hosts=9", 54, 324, 972, 4},
      ShapeCounts{"fat-tree:leaves=36,spines=18,hosts=18", 54, 648, 1296, 4},
      ShapeCounts{"fat-tree:leaves=18,spines=9,hosts=18,links=2", 27, 324, 648, 4},
      ShapeCounts{"ring:6", 6, 6, 12, 5},
      ShapeCounts{"ring:7,hosts=3", 7, 21, 28, 5},
      ShapeCounts{"torus", 16, 16, 48, 6},
      ShapeCounts{"torus:4x4x4", 64, 64, 256, 8},
      ShapeCounts{"torus:5x3,hosts=2", 15, 30, 60, 5},
      ShapeCounts{"torus:2x2", 4, 4, 8, 4},
      ShapeCounts{"mesh:4x4", 16, 16, 40, 8},
      ShapeCounts{"mesh:2x2x2", 8, 8, 20, 5},
      ShapeCounts{"mesh:5", 5, 5, 9, 6},
      ShapeCounts{"dragonfly", 36, 72, 72 + 54 + 36, 5},
      ShapeCounts{"dragonfly:a=2,p=1,h=1", 6, 6, 6 + 3 + 3, 5},
      ShapeCounts{"dragonfly:a=1,p=1,h=4", 5, 5, 5 + 10, 3},
      ShapeCounts{"star:8", 1, 8, 8, 2},
      ShapeCounts{"star:254", 1, 254, 254, 2},
      ShapeCounts{"pair", 0, 2, 1, 1},
  };
  for (const ShapeCounts& row : table) {
    const Topology topology = made(row.specification);
    EXPECT_EQ(topology.count(NodeType::switch_node), row.switches) << row.specification;
    EXPECT_EQ(topology.count(NodeType::channel_adapter), row.hosts) << row.specification;
    EXPECT_EQ(topology.cables().size(), row.cables) << row.specification;
    EXPECT_EQ(diameter(topology), row.diameter) << row.specification;
  }
}

TEST(Shapes, OfFullTreesUseEveryPort) {
  for (const char* full : {"fat-tree:k=4", "fat-tree:k=6", "fat-tree:648", "fat-tree:32"}) {
    const Topology topology = made(full);
    for (const Node& node : topology.nodes()) EXPECT_EQ(degree(node), node.port_count()) << full << node.name;
  }
}

TEST(Shapes, HaveTheSameDegreeAtEverySwitchWhereTheyAreRegular) {
  const std::map<std::string, std::size_t> degrees = {
      {"ring:9", 3}, {"torus:3x4x5,hosts=2", 8}, {"torus:2x4", 4}, {"dragonfly:a=6,p=3,h=3", 11}};
  for (const auto& [specification, wanted] : degrees) {
    const Topology topology = made(specification);
    for (const Node& node : topology.nodes()) {
      if (node.type == NodeType::switch_node) {
        EXPECT_EQ(degree(node), wanted) << specification << node.name;
      }
    }
  }
}

// In a k-ary fat tree the core switches reach each pod exactly once, by different aggregation switches.
TEST(Shapes, CoreSwitchesOfAFatTreeReachEachPodOnce) {
  const Topology topology = made("fat-tree:k=6");
  for (const Node& node : topology.nodes()) {
    if (!node.name.starts_with("core")) continue;
    std::set<std::string> pods;
    for (std::size_t port = 1; port < node.ports.size(); ++port) {
      const std::string& peer = topology.node(node.ports[port].peer->node).name;
      ASSERT_TRUE(peer.starts_with("aggregation-"));
      pods.insert(peer.substr(0, peer.rfind('-')));
    }
    EXPECT_EQ(pods.size(), 6U) << node.name;
  }
}

TEST(Shapes, GroupsOfADragonflyAreJoinedOnceInTheAbsoluteArrangement) {
  const Topology topology = made("dragonfly:a=3,p=1,h=2");
  const auto group_of = [&](NodeIndex node) {
    const std::string& name = topology.node(node).name;  // switch-GROUP-I
    return name.substr(7, name.rfind('-') - 7);
  };
  std::multiset<std::pair<std::string, std::string>> pairs;
  for (const Cable& cable : topology.cables()) {
    const bool of_host = topology.node(cable.b.node).type != NodeType::switch_node;
    if (of_host || group_of(cable.a.node) == group_of(cable.b.node)) continue;
    pairs.insert(std::minmax(group_of(cable.a.node), group_of(cable.b.node)));
  }
  EXPECT_EQ(pairs.size(), 7U * 6 / 2);
  EXPECT_EQ(std::set(pairs.begin(), pairs.end()).size(), pairs.size());
  // Group 3: its cables 0, 1 | 2, 3 | 4, 5 lead to the groups 0, 1 | 2, 4 | 5, 6; behind host and two peers.
  const NodeIndex second = *topology.find("switch-3-1");
  EXPECT_EQ(group_of(topology.peer({second, 4})->node), "2");
  EXPECT_EQ(group_of(topology.peer({second, 5})->node), "4");
}

TEST(Shapes, PutHostsAtTheFirstPorts) {
  const Topology topology = made("fat-tree");
  EXPECT_EQ(topology.peer({*topology.find("leaf2"), 1})->node, *topology.find("host3"));
  EXPECT_EQ(topology.peer({*topology.find("leaf2"), 3}), (PortAddress{*topology.find("spine1"), 2}));
}

TEST(Shapes, TakeRatesAndPortsFromTheOptions) {
  const Topology topology = made("star:4,width=2x,speed=hdr,ports=36");
  const Node& sw = topology.node(*topology.find("switch1"));
  EXPECT_EQ(sw.port_count(), 36U);
  EXPECT_EQ(sw.ports[36].rate, (LinkRate{LinkWidth::x2, LinkSpeed::hdr}));
  EXPECT_EQ(topology.link_rate({*topology.find("host1"), 1}), (LinkRate{LinkWidth::x2, LinkSpeed::hdr}));
  EXPECT_EQ(made("star:4").node(NodeIndex(0)).port_count(), 4U);
  EXPECT_EQ(made("pair").link_rate({NodeIndex(0), 1}), (LinkRate{LinkWidth::x4, LinkSpeed::edr}));
}

TEST(Shapes, TheTableIsTrue) {
  for (const Shape& shape : topology_shapes()) {
    const Topology by_name = made(shape.name), standard = made(shape.standard);
    EXPECT_TRUE(std::equal(by_name.nodes().begin(), by_name.nodes().end(), standard.nodes().begin(),
                           standard.nodes().end()))
        << shape.name;
    EXPECT_TRUE(shape.syntax.starts_with(shape.name));
    EXPECT_FALSE(shape.sentence.empty());
  }
  EXPECT_EQ(common_shape_options().size(), 3U);
}

TEST(Shapes, SayWhatIsWrongAndWhatIsAllowed) {
  struct Wrong {
    const char* specification;
    const char* says;
  };
  const std::array table = {
      Wrong{"cube:3", "fat-tree, ring, torus, mesh, dragonfly, star, pair"},
      Wrong{"Ring:6", "no shape"},
      Wrong{"ring:2", "from 3 to"},
      Wrong{"ring:six", "expected a number"},
      Wrong{"ring:", ""},
      Wrong{"ring:6,", "missing after the last comma"},
      Wrong{"ring:6,,hosts=2", "NAME=VALUE"},
      Wrong{"ring:6,7", "NAME=VALUE"},
      Wrong{"ring:6,switches=7", "switches is given twice"},
      Wrong{"ring:6,leaves=2", "it has switches, hosts, width, speed and ports"},
      Wrong{"ring:6,hosts=0", "from 1 to 254"},
      Wrong{"ring:6,hosts=", "from 1 to 254"},
      Wrong{"ring:6,hosts=99999999999999999999", "from 1 to 254"},
      Wrong{"ring:6,hosts=-1", "from 1 to 254"},
      Wrong{"ring:6,hosts=2,hosts=2", "twice"},
      Wrong{"ring:6,width=3x", "1x, 2x, 4x, 8x, 12x"},
      Wrong{"ring:6,speed=XDR", "SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR"},
      Wrong{"ring:6,width=4x,width=4x", "twice"},
      Wrong{"ring:6,speed=EDR,speed=EDR", "twice"},
      Wrong{"ring:6,ports=2", "needs 3 ports; ports= gives it 2"},
      Wrong{"ring:6,ports=255", "from 1 to 254"},
      Wrong{"ring:6,ports=9,ports=9", "twice"},
      Wrong{"ring:3,hosts=253", "needs 255 ports; a switch has at most 254"},
      Wrong{"ring:40000", "49151"},
      Wrong{"torus:4x", "with x between"},
      Wrong{"torus:x4", "with x between"},
      Wrong{"torus:4x1", "with x between"},
      Wrong{"torus:2x2x2x2x2x2x2", "1 to 6"},
      Wrong{"torus:49151x49151x49151x49151x49151x49151", "49151"},
      Wrong{"mesh:200x200x2,hosts=254", "49151"},
      Wrong{"fat-tree:k=3", "even"},
      Wrong{"fat-tree:k=58", "49151"},
      Wrong{"fat-tree:k=4,hosts=3", "2 ports for hosts"},
      Wrong{"fat-tree:k=4,leaves=2", "not several"},
      Wrong{"fat-tree:648,k=4", "not several"},
      Wrong{"fat-tree:648,spines=4", "not several"},
      Wrong{"fat-tree:100", "half the square"},
      Wrong{"fat-tree:leaves=254,spines=2,links=2", "spine switch would need 508"},
      Wrong{"fat-tree:leaves=2,spines=200,hosts=55", "leaf switch would need 255"},
      Wrong{"fat-tree:leaves=254,spines=4,hosts=200", "49151"},
      Wrong{"dragonfly:4", "NAME=VALUE"},
      Wrong{"dragonfly:a=254,p=254,h=254", "49151"},
      Wrong{"star:255", "from 1 to 254"},
      Wrong{"pair,ports=2", "there is none"},
      Wrong{"pair:ports=2", "there is none"},
      Wrong{"pair:2", "NAME=VALUE"},
  };
  for (const Wrong& row : table) {
    const std::string what = shape_trouble(row.specification);
    EXPECT_EQ(what.empty(), std::string_view(row.says).empty()) << row.specification << ": " << what;
    EXPECT_NE(what.find(row.says), std::string::npos) << row.specification << ": " << what;
  }
}

TEST(Shapes, GoUpToTheLidsOfASubnet) {
  const Topology topology = made("fat-tree:k=56");
  EXPECT_EQ(topology.lid_count(), 56U * 56 * 56 / 4 + 5 * 28 * 28);
  EXPECT_LE(topology.lid_count(), Topology::kMaxLids);
}

}  // namespace
}  // namespace softrnic::fabric
