#include "subnet/manager.h"

#include <gtest/gtest.h>

#include "simulated_subnet.h"

namespace softrnic::subnet {
namespace {

using namespace testing;

TEST(Manager, BringsASubnetUpSoThatAllPortsAreActiveAndReachEachOther) {
  SimTree subnet(4, 2, 3);
  Manager& manager = subnet.add_manager({0, 1});
  ASSERT_TRUE(subnet.run_until_up(manager)) << subnet.log({0, 1}).text();
  EXPECT_EQ(manager.state(), mad::SmState::master);
  subnet.expect_all_active();
  subnet.expect_all_reach();
  EXPECT_TRUE(subnet.complaints.empty()) << subnet.complaints.front();
  const EventLog& log = subnet.log({0, 1});
  EXPECT_EQ(log.count<event::NodeAppeared>(), 18U);
  EXPECT_EQ(log.count<event::LinkAppeared>(), 20U);
  EXPECT_EQ(log.count<event::RoutesMissing>() + log.count<event::DeadlockRisk>(), 0U) << log.text();
  EXPECT_EQ(log.count<event::NoAnswer>() + log.count<event::BadAnswer>(), 0U) << log.text();
}

TEST(Manager, SetsWhatAPortNeeds) {
  SimTree subnet(2, 1, 1);
  subnet.at({1, 1}).info.mtu_cap = mad::Mtu::b2048;
  Manager& manager = subnet.add_manager({0, 1});
  ASSERT_TRUE(subnet.run_until_up(manager));
  const mad::PortInfo& host = subnet.at({1, 1}).info;
  EXPECT_EQ(host.neighbor_mtu, mad::Mtu::b2048);
  EXPECT_EQ(subnet.at(subnet.at({1, 1}).peer).info.neighbor_mtu, mad::Mtu::b2048);
  EXPECT_EQ(host.operational_vls, mad::VlCap::vl0_7);
  EXPECT_EQ(host.gid_prefix, mad::kDefaultSubnetPrefix);
  EXPECT_EQ(host.master_sm_lid.value, subnet.lid_of({0, 1}));
  EXPECT_EQ(host.subnet_timeout, 18);
  EXPECT_EQ(subnet.reregistered[(SimPlace{1, 1})], 1);
  const SimPort& leaf = subnet.at(subnet.at({1, 1}).peer);
  EXPECT_EQ(leaf.info.hoq_life, 16);
  EXPECT_TRUE(leaf.info.partition_enforcement_inbound);
  EXPECT_EQ(leaf.p_keys[0], 0xffff);
  EXPECT_EQ(subnet.at({subnet.spines[0], 1}).info.hoq_life, 18);
  EXPECT_EQ(subnet.nodes.back().switch_info.life_time_value, 18);
  EXPECT_FALSE(subnet.nodes.back().switch_info.port_state_change);
}

TEST(Manager, SendsOnlyWhatDiffers) {
  SimTree subnet(4, 2, 3);
  Manager& manager = subnet.add_manager({0, 1});
  ASSERT_TRUE(subnet.run_until_up(manager));
  const std::uint64_t sets = subnet.sets;
  manager.request_sweep();
  subnet.run(seconds(1));
  EXPECT_EQ(subnet.log({0, 1}).count<event::SubnetUp>(), 2U);
  EXPECT_EQ(subnet.sets, sets);

  // A new host: a port of its switch, its own, and what is told of its LID to the switches.
  const int host = subnet.add_host();
  subnet.cable(subnet.leaves[3], host);
  manager.request_sweep();
  subnet.run(seconds(1));
  subnet.expect_all_active();
  subnet.expect_all_reach();
  EXPECT_GT(subnet.sets, sets);
  EXPECT_LE(subnet.sets, sets + 2 * 6 + 10) << "6 switches, 2 ports";
  EXPECT_EQ(subnet.reregistered[(SimPlace{host, 1})], 1);
  EXPECT_EQ(subnet.reregistered[(SimPlace{1, 1})], 1) << "has been up all the time";
}

TEST(Manager, FindsChangesByLightSweepsAndByTraps) {
  SimTree subnet(4, 2, 2);
  Manager& manager = subnet.add_manager({0, 1});
  ASSERT_TRUE(subnet.run_until_up(manager));
  const EventLog& log = subnet.log({0, 1});
  subnet.run(seconds(25));
  EXPECT_EQ(log.count<event::SubnetUp>(), 1U) << "nothing has changed";

  const SimPlace link{subnet.spines[0], 1};
  subnet.unplug(link);
  subnet.run(seconds(11));
  EXPECT_EQ(log.count<event::LinkLost>(), 1U) << log.text();
  EXPECT_EQ(log.count<event::RoutingChanged>(), 2U);
  subnet.expect_all_reach();

  subnet.kill(subnet.spines[0]);
  mad::Notice notice;
  notice.type = mad::NoticeType::urgent;
  notice.trap_number = 128;
  subnet.trap({subnet.leaves[1], 0}, notice);
  subnet.run(milliseconds(500));
  EXPECT_EQ(log.count<event::NodeDisappeared>(), 1U) << log.text();
  EXPECT_EQ(log.count<event::TrapReceived>(), 1U);
  EXPECT_EQ(subnet.represses, 1U);
  subnet.expect_all_reach();
}

TEST(Manager, WorksThroughLossAndReordering) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    SimTree subnet(3, 2, 2, seed);
    subnet.loss = 0.05;
    subnet.jitter = milliseconds(30);
    ManagerOptions options;
    options.requests.most_on_wire = 16;
    Manager& manager = subnet.add_manager({0, 1}, options);
    ASSERT_TRUE(subnet.run_until_up(manager));
    subnet.loss = 0;
    subnet.run(seconds(30));
    subnet.expect_all_active();
    subnet.expect_all_reach();
    EXPECT_TRUE(subnet.complaints.empty()) << subnet.complaints.front();
  }
}

