#include "fabricd/path_trace.h"

#include <nlohmann/json.hpp>

#include "fabricd/multicast_trace.h"
#include "fabricd/trace_report.h"
#include "tests/unit/fabricd/running_fabric.h"

namespace softrnic::fabricd {
namespace {

std::string names(const RunningFabric& fabric, const PathTrace& trace) {
  std::string text;
  for (const PathHop& hop : trace.hops)
    text += fabric.state().topology.node(hop.node).name + "." + std::to_string(hop.out_port) + " ";
  return text + std::string(name_of(trace.end));
}

class Paths : public testing::Test {
 protected:
  PathTrace trace(const std::string& from, const std::string& to, std::uint8_t sl = 0) {
    return trace_path(fabric.state(), fabric.endport(from).address, fabric.endport(to).lid, sl);
  }
  void set_entry(const std::string& node, const std::string& to, std::uint8_t port) {
    fabric.engine.forwarding(fabric.node(node))->set_linear(fabric.endport(to).lid, port);
  }
  RunningFabric fabric;
};

TEST_F(Paths, AreThoseOfTheTables) {
  EXPECT_EQ(names(fabric, trace("host1", "host4")), "host1.1 leaf1.3 spine1.2 leaf2.2 reached");
  EXPECT_EQ(names(fabric, trace("host1", "host1")), "reached");
  EXPECT_EQ(names(fabric, trace("leaf1", "host3")), "leaf1.3 spine1.2 leaf2.1 reached");
  EXPECT_EQ(names(fabric, trace("host1", "leaf2")), "host1.1 leaf1.3 spine1.2 reached");
  const PathTrace path = trace("host1", "host4", 3);
  EXPECT_EQ(path.hops[2].in_port, 1);
  EXPECT_EQ(path.hops[2].vl, 3);
  EXPECT_EQ(path.hops[2].peer, fabric.at("leaf2", 3));
}

TEST_F(Paths, EndWhereTheTablesDo) {
  set_entry("spine1", "host4", fabric::ForwardingTables::kNoPort);
  EXPECT_EQ(names(fabric, trace("host1", "host4")), "host1.1 leaf1.3 spine1.255 no entry");
  set_entry("spine1", "host4", 9);
  EXPECT_EQ(names(fabric, trace("host1", "host4")), "host1.1 leaf1.3 spine1.9 no such port");
  set_entry("spine1", "host4", 1);
  EXPECT_EQ(names(fabric, trace("host1", "host4")), "host1.1 leaf1.3 spine1.1 turns back");
  set_entry("spine1", "host4", 0);
  EXPECT_EQ(names(fabric, trace("host1", "host4")), "host1.1 leaf1.3 wrong port");
  set_entry("spine1", "host4", 2);
  set_entry("leaf2", "host4", 1);
  EXPECT_EQ(names(fabric, trace("host1", "host4")), "host1.1 leaf1.3 spine1.2 leaf2.1 wrong port");
}

TEST(PathsOfARing, MayRunInCircles) {
  RunningFabric fabric("ring:3");
  const wire::Lid to = fabric.endport("host1").lid;
  for (const fabric::Cable& cable : fabric.state().topology.cables())
    for (const auto& [a, b] : {std::pair(cable.a, cable.b), std::pair(cable.b, cable.a)}) {
      const bool goes_round = fabric.state().is_switch(a.node) && fabric.state().is_switch(b.node) &&
                              b.node.value == (a.node.value + 1) % 3;
      if (goes_round)
        fabric.engine.forwarding(fabric.state().wiring.nodes[a.node.value])->set_linear(to, a.port);
    }
  const PathTrace path = trace_path(fabric.state(), fabric.endport("host2").address, to, 0);
  EXPECT_EQ(path.end, PathEnd::loop);
  EXPECT_EQ(path.hops.size(), 4U) << "the adapter and each switch once";
}

TEST_F(Paths, OfBrokenLinksAndServiceLevelsWithoutALane) {
  fabric.engine.set_connected(fabric.cable("leaf2", 2), false);
  EXPECT_EQ(names(fabric, trace("host1", "host4")), "host1.1 leaf1.3 spine1.2 leaf2.2 link down");
  fabric.engine.set_connected(fabric.cable("leaf2", 2), true);
  fabric::SlToVl none;
  none.fill(15);
  EXPECT_TRUE(fabric.engine.set_sl_to_vl(fabric.port("spine1", 2), 1, none));
  const PathTrace path = trace("host1", "host4");
  EXPECT_EQ(path.end, PathEnd::reached);
  EXPECT_FALSE(path.carries_data());
  EXPECT_EQ(outcome_of(path), "no VL");
  EXPECT_TRUE(trace("host4", "host1").carries_data());
}

TEST_F(Paths, OfMulticastAreTrees) {
  const auto join = [&](const std::string& node, std::uint16_t mask) {
    std::array<std::uint16_t, fabric::ForwardingTables::kMulticastBlock> masks{};
    masks[5] = mask;
    fabric.engine.forwarding(fabric.node(node))->set_multicast_block(0, 0, masks);
  };
  join("leaf1", 0b1110);
  join("spine1", 0b110);
  join("leaf2", 0b1011);
  const auto trace = [&] {
    return trace_multicast(fabric.state(), fabric.endport("host1").address, wire::Lid(0xc005), 0);
  };
  EXPECT_EQ(trace().members(), 3U) << "host2, host3, leaf2 itself";
  EXPECT_FALSE(trace().has_loop());
  EXPECT_EQ(trace().stops.size(), 6U);
  EXPECT_EQ(trace().stops.back().links, 4U);
  const auto json = nlohmann::json::parse(*trace_report(fabric.state(), "host1", "0xc005", 0));
  EXPECT_EQ(json["outcome"], "reached");
  EXPECT_EQ(json["members"], 3);
}

TEST(PathsOfARing, ThatMulticastGoesRoundAreToldOnce) {
  RunningFabric fabric("ring:3");
  std::array<std::uint16_t, fabric::ForwardingTables::kMulticastBlock> all;
  all.fill(0xfffe);
  for (const std::string name : {"switch-0", "switch-1", "switch-2"})
    fabric.engine.forwarding(fabric.node(name))->set_multicast_block(0, 0, all);
  const MulticastTrace trace =
      trace_multicast(fabric.state(), fabric.endport("host1").address, wire::Lid(0xc000), 0);
  EXPECT_TRUE(trace.has_loop());
  EXPECT_LT(trace.stops.size(), 20U);
}

TEST_F(Paths, AreAskedForByNamesLidsAndGuids) {
  const FabricState state = fabric.state();
  const auto lid = fabric.endport("host4").lid;
  EXPECT_EQ(find_endport(state, "host4/1")->address, fabric.at("host4", 1));
  EXPECT_EQ(find_endport(state, "leaf2/3")->address, fabric.at("leaf2", 0));
  EXPECT_EQ(find_endport(state, std::to_string(lid.value))->address, fabric.at("host4", 1));
  EXPECT_EQ(find_endport(state, "0x0200000000100006")->address, fabric.at("host4", 1));
  for (const char* wrong : {"", "/", "host4/", "host4/0", "host4/2", "host4/1x", "leaf2/4", "999", "0x", "-1",
                            "65537", "0", "0xc001", "99999999999999999999"})
    EXPECT_FALSE(find_endport(state, wrong)) << wrong;
  EXPECT_FALSE(trace_report(state, "host1", "nobody", 0));
}

}  // namespace
}  // namespace softrnic::fabricd
