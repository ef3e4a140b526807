// Get and Set of PortInfo, field by field, and the states of ports (IBTA 14.2.5.6).
#include <gtest/gtest.h>

#include "fabric/port_state_command.h"
#include "mad/notice.h"
#include "tests/unit/fabric/agents_fixture.h"

namespace softrnic::fabric {
namespace {

using mad::PortInfo;
using mad::Status;
using Physical = mad::PortPhysicalState;
using Change = std::function<void(PortInfo&)>;

/// Host 0, whose manager it is, at port 1 of a switch of 4 ports; host 1 at port 2, by both of its ports.
class PortInfoTest : public ::testing::Test, public AgentsFabric {
 protected:
  PortInfoTest() {
    link(hosts[0], 1, leaf, 1);
    link(hosts[1], 1, leaf, 2);
    link(hosts[1], 2, leaf, 3);
    events.clear();
  }
  PortInfo after(const Path& path, std::uint32_t modifier, const Change& change) {
    return manager.change_port(path, modifier, change);
  }
  mad::PortState state_of(NodeId node, std::uint8_t number) {
    return static_cast<mad::PortState>(engine.port(node, number)->state);
  }

  NodeId hosts[2] = {add_adapter(), add_adapter(2)};
  NodeId leaf = add_switch(4);
  HandManager manager{*this, id_of(hosts[0], 1)};
  const Path to_switch{1};
  const Path to_host{1, 2};
};

TEST_F(PortInfoTest, SaysWhatThePortIs) {
  const auto info = manager.get<PortInfo>(to_switch, 2);
  EXPECT_EQ(info.local_port_num, 1) << "the port that it was asked through";
  EXPECT_EQ(info.port_state, mad::PortState::initialize);
  EXPECT_EQ(info.port_physical_state, Physical::link_up);
  EXPECT_EQ(info.capability_mask, 0U) << "an external port has none";
  EXPECT_EQ(info.subnet_timeout, 0);
  EXPECT_EQ(manager.get<PortInfo>(to_switch, 4).port_state, mad::PortState::down);
  EXPECT_EQ(manager.get<PortInfo>(to_switch, 4).port_physical_state, Physical::polling);
  const auto zero = manager.get<PortInfo>(to_switch, 0);
  EXPECT_EQ(zero.port_state, mad::PortState::active);
  EXPECT_NE(zero.capability_mask & mad::port_capability::kTrap, 0U);
  EXPECT_EQ(manager.get<PortInfo>(to_host, 0).local_port_num, 1);
  EXPECT_EQ(manager.get<PortInfo>({1, 3}, 0).local_port_num, 2);
  manager.get<PortInfo>(to_switch, 5);
  EXPECT_EQ(manager.status, Status::bad_attribute_value);
  manager.get<PortInfo>(to_switch, 0x102);
  EXPECT_EQ(manager.status, Status::bad_attribute_value) << "reserved bits of the modifier";
}

TEST_F(PortInfoTest, WritesWhatAnEndportHas) {
  const auto info = after(to_host, 0, [](PortInfo& wanted) {
    wanted.gid_prefix = 0xfec0000000000001;
    wanted.lid = wire::Lid(8);
    wanted.lmc = 2;
    wanted.master_sm_lid = wire::Lid(5);
    wanted.master_sm_sl = 3;
    wanted.neighbor_mtu = mad::Mtu::b1024;
    wanted.operational_vls = mad::VlCap::vl0_3;
    wanted.vl_high_limit = 12;
    wanted.subnet_timeout = 7;
    wanted.local_phy_errors = 1;
    wanted.overrun_errors = 2;
    wanted.client_reregister = true;
    // read-only, and what an adapter does not have
    wanted.capability_mask = 0;
    wanted.mtu_cap = mad::Mtu::b256;
    wanted.guid_cap = 0;
    wanted.hoq_life = 4;
    wanted.filter_raw_inbound = true;
    wanted.m_key_violations = 77;
  });
  EXPECT_EQ(manager.status, Status::ok);
  EXPECT_EQ(info.gid_prefix, 0xfec0000000000001U);
  EXPECT_EQ(info.lid, wire::Lid(8));
  EXPECT_EQ(info.lmc, 2);
  EXPECT_EQ(info.master_sm_lid, wire::Lid(5));
  EXPECT_EQ(info.master_sm_sl, 3);
  EXPECT_EQ(info.subnet_timeout, 7);
  EXPECT_TRUE(info.client_reregister) << "o14-12.2.1";
  EXPECT_FALSE(manager.get<PortInfo>(to_host).client_reregister);
  EXPECT_NE(info.capability_mask, 0U);
  EXPECT_EQ(info.mtu_cap, mad::Mtu::b4096);
  EXPECT_EQ(info.guid_cap, kGuidsPerPort);
  EXPECT_EQ(info.hoq_life, 0);
  EXPECT_FALSE(info.filter_raw_inbound);
  EXPECT_EQ(info.m_key_violations, 0);
  const EnginePort& mirrored = *engine.port(hosts[1], 1);
  EXPECT_EQ(mirrored.attributes.neighbor_mtu, 1024);
  EXPECT_EQ(mirrored.attributes.operational_vls, 4);
  EXPECT_TRUE(mirrored.owns(wire::Lid(11)));
  EXPECT_FALSE(mirrored.owns(wire::Lid(12)));
  const std::vector<std::pair<PortId, PortEvent>> expected = {
      {id_of(hosts[1], 1), PortEvent::lid_change},
      {id_of(hosts[1], 1), PortEvent::gid_change},
      {id_of(hosts[1], 1), PortEvent::sm_change},
      {id_of(hosts[1], 1), PortEvent::client_reregister}};
  EXPECT_EQ(events, expected);
}

TEST_F(PortInfoTest, WritesWhatASwitchPortHas) {
  const auto info = after(to_switch, 2, [](PortInfo& wanted) {
    wanted.hoq_life = 10;
    wanted.vl_stall_count = 3;
    wanted.partition_enforcement_inbound = true;
    wanted.filter_raw_outbound = true;
    wanted.neighbor_mtu = mad::Mtu::b2048;
    wanted.m_key = 1;
    wanted.lid = wire::Lid(0xffff);
    wanted.master_sm_lid = wire::Lid(0);
    wanted.lmc = 7;
  });
  EXPECT_EQ(manager.status, Status::ok);
  EXPECT_EQ(info.lid, wire::Lid(0)) << "LIDs are of port 0";
  EXPECT_EQ(info.m_key, 0U);
  const EnginePort& mirrored = *engine.port(leaf, 2);
  EXPECT_EQ(mirrored.attributes.hoq_life, 10);
  EXPECT_EQ(mirrored.attributes.vl_stall_count, 3);
  EXPECT_TRUE(mirrored.attributes.enforce_partitions_in);
  EXPECT_FALSE(mirrored.attributes.enforce_partitions_out);
  EXPECT_TRUE(mirrored.attributes.filter_raw_out);
  EXPECT_EQ(mirrored.attributes.neighbor_mtu, 2048);
}

TEST_F(PortInfoTest, RefusesWhole) {
  const Change changes[] = {
      [](PortInfo& info) { info.lid = wire::Lid(0); },
      [](PortInfo& info) { info.lid = wire::Lid(0xc000); },
      [](PortInfo& info) { info.lid = wire::Lid(9), info.lmc = 1; },
      [](PortInfo& info) { info.master_sm_lid = wire::Lid(0xffff); },
      [](PortInfo& info) { info.link_width_enabled = 8; },
      [](PortInfo& info) { info.link_speed_enabled = 8; },
      [](PortInfo& info) { info.link_down_default_state = Physical::disabled; },
      [](PortInfo& info) { info.neighbor_mtu = mad::Mtu::none; },
      [](PortInfo& info) { info.neighbor_mtu = mad::Mtu{6}; },
      [](PortInfo& info) { info.operational_vls = mad::VlCap::vl0_14; },
      [](PortInfo& info) { info.port_state = mad::PortState::initialize; },
      [](PortInfo& info) { info.port_state = mad::PortState::active; },
      [](PortInfo& info) { info.port_state = mad::PortState{9}; },
      [](PortInfo& info) { info.port_physical_state = Physical::link_up; },
      [](PortInfo& info) {
        info.port_state = mad::PortState::armed;
        info.port_physical_state = Physical::polling;
      },
  };
  after(to_host, 0, [](PortInfo&) {});
  const auto before = mad::encoded(port(hosts[1], 1).info);
  for (const Change& change : changes) {
    after(to_host, 0, [&change](PortInfo& wanted) {
      wanted.gid_prefix = 1;
      wanted.subnet_timeout = 1;
      change(wanted);
    });
    EXPECT_EQ(manager.status, Status::bad_attribute_value) << &change - changes;
    EXPECT_EQ(mad::encoded(port(hosts[1], 1).info), before) << &change - changes;
  }
  after(to_host, 2, [](PortInfo&) {});
  EXPECT_EQ(manager.status, Status::bad_attribute_value) << "another port than it was asked through";
}

TEST_F(PortInfoTest, BasePort0HasOneLid) {
  const auto set_lmc = [](PortInfo& info) { info.lid = wire::Lid(8), info.lmc = 1; };
  after(to_switch, 0, set_lmc);
  EXPECT_EQ(manager.status, Status::bad_attribute_value);
  after(to_switch, 0, [](PortInfo& info) { info.lid = wire::Lid(9), info.neighbor_mtu = mad::Mtu::none; });
  EXPECT_EQ(manager.status, Status::ok) << "it has no MTU to be checked";
  const NodeId enhanced = add_switch(2, true);
  link(enhanced, 1, leaf, 4);
  after({1, 4}, 0, set_lmc);
  EXPECT_EQ(manager.status, Status::ok);
}

TEST_F(PortInfoTest, CodesForNoChangeAndForAll) {
  const auto narrow = [](PortInfo& info) { info.link_width_enabled = 1, info.link_speed_enabled = 1; };
  auto info = after(to_host, 0, narrow);
  EXPECT_EQ(info.link_width_enabled, 1);
  EXPECT_EQ(info.link_speed_enabled, 1);
  info = after(to_host, 0, [](PortInfo&) {});
  EXPECT_EQ(info.link_width_enabled, 1);
  EXPECT_EQ(info.link_speed_enabled, 1);
  info = after(to_host, 0, [](PortInfo& wanted) {
    wanted.link_width_enabled = mad::kAllSupportedWidths;
    wanted.link_speed_enabled = mad::kAllSupportedSpeeds;
    wanted.operational_vls = mad::VlCap::none;
    wanted.link_down_default_state = Physical::no_change;
  });
  EXPECT_EQ(info.link_width_enabled, info.link_width_supported);
  EXPECT_EQ(info.link_speed_enabled, info.link_speed_supported);
  EXPECT_EQ(info.operational_vls, mad::VlCap::vl0_7);
  EXPECT_EQ(info.link_down_default_state, Physical::polling);
}

TEST_F(PortInfoTest, LinksComeUpAsBothEndsEnable) {
  EXPECT_EQ(manager.get<PortInfo>(to_host).link_width_active, mad::LinkWidth::x4);
  EXPECT_EQ(manager.get<PortInfo>(to_host).link_speed_active, mad::LinkSpeed::qdr);
  after(to_host, 0, [](PortInfo& info) { info.link_width_enabled = 1, info.link_speed_enabled = 3; });
  EXPECT_EQ(manager.get<PortInfo>(to_switch, 2).link_width_active, mad::LinkWidth::x4) << "not yet";
  after(to_switch, 2, [](PortInfo& info) { info.port_state = mad::PortState::down; });
  EXPECT_EQ(manager.get<PortInfo>(to_switch, 2).link_width_active, mad::LinkWidth::x1);
  EXPECT_EQ(manager.get<PortInfo>(to_switch, 2).link_speed_active, mad::LinkSpeed::ddr);
  EXPECT_EQ(trained.at(id_of(hosts[1], 1)), (TrainedLink{mad::LinkWidth::x1, mad::LinkSpeed::ddr}));
}

TEST_F(PortInfoTest, LinksComeUpAsTheCableAllows) {
  EXPECT_TRUE(agents.limit_cable(id_of(hosts[1], 1), {LinkWidth::x1, LinkSpeed::ddr}));
  engine.advance(engine.now());
  for (const auto& [path, modifier] : {std::pair(to_host, 0U), std::pair(to_switch, 2U)}) {
    const auto info = manager.get<PortInfo>(path, modifier);
    EXPECT_EQ(info.link_width_active, mad::LinkWidth::x1);
    EXPECT_EQ(info.link_speed_active, mad::LinkSpeed::ddr);
    EXPECT_EQ(info.port_state, mad::PortState::initialize) << "it has gone down, and up again";
    EXPECT_EQ(info.link_width_enabled, info.link_width_supported);
  }
  EXPECT_TRUE(agents.limit_cable(id_of(hosts[1], 1), {LinkWidth::x12, LinkSpeed::fdr10}));
  engine.advance(engine.now());
  EXPECT_EQ(manager.get<PortInfo>(to_host).link_width_active, mad::LinkWidth::x4);
  EXPECT_EQ(manager.get<PortInfo>(to_host).link_speed_active, mad::LinkSpeed::qdr);
  EXPECT_FALSE(agents.limit_cable(PortId(9999), kFastestLink));
}

TEST_F(PortInfoTest, ExtendedSpeedsAreForManagersThatKnowThem) {
  adjust = [](NodeProfile& profile) {
    for (PortProfile& made : profile.ports) made.extended_link_speeds = 3;
  };
  const NodeId fast = add_switch(2);
  const NodeId host = add_adapter();
  link(fast, 1, leaf, 4);
  link(fast, 2, host, 1);
  constexpr std::uint32_t kKnows = PortInfo::kModifierExtendedSpeeds;
  const Path to_fast{1, 4};
  auto info = manager.get<PortInfo>(to_fast, kKnows | 2);
  EXPECT_EQ(info.link_speed_active, mad::LinkSpeed::extended);
  EXPECT_EQ(info.link_speed_ext_active, mad::LinkSpeedExt::edr);
  EXPECT_EQ(manager.get<PortInfo>(to_fast, 2).link_speed_active, mad::LinkSpeed::qdr);
  EXPECT_EQ(manager.get<PortInfo>(to_fast, 1).link_speed_ext_active, mad::LinkSpeedExt::none);
  info = after(to_fast, 2, [](PortInfo& wanted) { wanted.link_speed_ext_enabled = 9; });
  EXPECT_EQ(info.link_speed_ext_enabled, 3) << "ignored";
  after(to_fast, kKnows | 2, [](PortInfo& wanted) { wanted.link_speed_ext_enabled = 9; });
  EXPECT_EQ(manager.status, Status::bad_attribute_value);
  info = after(to_fast, kKnows | 2, [](PortInfo& wanted) { wanted.link_speed_ext_enabled = 30; });
  EXPECT_EQ(info.link_speed_ext_enabled, 0);
  info = after(to_fast, kKnows | 2, [](PortInfo& wanted) { wanted.link_speed_ext_enabled = 31; });
  EXPECT_EQ(info.link_speed_ext_enabled, 3);
}

TEST_F(PortInfoTest, StatesFollowOneAnother) {
  const auto set_state = [](mad::PortState state) {
    return [state](PortInfo& info) { info.port_state = state; };
  };
  after(to_switch, 2, set_state(mad::PortState::armed));
  EXPECT_EQ(manager.status, Status::ok);
  EXPECT_EQ(state_of(leaf, 2), mad::PortState::armed);
  after(to_switch, 2, set_state(mad::PortState::armed));
  EXPECT_EQ(manager.status, Status::ok) << "where it is already";
  const auto info = after(to_switch, 2, set_state(mad::PortState::active));
  EXPECT_EQ(info.port_state, mad::PortState::active);
  after(to_switch, 2, set_state(mad::PortState::armed));
  EXPECT_EQ(manager.status, Status::bad_attribute_value) << "not backwards";
  after(to_switch, 2, set_state(mad::PortState::down));
  EXPECT_EQ(manager.status, Status::ok);
  EXPECT_EQ(state_of(leaf, 2), mad::PortState::initialize) << "the cable is still there";
  EXPECT_EQ(state_of(hosts[1], 1), mad::PortState::initialize);
  after(to_switch, 4, set_state(mad::PortState::armed));
  EXPECT_EQ(manager.status, Status::bad_attribute_value) << "no cable";
  after(to_switch, 4, set_state(mad::PortState::down));
  EXPECT_EQ(manager.status, Status::ok);
}

TEST_F(PortInfoTest, HostsHearOfTheirPort) {
  const auto set_state = [](mad::PortState state) {
    return [state](PortInfo& info) { info.port_state = state; };
  };
  after(to_host, 0, set_state(mad::PortState::armed));
  events.clear();
  after(to_host, 0, set_state(mad::PortState::active));
  after(to_switch, 2, set_state(mad::PortState::down));
  const std::vector<std::pair<PortId, PortEvent>> expected = {{id_of(hosts[1], 1), PortEvent::active},
                                                              {id_of(hosts[1], 1), PortEvent::error}};
  EXPECT_EQ(events, expected);
}

// As ibportstate writes them: PortState at "no change", PortPhysicalState disabled or polling.
TEST_F(PortInfoTest, PortsAreDisabledAndEnabled) {
  const auto set_physical = [](Physical state) {
    return [state](PortInfo& info) { info.port_physical_state = state; };
  };
  auto info = after(to_switch, 2, set_physical(Physical::disabled));
  EXPECT_EQ(info.port_state, mad::PortState::down);
  EXPECT_EQ(info.port_physical_state, Physical::disabled);
  EXPECT_EQ(state_of(hosts[1], 1), mad::PortState::down);
  EXPECT_EQ(port(hosts[1], 1).info.port_physical_state, Physical::polling);
  info = after(to_switch, 2, set_physical(Physical::polling));
  EXPECT_EQ(info.port_state, mad::PortState::initialize);
  EXPECT_EQ(info.port_physical_state, Physical::link_up);
  const std::uint64_t downs = engine.port(leaf, 2)->counters.link_downed;
  EXPECT_EQ(downs, 1U);
  after(to_switch, 2, set_physical(Physical::polling));
  EXPECT_EQ(engine.port(leaf, 2)->counters.link_downed, 2U) << "a reset takes it down and up";
  info = after(to_switch, 4, set_physical(Physical::disabled));
  EXPECT_EQ(info.port_physical_state, Physical::disabled) << "without a cable too";
  info = after(to_switch, 4, set_physical(Physical::sleep));
  EXPECT_EQ(info.port_physical_state, Physical::sleep);
}

TEST_F(PortInfoTest, TheAnswerIsLostWithTheLink) {
  const PortInfo before = port(leaf, 1).info;
  mad::PortInfo wanted = before;
  wanted.port_state = mad::PortState::no_change;
  wanted.port_physical_state = Physical::disabled;
  EXPECT_FALSE(manager.ask(manager.request(to_switch, mad::Method::set, 1, wanted)).has_value());
  EXPECT_EQ(port(leaf, 1).info.port_physical_state, Physical::disabled);
}

TEST_F(PortInfoTest, PortStateChangeIsOfLinksAndNotOfManagers) {
  const auto clear = [this] {
    auto info = manager.get<mad::SwitchInfo>(to_switch);
    info.port_state_change = true;
    manager.set(to_switch, info);
    EXPECT_FALSE(agents.node(leaf)->switch_info.port_state_change);
  };
  clear();
  after(to_switch, 2, [](PortInfo& info) { info.port_state = mad::PortState::armed; });
  after(to_switch, 2, [](PortInfo& info) { info.port_state = mad::PortState::active; });
  after(to_switch, 2, [](PortInfo& info) { info.port_physical_state = Physical::disabled; });
  EXPECT_FALSE(agents.node(leaf)->switch_info.port_state_change);
  after(to_switch, 2, [](PortInfo& info) { info.port_physical_state = Physical::polling; });
  EXPECT_TRUE(agents.node(leaf)->switch_info.port_state_change) << "the link has come up";
  clear();
  engine.set_connected(LinkId(2), false);
  EXPECT_TRUE(agents.node(leaf)->switch_info.port_state_change);
}

TEST(PortStateCommands, OfAllCodes) {
  for (unsigned current = 1; current <= 4; ++current) {
    for (unsigned state = 0; state <= 15; ++state) {
      for (unsigned physical = 0; physical <= 15; ++physical) {
        const auto command = command_of(mad::PortState(current), mad::PortState(state), Physical(physical));
        const bool known =
            (state <= 1 && physical <= 3) || (physical == 0 && (state == 3 || state == 4) && current >= 2 &&
                                              (current == state || current + 1 == state));
        EXPECT_EQ(command.has_value(), known) << current << ' ' << state << ' ' << physical;
      }
    }
  }
}

}  // namespace
}  // namespace softrnic::fabric
