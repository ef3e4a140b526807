#include "fabricd/connectivity.h"

#include <nlohmann/json.hpp>

#include "fabricd/why_report.h"
#include "tests/unit/fabric/engine_fixture.h"
#include "tests/unit/fabricd/running_fabric.h"

namespace softrnic::fabricd {
namespace {

class WhyTest : public testing::Test {
 protected:
  explicit WhyTest(const std::string& shape = "", subnet::ManagerOptions options = {},
                   bool has_manager = true, double scale = 0)
      : fabric(shape, std::move(options), has_manager, scale) {}

  /// The ids of what stands in the way.
  std::string why(const std::string& a = "host1", const std::string& b = "host4",
                  std::optional<std::uint16_t> p_key = {}, std::uint8_t sl = 0) {
    answer = examine(fabric.state(), {.a = fabric.endport(a),
                                      .b = fabric.endport(b),
                                      .p_key = p_key,
                                      .sl = sl,
                                      .now = fabric.engine.now()});
    std::string ids;
    for (const Obstacle& obstacle : answer.obstacles.list()) {
      ids += (ids.empty() ? "" : " ") + std::string(row_of(obstacle.kind).id);
      const ObstacleText text = text_of(fabric.state(), obstacle, {.fabric = "fabric"});
      EXPECT_NE(text.seen, "") << ids;
      EXPECT_NE(text.cure, "") << ids;
    }
    return ids;
  }
  void set_entry(const std::string& node, const std::string& to, std::uint8_t port) {
    fabric.engine.forwarding(fabric.node(node))->set_linear(fabric.endport(to).lid, port);
  }
  bool send(const std::string& from, const std::string& to) {
    const auto bytes = fabric::make_packet(
        {.dlid = fabric.endport(to).lid, .slid = fabric.endport(from).lid, .payload = 2048});
    return fabric.engine.send(fabric.port(from, 1), bytes).has_value();
  }