TEST(Manager, WaitsForSlowNodesAndDoesWithoutDeadOnes) {
  SimTree subnet(3, 1, 2);
  subnet.nodes[static_cast<std::size_t>(subnet.leaves[1])].delay = milliseconds(150);
  subnet.nodes[3].is_dead = true;  // its link is up
  Manager& manager = subnet.add_manager({0, 1});
  ASSERT_TRUE(subnet.run_until_up(manager));
  EXPECT_TRUE(subnet.reaches({0, 1}, {4, 1}));
  EXPECT_TRUE(subnet.reaches({4, 1}, {1, 1}));
  EXPECT_GE(subnet.log({0, 1}).count<event::NoAnswer>(), 1U);
  subnet.nodes[3].is_dead = false;
  subnet.run(seconds(30));
  subnet.expect_all_reach();
}

TEST(Manager, RoutesAnewAroundASwitchThatDiesInTheMiddleOfASweep) {
  SimTree subnet(4, 2, 2);
  Manager& manager = subnet.add_manager({0, 1});
  ASSERT_TRUE(subnet.run_until_up(manager));
  subnet.run(seconds(1));
  manager.request_sweep();
  subnet.run(microseconds(300));
  ASSERT_FALSE(manager.is_idle());
  subnet.nodes[static_cast<std::size_t>(subnet.spines[1])].is_dead = true;
  subnet.run(seconds(5));
  for (int port = 1; port <= 4; ++port) subnet.unplug({subnet.spines[1], port});
  subnet.run(seconds(15));
  subnet.expect_all_reach();
}

