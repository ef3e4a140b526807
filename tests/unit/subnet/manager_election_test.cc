#include <gtest/gtest.h>

#include "mad/sm_info.h"
#include "simulated_subnet.h"
#include "subnet/manager.h"

namespace softrnic::subnet {
namespace {

using namespace testing;
using mad::SmState;

ManagerOptions with_priority(std::uint8_t priority) {
  ManagerOptions options;
  options.priority = priority;
  options.polling_interval = seconds(2);
  return options;
}

TEST(ManagerElection, TheHigherPriorityIsMaster) {
  SimTree subnet(3, 2, 2);
  Manager& low = subnet.add_manager({0, 1}, with_priority(1));
  Manager& high = subnet.add_manager({5, 1}, with_priority(2));
  subnet.run(seconds(30));
  EXPECT_EQ(high.state(), SmState::master);
  EXPECT_EQ(low.state(), SmState::standby);
  EXPECT_TRUE(high.is_up());
  EXPECT_FALSE(low.is_up());
  EXPECT_EQ(subnet.at({1, 1}).info.master_sm_lid.value, subnet.lid_of({5, 1}));
  subnet.expect_all_reach();
}

TEST(ManagerElection, OfEqualsTheLowerGuidIs) {
  SimTree subnet(3, 2, 2);
  Manager& second = subnet.add_manager({5, 1}, with_priority(3));
  Manager& first = subnet.add_manager({0, 1}, with_priority(3));
  subnet.run(seconds(30));
  EXPECT_EQ(first.state(), SmState::master);
  EXPECT_EQ(second.state(), SmState::standby);
}

TEST(ManagerElection, StandbyTakesOverWhenTheMasterIsSilent) {
  SimTree subnet(3, 2, 2);
  Manager& master = subnet.add_manager({0, 1}, with_priority(5));
  ASSERT_TRUE(subnet.run_until_up(master));
  Manager& standby = subnet.add_manager({5, 1}, with_priority(1));
  subnet.run(seconds(30));
  ASSERT_EQ(standby.state(), SmState::standby);
  const std::uint16_t lid = subnet.lid_of({3, 1});
  subnet.hosts[{0, 1}]->is_dead = true;
  subnet.run(seconds(4));
  EXPECT_EQ(standby.state(), SmState::standby) << "five polls are missed first";
  subnet.run(seconds(26));
  EXPECT_EQ(standby.state(), SmState::master);
  EXPECT_TRUE(standby.is_up());
  EXPECT_EQ(subnet.lid_of({3, 1}), lid) << "ports keep their LIDs";
  EXPECT_EQ(subnet.at({3, 1}).info.master_sm_lid.value, subnet.lid_of({5, 1}));
  EXPECT_EQ(subnet.reregistered[(SimPlace{3, 1})], 2) << "once by each master";
}

TEST(ManagerElection, ALaterManagerOfHigherPriorityIsHandedTheSubnet) {
  SimTree subnet(3, 2, 2);
  Manager& low = subnet.add_manager({0, 1}, with_priority(1));
  ASSERT_TRUE(subnet.run_until_up(low));
  subnet.run(seconds(20));
  Manager& high = subnet.add_manager({5, 1}, with_priority(9));
  subnet.run(seconds(1));
  EXPECT_EQ(high.state(), SmState::standby) << "there is a master";
  subnet.run(seconds(30));
  EXPECT_EQ(high.state(), SmState::master) << subnet.log({0, 1}).text();
  EXPECT_EQ(low.state(), SmState::standby);
  EXPECT_EQ(subnet.log({0, 1}).count<event::HandedOver>(), 1U);
  EXPECT_TRUE(high.is_up());
}

TEST(ManagerElection, TwoSubnetsThatAreJoinedGetOneMaster) {
  SimTree subnet(2, 1, 2);
  std::vector<int> others;
  for (int i = 0; i < 3; ++i) others.push_back(subnet.add_host(0x900000 + 16 * static_cast<unsigned>(i)));
  const int sw = subnet.add_switch(8, 0x9999);
  for (const int host : others) subnet.cable(sw, host);
  Manager& low = subnet.add_manager({0, 1}, with_priority(1));
  Manager& high = subnet.add_manager({others[0], 1}, with_priority(2));
  subnet.run(seconds(20));
  ASSERT_EQ(low.state(), SmState::master);
  ASSERT_EQ(high.state(), SmState::master);
  subnet.cable(sw, subnet.spines[0]);
  subnet.run(seconds(60));
  EXPECT_EQ(low.state(), SmState::standby) << subnet.log({0, 1}).text();
  EXPECT_EQ(high.state(), SmState::master);
  EXPECT_TRUE(high.is_up());
  subnet.expect_all_active();
  subnet.expect_all_reach();
}

TEST(ManagerElection, StrangersAreNoManagers) {
  SimTree subnet(2, 1, 2);
  ManagerOptions stranger = with_priority(15);
  stranger.sm_key = 0x4711;
  Manager& other = subnet.add_manager({3, 1}, stranger);
  ASSERT_TRUE(subnet.run_until_up(other));
  Manager& own = subnet.add_manager({0, 1}, with_priority(1));
  subnet.run(seconds(30));
  EXPECT_EQ(own.state(), SmState::master);
}

/// Sends a Set of SMInfo from host 1.
struct Control {
  explicit Control(SimTree& s) : subnet(s), endpoint(s.add_endpoint({1, 1})) {}
  std::uint16_t send(mad::SmInfo::Control control, SmState sender, std::uint64_t key = 1) {
    mad::SmInfo info;
    info.guid = mad::Guid(0x5555);
    info.sm_key = key;
    info.state = sender;
    mad::Smp smp;
    smp.method = mad::Method::set;
    smp.attribute = mad::SmInfo::kAttribute;
    smp.modifier = static_cast<std::uint32_t>(control);
    mad::encode(info, smp.data);
    endpoint.received.clear();
    endpoint.send({.lid = Lid(subnet.lid_of({0, 1}))}, mad::encoded(smp));
    subnet.run(milliseconds(1));
    if (endpoint.received.size() != 1) return 0xffff;
    const auto answer = mad::decode<mad::Smp>(endpoint.received[0].second);
    EXPECT_EQ(answer.method, mad::Method::get_response);
    return answer.status;
  }
  SimTree& subnet;
  SimulatedSubnet::Host& endpoint;
};

TEST(ManagerElection, ObeysAMasterAlone) {
  SimTree subnet(2, 1, 2);
  Manager& manager = subnet.add_manager({0, 1}, with_priority(1));
  Manager& master = subnet.add_manager({3, 1}, with_priority(2));
  subnet.run(seconds(30));
  ASSERT_EQ(manager.state(), SmState::standby);
  ASSERT_EQ(master.state(), SmState::master);
  Control control(subnet);
  using C = mad::SmInfo::Control;
  const auto refused = static_cast<std::uint16_t>(mad::Status::bad_attribute_value);
  EXPECT_EQ(control.send(C::disable, SmState::standby), refused);
  EXPECT_EQ(control.send(C::disable, SmState::master, 2), refused) << "SM_Key";
  EXPECT_EQ(control.send(C{9}, SmState::master), refused);
  EXPECT_EQ(control.send(C::standby, SmState::master), refused) << "is standby";
  EXPECT_EQ(manager.state(), SmState::standby);
  EXPECT_EQ(control.send(C::acknowledge, SmState::standby), 0);
  EXPECT_EQ(control.send(C::disable, SmState::master), 0);
  EXPECT_EQ(manager.state(), SmState::not_active);
  EXPECT_EQ(control.send(C::handover, SmState::master), refused);
  EXPECT_EQ(control.send(C::standby, SmState::master), 0);
  EXPECT_EQ(manager.state(), SmState::standby);
  EXPECT_EQ(control.send(C::discover, SmState::master), 0);
  subnet.run(seconds(1));
  EXPECT_EQ(manager.state(), SmState::standby) << "there is still a master";
}

}  // namespace
}  // namespace softrnic::subnet
