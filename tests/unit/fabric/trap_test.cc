// Traps: when they arise, how they are repeated, and that they end.
#include <gtest/gtest.h>

#include "fabric/trap_queue.h"
#include "mad/forwarding_tables.h"
#include "mad/p_key_table.h"
#include "mad/time_code.h"
#include "tests/unit/fabric/agents_fixture.h"

namespace softrnic::fabric {
namespace {

using mad::Trap;
using std::chrono::seconds;

mad::Notice notice_of(std::uint16_t number) {
  mad::Notice notice;
  notice.trap_number = number;
  return notice;
}

TEST(TrapQueue, RepeatsTheFirstUntilItIsHeard) {
  TrapQueue queue;
  EXPECT_EQ(queue.next_deadline(), kNever);
  queue.push(notice_of(128), 1);
  queue.push(notice_of(144), 2);
  const TimePoint start{};
  EXPECT_LE(queue.next_deadline(), start);
  for (int i = 0; i < 3; ++i) {
    const auto trap = queue.take_due(start + i * seconds(1), seconds(1));
    ASSERT_TRUE(trap.has_value());
    EXPECT_EQ(trap->notice.trap_number, 128);
    EXPECT_EQ(trap->transaction, 1U);
    EXPECT_EQ(queue.next_deadline(), start + (i + 1) * seconds(1));
  }
  EXPECT_FALSE(queue.take_due(start + seconds(2), seconds(1)).has_value());
  EXPECT_FALSE(queue.repress(2)) << "that one was not sent yet";
  EXPECT_TRUE(queue.repress(1));
  EXPECT_FALSE(queue.repress(1));
  EXPECT_FALSE(queue.take_due(start + seconds(2), seconds(1)).has_value()) << "no two in one interval";
  EXPECT_EQ(queue.take_due(start + seconds(3), seconds(1))->notice.trap_number, 144);
  EXPECT_TRUE(queue.repress(2));
  EXPECT_EQ(queue.next_deadline(), kNever);
}

TEST(TrapQueue, IsBoundedAndHoldsNothingTwice) {
  TrapQueue queue;
  EXPECT_TRUE(queue.push(notice_of(128), 1));
  EXPECT_FALSE(queue.push(notice_of(128), 2)) << "not sent yet: it tells of this one too";
  queue.take_due({}, seconds(1));
  EXPECT_TRUE(queue.push(notice_of(128), 2)) << "what happens after it was sent is news";
  for (std::uint16_t i = 0; i < 100; ++i) queue.push(notice_of(1000 + i), i);
  EXPECT_EQ(queue.size(), TrapQueue::kCapacity);
}

/// Host 0 with the manager, LID 1, and host 1, LID 2, at a switch of LID 3; all is active.
class TrapsTest : public ::testing::Test, public AgentsFabric {
 protected:
  TrapsTest() {
    links[0] = link(hosts[0], 1, leaf, 1);
    links[1] = link(hosts[1], 1, leaf, 2);
    agents.set_sm(id_of(hosts[0], 1), true);
    mad::LinearForwardingTable table;
    table.ports.fill(255);
    table.ports[1] = 1;
    table.ports[2] = 2;
    table.ports[3] = 0;
    manager.set({1}, table);
    auto info = manager.get<mad::SwitchInfo>({1});
    info.linear_fdb_top = 3;
    manager.set({1}, info);
    for (const mad::PortState state : {mad::PortState::armed, mad::PortState::active}) {
      set_state({}, 0, 1, state);
      set_state({1}, 1, 0, state);
      set_state({1}, 2, 0, state);
      set_state({1, 2}, 0, 2, state);
    }
    set_state({1}, 0, 3, mad::PortState::no_change);
    hear_all();
  }
  void set_state(const Path& path, std::uint32_t modifier, std::uint16_t lid, mad::PortState state) {
    manager.change_port(path, modifier, [&](mad::PortInfo& info) {
      if (lid != 0) info.lid = wire::Lid(lid), info.master_sm_lid = wire::Lid(1);
      info.port_state = state;
    });
  }
  /// Answers all traps as soon as they come, until none has come for long; their numbers in order.
  std::vector<std::uint16_t> hear_all() {
    std::vector<std::uint16_t> heard;
    notices.clear();
    for (int quiet = 0; quiet < 30; ++quiet) {
      seen.clear();
      run(std::chrono::milliseconds(100));
      for (const Seen& each : std::vector<Seen>(seen)) {
        const auto smp = mad::decode<mad::Smp>(each.datagram.mad);
        if (smp.method != mad::Method::trap || each.endport != id_of(hosts[0], 1)) continue;
        notices.push_back(mad::decode<mad::Notice>(smp.data));
        heard.push_back(notices.back().trap_number);
        repress(smp, each.datagram.slid);
        quiet = 0;
      }
    }
    return heard;
  }
  void repress(mad::Smp smp, wire::Lid to) {
    smp.method = mad::Method::trap_repress;
    Datagram datagram;
    datagram.dlid = to;
    datagram.mad = mad::encoded(smp);
    agents.send(id_of(hosts[0], 1), datagram);
  }
  std::size_t traps_seen() const {
    return static_cast<std::size_t>(std::count_if(seen.begin(), seen.end(), [](const Seen& each) {
      return mad::decode<mad::Smp>(each.datagram.mad).method == mad::Method::trap;
    }));
  }