TEST(Manager, KeepsLidsThatPortsHave) {
  SimTree subnet(2, 1, 2);
  subnet.at({1, 1}).info.lid = Lid(77);
  subnet.at({2, 1}).info.lid = Lid(77);  // the same
  subnet.at({3, 1}).info.lid = Lid(0xc001);
  Manager& manager = subnet.add_manager({0, 1});
  ASSERT_TRUE(subnet.run_until_up(manager));
  EXPECT_EQ((subnet.lid_of({1, 1}) == 77) + (subnet.lid_of({2, 1}) == 77), 1);
  EXPECT_TRUE(Lid(subnet.lid_of({3, 1})).is_unicast());
  subnet.expect_all_reach();
}

TEST(Manager, GivesEveryPortSeveralLidsWithLmc) {
  SimTree subnet(2, 2, 2);
  ManagerOptions options;
  options.lids.lmc = 2;
  Manager& manager = subnet.add_manager({0, 1}, options);
  ASSERT_TRUE(subnet.run_until_up(manager));
  EXPECT_EQ(subnet.at({1, 1}).info.lmc, 2);
  EXPECT_EQ(subnet.lid_of({1, 1}) % 4, 0);
  EXPECT_EQ(subnet.at({subnet.leaves[0], 0}).info.lmc, 0);
  subnet.expect_all_reach();
}

TEST(Manager, UsesTheMKeyEverywhere) {
  SimTree subnet(2, 1, 2);
  ManagerOptions options;
  options.ports.m_key = 0x1234;
  Manager& manager = subnet.add_manager({0, 1}, options);
  ASSERT_TRUE(subnet.run_until_up(manager));
  EXPECT_EQ(subnet.nodes[1].m_key, 0x1234U);
  manager.request_sweep();
  subnet.run(seconds(2));
  EXPECT_EQ(subnet.log({0, 1}).count<event::NoAnswer>(), 0U) << subnet.log({0, 1}).text();
  subnet.expect_all_reach();
}

TEST(Manager, SendsVlTablesWithQualityOfService) {
  SimTree subnet(2, 1, 1);
  ManagerOptions options;
  options.qos = true;
  ASSERT_TRUE(options.qos_config.set("qos_max_vls", "2").has_value());
  ASSERT_TRUE(options.qos_config.set("qos_vlarb_low", "0:192,1:64").has_value());
  Manager& manager = subnet.add_manager({0, 1}, options);
  ASSERT_TRUE(subnet.run_until_up(manager));
  EXPECT_EQ(subnet.at({0, 1}).info.operational_vls, mad::VlCap::vl0_1);
  const auto found = subnet.nodes[0].other.find({mad::VlArbitrationTable::kAttribute, 1U << 16});
  ASSERT_NE(found, subnet.nodes[0].other.end());
  const auto low = mad::decode<mad::VlArbitrationTable>(found->second);
  EXPECT_EQ(low.entries[0].weight, 192);
  EXPECT_EQ(low.entries[1].vl, 1);
  const auto leaf = static_cast<std::size_t>(subnet.leaves[0]);
  EXPECT_TRUE(subnet.nodes[leaf].other.contains({mad::SlToVlMappingTable::kAttribute, 1U << 8 | 2U}));
  const std::uint64_t sets = subnet.sets;
  manager.request_sweep();
  subnet.run(seconds(1));
  EXPECT_EQ(subnet.sets, sets);
}

TEST(Manager, TellsOfRoutesThatCanDeadlockAndUpDownHasNone) {
  for (const char* engine : {"minhop", "updn"}) {
    SimulatedSubnet subnet;
    for (int i = 0; i < 6; ++i) subnet.add_host();
    for (int i = 0; i < 6; ++i) subnet.add_switch(8);
    for (int i = 0; i < 6; ++i) subnet.cable(6 + i, i);
    for (int i = 0; i < 6; ++i) subnet.cable(6 + i, 6 + (i + 1) % 6);
    ManagerOptions options;
    options.routing.engine = engine;
    Manager& manager = subnet.add_manager({0, 1}, options);
    ASSERT_TRUE(subnet.run_until_up(manager));
    subnet.expect_all_reach();
    const bool risky = subnet.log({0, 1}).count<event::DeadlockRisk>() != 0;
    EXPECT_EQ(risky, std::string_view(engine) == "minhop");
  }
}