  RunningFabric fabric;
  Connectivity answer;
};

TEST_F(WhyTest, NothingStandsInTheWay) {
  EXPECT_EQ(why(), "");
  EXPECT_TRUE(answer.can_talk());
  EXPECT_EQ(answer.there->hops.size(), 4U);
  EXPECT_EQ(answer.partition->of_a, 0xffff);
  EXPECT_EQ(why("host1", "leaf2"), "");
  EXPECT_EQ(why("host1", "host1"), "");
}

TEST_F(WhyTest, CablesAndPortsThatAreDown) {
  fabric.engine.set_connected(fabric.cable("spine1", 1), false);
  EXPECT_EQ(why(), "no_way cable_pulled") << "before the manager has seen it";
  fabric.run(Duration(1'000'000'000));
  EXPECT_EQ(why(), "no_way cable_pulled") << "and when its tables lead there no more";
  fabric.engine.set_connected(fabric.cable("spine1", 1), true);
  EXPECT_EQ(why("host1", "host2"), "");
  fabric.engine.set_connected(fabric.cable("host4", 1), false);
  EXPECT_EQ(why(), "cable_pulled");
  fabric.engine.set_connected(fabric.cable("host4", 1), true);
  fabric.engine.set_enabled(fabric.port("leaf2", 2), false);
  EXPECT_EQ(why(), "port_disabled");
  EXPECT_FALSE(answer.can_talk());
}

TEST(WhyOfForeignNames, CuresAreSafeToCopy) {
  fabric::Topology topology;
  const auto a =
      topology.add(fabric::make_node(fabric::NodeType::switch_node, "a; rm 'b'", 1, fabric::Guid(0x100), {}));
  const auto b =
      topology.add(fabric::make_node(fabric::NodeType::switch_node, "plain-1", 1, fabric::Guid(0x200), {}));
  ASSERT_TRUE(topology.connect({*a, 1}, {*b, 1}));
  fabric::Engine engine({}, {});
  const fabric::NodeAgents agents(engine, nullptr);
  const fabric::Wiring wiring = *fabric::place_nodes(engine, topology);
  const FabricState state{topology, engine, agents, wiring};
  const auto cure = [&](fabric::PortAddress at) {
    return text_of(state, {.kind = ObstacleKind::cable_pulled, .at = at, .peer = at}, {.fabric = "f"}).cure;
  };
  EXPECT_EQ(cure({*a, 1}), R"(softrnic fabric link 'a; rm '\''b'\''' 1 up --name f)");
  EXPECT_EQ(cure({*b, 1}), "softrnic fabric link plain-1 1 up --name f");
}

TEST_F(WhyTest, StatesBelowActive) {
  fabric.engine.set_connected(fabric.cable("spine1", 1), false);
  fabric.engine.set_connected(fabric.cable("spine1", 1), true);
  EXPECT_EQ(why(), "port_not_active port_not_active") << "no manager has been there since";
  fabric.run(Duration(30'000'000'000));
  EXPECT_EQ(why(), "");
}

TEST_F(WhyTest, TablesThatLeadNowhere) {
  set_entry("spine1", "host4", fabric::ForwardingTables::kNoPort);
  EXPECT_EQ(why(), "no_entry");
  set_entry("spine1", "host4", 17);
  EXPECT_EQ(why(), "no_such_port");
  set_entry("spine1", "host4", 1);
  EXPECT_EQ(why(), "turns_back");
  set_entry("spine1", "host4", 2);
  set_entry("leaf2", "host1", 1);
  EXPECT_EQ(why(), "wrong_port") << "the way back counts";
}

TEST_F(WhyTest, ServiceLevelsAndLanes) {
  fabric::SlToVl vls;
  vls.fill(0);
  vls[1] = 15;
  vls[2] = 9;
  EXPECT_TRUE(fabric.engine.set_sl_to_vl(fabric.port("spine1", 2), 1, vls));
  EXPECT_EQ(why("host1", "host4", {}, 0), "");
  EXPECT_EQ(why("host1", "host4", {}, 1), "sl_dropped");
  EXPECT_EQ(why("host1", "host4", {}, 2), "vl_not_operational");
  fabric::PortAttributes attributes = fabric.engine.port(fabric.port("leaf2", 3))->attributes;
  attributes.operational_vls = 1;
  fabric.engine.set_attributes(fabric.port("leaf2", 3), attributes);
  vls.fill(3);
  EXPECT_TRUE(fabric.engine.set_sl_to_vl(fabric.port("spine1", 2), 1, vls));
  EXPECT_EQ(why(), "vl_not_taken");
}

TEST_F(WhyTest, WhatHinders) {
  fabric.engine.set_faults(fabric.cable("spine1", 1), {.packet_errors = 0.5});
  fabric::PortAttributes attributes = fabric.engine.port(fabric.port("spine1", 2))->attributes;
  attributes.neighbor_mtu = 1024;
  fabric.engine.set_attributes(fabric.port("spine1", 2), attributes);
  EXPECT_NE(why().find("mtu"), std::string::npos);
  EXPECT_TRUE(answer.can_talk());
  fabric.engine.set_faults(fabric.cable("spine1", 1), {.packet_errors = 0.5});
  EXPECT_NE(why().find("link_errors"), std::string::npos);
  EXPECT_TRUE(answer.can_talk());
  fabric.engine.set_faults(fabric.cable("spine1", 1), {.packet_errors = 1});
  why();
  EXPECT_FALSE(answer.can_talk()) << "all are damaged";
}

TEST_F(WhyTest, CreditsThatDoNotCome) {
  fabric.hosts_take = false;
  for (int i = 0; i < 200; ++i) {
    send("host1", "host4");
    fabric.run(Duration(10));
  }
  EXPECT_NE(why().find("congestion"), std::string::npos);
  EXPECT_NE(why().find("host_holds"), std::string::npos);
  EXPECT_TRUE(answer.can_talk());
  fabric.run(Duration(150'000'000));
  EXPECT_NE(why().find("credits_stuck"), std::string::npos);
  EXPECT_FALSE(answer.can_talk());
}

class WithoutManager : public WhyTest {
 protected:
  WithoutManager() : WhyTest("", {}, false) {}
};

TEST_F(WithoutManager, NoLids) {
  EXPECT_EQ(why(), "no_lid no_lid");
  const auto json = nlohmann::json::parse(
      *why_report(fabric.state(), "host1", "host4", {}, {.fabric = "f", .has_manager = false}));
  EXPECT_EQ(json["can_talk"], false);
  EXPECT_EQ(json["obstacles"][0]["cure"], "start a subnet manager: softrnic run --host f/host1 -- opensm");
  EXPECT_FALSE(why_report(fabric.state(), "host1", "host9", {}, {}));
}

class RingWithoutLifetimes : public WhyTest {
 protected:
  RingWithoutLifetimes() : WhyTest("ring:6", lifetimes(), true, 0.001) {
    for (std::uint32_t to = 0; to < kHosts; ++to)
      for (std::uint32_t at = 0; at < kHosts; ++at)
        if (at != to) set_entry(name(at), "host" + std::to_string(to + 1), clockwise(at));
  }
  static constexpr std::uint32_t kHosts = 6;
  static std::string name(std::uint32_t place) { return "switch-" + std::to_string(place % kHosts); }
  std::uint8_t clockwise(std::uint32_t place) const {
    const auto& ports = fabric.state().topology.node(*fabric.state().topology.find(name(place))).ports;
    const auto next = *fabric.state().topology.find(name(place + 1));
    for (std::uint8_t number = 1; number < ports.size(); ++number)
      if (ports[number].peer && ports[number].peer->node == next) return number;
    return 0;
  }
  static subnet::ManagerOptions lifetimes() {
    subnet::ManagerOptions options;
    options.ports.head_of_queue_lifetime = options.ports.leaf_head_of_queue_lifetime = 31;
    options.ports.packet_life_time = 31;
    return options;
  }
};

TEST_F(RingWithoutLifetimes, LocksUp) {
  const auto host = [](std::uint32_t place) { return "host" + std::to_string(place % kHosts + 1); };
  for (int round = 0; round < 2000; ++round) {
    for (std::uint32_t from = 0; from < kHosts; ++from) send(host(from), host(from + 3));
    fabric.run(Duration(100'000));
  }
  fabric.run(Duration(1'000'000'000));
  EXPECT_TRUE(why("host1", "host4").starts_with("credit_deadlock credits_stuck")) << why("host1", "host4");
  EXPECT_EQ(answer.obstacles.list()[0].cycle.size(), kHosts);
  EXPECT_FALSE(answer.can_talk());
}

class WithPartitions : public WhyTest {
 protected:
  WithPartitions() : WhyTest("", options()) {}

  /// host1 and host2 in 1, host3 and host4 in 2, host1 a full member of 3 and host3, host4 limited ones.
  static subnet::ManagerOptions options() {
    subnet::ManagerOptions options;
    subnet::Partition base = subnet::default_partitions()[0];
    base.rules = {{subnet::PortChoice::all, {}, subnet::Membership::limited},
                  {subnet::PortChoice::self, {}, subnet::Membership::full}};
    options.partitions = {base};
    const auto guid = [](unsigned host) { return subnet::Guid(0x0200000000100001 + (host - 1) * 2); };
    const auto rule = [&](unsigned host, subnet::Membership membership) {
      return subnet::PartitionRule{subnet::PortChoice::guid, guid(host), membership};
    };
    using enum subnet::Membership;
    const auto add = [&](std::uint16_t number, std::vector<subnet::PartitionRule> rules) {
      subnet::Partition partition;
      partition.name = "p" + std::to_string(number);
      partition.number = number;
      partition.rules = std::move(rules);
      options.partitions.push_back(partition);
    };
    add(1, {rule(1, full), rule(2, full)});
    add(2, {rule(3, full), rule(4, limited)});
    return options;
  }
};

TEST_F(WithPartitions, KeepThemApart) {
  EXPECT_EQ(why("host2", "host4"), "limited_members") << "of the default partition";
  EXPECT_EQ(why("host2", "host4", 1), "p_key_missing");
  EXPECT_EQ(why("host3", "host4"), "p_key_index p_key_index");
  EXPECT_TRUE(answer.can_talk());
  EXPECT_EQ(answer.partition->of_b, 0x0002);
  EXPECT_EQ(why("host1", "host2", 0x8001), "") << "who names it needs no such hint";
  EXPECT_EQ(why("host1", "host4"), "") << "the manager's own port is a full member";
}

}  // namespace
}  // namespace softrnic::fabricd