  NodeId hosts[2] = {add_adapter(), add_adapter()};
  NodeId leaf = add_switch(4);
  LinkId links[2];
  HandManager manager{*this, id_of(hosts[0], 1)};
  std::vector<mad::Notice> notices;
};

TEST_F(TrapsTest, ALinkThatChangesIsReportedByTheSwitch) {
  engine.set_connected(links[1], false);
  EXPECT_EQ(hear_all(), (std::vector<std::uint16_t>{128}));
  EXPECT_EQ(notices[0].details_as<mad::LinkStateDetails>().lid, wire::Lid(3));
  EXPECT_EQ(notices[0].producer_type, 2U);
  EXPECT_EQ(notices[0].type, mad::NoticeType::urgent);
  engine.set_connected(links[1], true);
  EXPECT_EQ(hear_all(), (std::vector<std::uint16_t>{128}));
}

TEST_F(TrapsTest, AreRepeatedAtTheSubnetTimeOut) {
  manager.change_port({1}, 0, [](mad::PortInfo& info) { info.subnet_timeout = 20; });
  engine.set_connected(links[1], false);
  seen.clear();
  run();
  EXPECT_EQ(traps_seen(), 1U);
  run(mad::time_of(20) - Duration(1));
  EXPECT_EQ(traps_seen(), 1U);
  run(Duration(1));
  EXPECT_EQ(traps_seen(), 2U);
  const auto trap = mad::decode<mad::Smp>(seen.back().datagram.mad);
  EXPECT_EQ(trap.transaction, mad::decode<mad::Smp>(seen.front().datagram.mad).transaction);
  EXPECT_EQ(trap.m_key, 0U);
  repress(trap, seen.back().datagram.slid);
  run(10 * mad::time_of(20));
  EXPECT_EQ(traps_seen(), 2U);
  EXPECT_EQ(agents.next_deadline(), kNever);
}

TEST_F(TrapsTest, KeepNobodyBusyHoweverShortTheSubnetTimeOut) {
  manager.change_port({1}, 0, [](mad::PortInfo& info) { info.subnet_timeout = 0; });
  engine.set_connected(links[1], false);
  seen.clear();
  run(std::chrono::milliseconds(10));
  EXPECT_GE(traps_seen(), 10U);
  EXPECT_LE(traps_seen(), 11U);
}

TEST_F(TrapsTest, WaitForAManagerAndAWay) {
  set_state({1}, 2, 0, mad::PortState::down);
  hear_all();
  agents.set_description(hosts[1], "offline");
  EXPECT_EQ(hear_all(), std::vector<std::uint16_t>{}) << "its port is not active";
  for (const mad::PortState state : {mad::PortState::armed, mad::PortState::active}) {
    set_state({1}, 2, 0, state);
    set_state({1, 2}, 0, 2, state);
  }
  EXPECT_EQ(hear_all(), (std::vector<std::uint16_t>{144}));
}

TEST_F(TrapsTest, LocalChanges) {
  agents.set_description(hosts[1], "new name");
  EXPECT_EQ(hear_all(), (std::vector<std::uint16_t>{144}));
  auto details = notices[0].details_as<mad::LocalChangesDetails>();
  EXPECT_TRUE(details.other_local_changes && details.node_description_change);
  EXPECT_EQ(details.lid, wire::Lid(2));
  agents.set_sm(id_of(hosts[1], 1), true);
  agents.set_sm(id_of(hosts[1], 1), true);
  EXPECT_EQ(hear_all(), (std::vector<std::uint16_t>{144}));
  details = notices[0].details_as<mad::LocalChangesDetails>();
  EXPECT_FALSE(details.other_local_changes);
  EXPECT_NE(details.capability_mask & mad::port_capability::kIsSm, 0U);
  manager.change_port({1}, 2, [](mad::PortInfo& info) { info.link_width_enabled = 1; });
  EXPECT_EQ(hear_all(), (std::vector<std::uint16_t>{144}));
  EXPECT_TRUE(notices[0].details_as<mad::LocalChangesDetails>().link_width_enabled_change);
  agents.set_system_image_guid(hosts[1], mad::Guid(77));
  EXPECT_EQ(hear_all(), (std::vector<std::uint16_t>{145}));
  EXPECT_EQ(notices[0].details_as<mad::SystemImageGuidDetails>().system_image_guid, mad::Guid(77));
}

TEST_F(TrapsTest, BadKeysOfHosts) {
  const mad::BadKeyDetails details{.lid1 = wire::Lid(9), .lid2 = wire::Lid(2), .key = 0x8005, .qp1 = Qpn(7)};
  EXPECT_TRUE(agents.report_bad_p_key(id_of(hosts[1], 1), details));
  EXPECT_TRUE(agents.report_bad_q_key(id_of(hosts[1], 1), details));
  EXPECT_FALSE(agents.report_bad_p_key(id_of(leaf, 1), details)) << "no endport";
  EXPECT_EQ(hear_all(), (std::vector<std::uint16_t>{257, 258}));
  EXPECT_EQ(notices[0].details_as<mad::BadKeyDetails>().key, 0x8005U);
  EXPECT_EQ(port(hosts[1], 1).info.p_key_violations, 1);
  EXPECT_EQ(port(hosts[1], 1).info.q_key_violations, 1);
  const auto info =
      manager.change_port({1, 2}, 0, [](mad::PortInfo& wanted) { wanted.p_key_violations = 0; });
  EXPECT_EQ(info.p_key_violations, 0);
  EXPECT_EQ(info.q_key_violations, 1);
}

TEST_F(TrapsTest, ThresholdsOfErrors) {
  manager.change_port({1}, 2,
                      [](mad::PortInfo& info) { info.local_phy_errors = 2, info.overrun_errors = 0; });
  const PortId id = id_of(leaf, 2);
  for (int i = 0; i < 7; ++i) agents.on_fault(id, PortFault::physical_error, nullptr);
  agents.on_fault(id, PortFault::buffer_overrun, nullptr);
  EXPECT_EQ(hear_all(), (std::vector<std::uint16_t>{129, 130}));
  EXPECT_EQ(notices[0].details_as<mad::ThresholdDetails>().port, 2);
  EXPECT_EQ(notices[0].details_as<mad::ThresholdDetails>().lid, wire::Lid(3));
  EXPECT_EQ(port(leaf, 2).local_link_integrity_errors, 2U);
  EXPECT_EQ(port(leaf, 2).excessive_buffer_overrun_errors, 1U);
}

TEST_F(TrapsTest, PartitionsOfASwitchPort) {
  manager.set<mad::PKeyTable>({1}, {.p_keys = {0x8005}}, 2U << 16);
  manager.change_port({1}, 2, [](mad::PortInfo& info) { info.partition_enforcement_outbound = true; });
  Datagram datagram;
  datagram.dlid = wire::Lid(2);
  datagram.source = datagram.destination = kGsiQpn;
  datagram.q_key = kGsiQkey;
  agents.send(id_of(hosts[0], 1), datagram);
  run();
  EXPECT_EQ(hear_all(), (std::vector<std::uint16_t>{259}));
  const auto details = notices[0].details_as<mad::SwitchBadPKeyDetails>();
  EXPECT_EQ(details.lid1, wire::Lid(1));
  EXPECT_EQ(details.lid2, wire::Lid(2));
  EXPECT_EQ(details.p_key, 0xffff);
  EXPECT_EQ(details.qp2, kGsiQpn);
  EXPECT_EQ(details.switch_lid, wire::Lid(3));
  EXPECT_EQ(details.port, 2);
}

}  // namespace
}  // namespace softrnic::fabric