TEST(Manager, ManagesTwoAdaptersWithoutASwitch) {
  SimulatedSubnet subnet;
  subnet.add_host();
  subnet.add_host();
  subnet.cable(0, 1);
  Manager& manager = subnet.add_manager({0, 1});
  ASSERT_TRUE(subnet.run_until_up(manager));
  subnet.expect_all_active();
  EXPECT_NE(subnet.lid_of({0, 1}), subnet.lid_of({1, 1}));
}

TEST(Manager, RunsOnASwitch) {
  SimTree subnet(2, 1, 2);
  Manager& manager = subnet.add_manager({subnet.spines[0], 0});
  ASSERT_TRUE(subnet.run_until_up(manager)) << subnet.log({subnet.spines[0], 0}).text();
  subnet.expect_all_active();
  subnet.expect_all_reach();
}

TEST(Manager, SetsUpAnewWhatWasReset) {
  SimTree subnet(3, 2, 2);
  Manager& manager = subnet.add_manager({0, 1});
  ASSERT_TRUE(subnet.run_until_up(manager));
  const SimPlace leaf{subnet.leaves[2], 0};
  subnet.node(leaf).linear.assign(49152, 0xff);
  subnet.node(leaf).switch_info.linear_fdb_top = 0;
  subnet.at(leaf).info.lid = {};
  for (std::uint8_t port = 1; port <= 4; ++port) subnet.set_link({leaf.node, port}, true);
  subnet.at({4, 1}).p_keys.assign(32, 0);
  subnet.at({4, 1}).info.lid = {};
  const std::uint16_t lid = subnet.lid_of({5, 1});
  subnet.run(seconds(11));
  subnet.expect_all_active();
  subnet.expect_all_reach();
  EXPECT_EQ(subnet.at({4, 1}).p_keys[0], 0xffff);
  EXPECT_EQ(subnet.lid_of({5, 1}), lid);
}

TEST(Manager, PortsThatWereOutOfReachRegisterAgain) {
  SimTree subnet(2, 1, 2);
  Manager& manager = subnet.add_manager({0, 1});
  ASSERT_TRUE(subnet.run_until_up(manager));
  const SimPlace link{subnet.spines[0], 1};
  const SimPlace leaf = subnet.at(link).peer;
  subnet.unplug(link);
  subnet.run(seconds(11));
  subnet.cable(link, leaf);
  subnet.run(seconds(11));
  subnet.expect_all_reach();
  EXPECT_EQ(subnet.reregistered[(SimPlace{3, 1})], 2) << "its own link was active all the time";
  EXPECT_EQ(subnet.reregistered[(SimPlace{1, 1})], 1);
}

TEST(Manager, BringsUpThreeHundredHosts) {
  SimTree subnet(36, 18, 9);
  ManagerOptions options;
  options.requests.most_on_wire = 64;
  Manager& manager = subnet.add_manager({0, 1}, options);
  ASSERT_TRUE(subnet.run_until_up(manager));
  subnet.expect_all_active();
  EXPECT_TRUE(subnet.reaches({0, 1}, {323, 1}) && subnet.reaches({323, 1}, {100, 1}));
  EXPECT_EQ(subnet.log({0, 1}).count<event::RoutesMissing>(), 0U);
}

TEST(Manager, SweepsInLinearWork) {
  std::uint64_t requests[2];
  for (const int scale : {1, 2}) {
    SimTree subnet(9 * scale, 9, 9);
    Manager& manager = subnet.add_manager({0, 1});
    ASSERT_TRUE(subnet.run_until_up(manager));
    requests[scale - 1] = manager.counters().requests;
    subnet.expect_all_active();
  }
  EXPECT_LT(requests[1], requests[0] * 5 / 2);
}

}  // namespace
}  // namespace softrnic::subnet
