#include "fabric/m_key.h"

#include <gtest/gtest.h>

#include "mad/forwarding_tables.h"
#include "mad/notice.h"
#include "tests/unit/fabric/agents_fixture.h"

namespace softrnic::fabric {
namespace {

using mad::Method;
using std::chrono::seconds;

constexpr std::uint64_t kKey = 0x1122334455667788;

ManagedPort endport_with(std::uint8_t protect_bits, std::uint16_t lease = 0) {
  ManagedPort port;
  port.info.m_key = kKey;
  port.info.m_key_protect_bits = protect_bits;
  port.info.m_key_lease_period = lease;
  return port;
}
mad::Smp smp_of(Method method, std::uint64_t key) {
  mad::Smp smp;
  smp.method = method;
  smp.m_key = key;
  return smp;
}

TEST(MKey, WithoutOneEverybodyMay) {
  ManagedPort port = endport_with(3);
  port.info.m_key = 0;
  EXPECT_TRUE(admit_by_m_key(port, smp_of(Method::set, 5), {}));
  EXPECT_EQ(port.info.m_key_violations, 0);
}

// IBTA 14.2.4.1, the table of protection levels.
TEST(MKey, ProtectionLevels) {
  struct Row {
    std::uint8_t bits;
    bool gets;
    bool shows;
  };
  for (const Row& row :
       {Row{0, true, true}, Row{1, true, false}, Row{2, false, false}, Row{3, false, false}}) {
    ManagedPort port = endport_with(row.bits);
    EXPECT_EQ(admit_by_m_key(port, smp_of(Method::get, 0), {}), row.gets) << int{row.bits};
    EXPECT_EQ(shows_m_key(port, smp_of(Method::get, 0)), row.shows) << int{row.bits};
    EXPECT_FALSE(admit_by_m_key(port, smp_of(Method::set, 0), {})) << int{row.bits};
    EXPECT_FALSE(admit_by_m_key(port, smp_of(Method::trap_repress, 0), {})) << int{row.bits};
    EXPECT_TRUE(admit_by_m_key(port, smp_of(Method::set, kKey), {})) << int{row.bits};
    EXPECT_TRUE(shows_m_key(port, smp_of(Method::get, kKey)));
    EXPECT_EQ(port.info.m_key_violations, row.gets ? 2 : 3);
  }
}

TEST(MKey, ViolationsAreCountedUpToTheirWidth) {
  ManagedPort port = endport_with(0);
  port.info.m_key_violations = 0xfffe;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(admit_by_m_key(port, smp_of(Method::set, 1), {}));
  EXPECT_EQ(port.info.m_key_violations, 0xffff);
}

TEST(MKey, ALeaseRunsFromTheFirstViolation) {
  ManagedPort port = endport_with(2, 10);
  const TimePoint start{};
  EXPECT_FALSE(admit_by_m_key(port, smp_of(Method::set, 1), start));
  EXPECT_FALSE(admit_by_m_key(port, smp_of(Method::set, 1), start + seconds(9)));
  EXPECT_TRUE(admit_by_m_key(port, smp_of(Method::get, 1), start + seconds(10))) << "protection is off";
  EXPECT_EQ(port.info.m_key_protect_bits, 0);
  EXPECT_EQ(port.info.m_key, kKey);
  EXPECT_FALSE(admit_by_m_key(port, smp_of(Method::set, 1), start + seconds(11))) << "the key is not";
}

TEST(MKey, WhoHasTheKeyStopsTheLease) {
  ManagedPort port = endport_with(2, 10);
  const TimePoint start{};
  EXPECT_FALSE(admit_by_m_key(port, smp_of(Method::set, 1), start));
  EXPECT_TRUE(admit_by_m_key(port, smp_of(Method::get, kKey), start + seconds(5)));
  EXPECT_FALSE(admit_by_m_key(port, smp_of(Method::get, 1), start + seconds(12)));
  EXPECT_EQ(port.info.m_key_protect_bits, 2);
}

TEST(MKey, ALeaseOfNoSecondsNeverEnds) {
  ManagedPort port = endport_with(3, 0);
  EXPECT_FALSE(admit_by_m_key(port, smp_of(Method::set, 1), {}));
  EXPECT_FALSE(admit_by_m_key(port, smp_of(Method::get, 1), TimePoint{} + seconds(1'000'000)));
}

// Through the fabric: no answer, and trap 256 with the path of the one that tried.
TEST(MKey, ABadOneIsReported) {
  AgentsFabric fabric;
  const NodeId host = fabric.add_adapter();
  const NodeId leaf = fabric.add_switch(2);
  fabric.link(host, 1, leaf, 1);
  HandManager manager(fabric, fabric.id_of(host, 1));
  for (const mad::PortState state :
       {mad::PortState::no_change, mad::PortState::armed, mad::PortState::active}) {
    manager.change_port({}, 0,
                        [state](mad::PortInfo& info) { info.port_state = state, info.lid = wire::Lid(1); });
    manager.change_port({1}, 1, [state](mad::PortInfo& info) { info.port_state = state; });
  }
  mad::LinearForwardingTable table;
  table.ports.fill(255);
  table.ports[1] = 1;
  table.ports[2] = 0;
  manager.set({1}, table);
  auto info = manager.get<mad::SwitchInfo>({1});
  info.linear_fdb_top = 5;
  manager.set({1}, info);
  manager.change_port({1}, 0, [](mad::PortInfo& wanted) {
    wanted.lid = wire::Lid(2);
    wanted.master_sm_lid = wire::Lid(1);
    wanted.m_key = kKey;
    wanted.m_key_protect_bits = 1;
  });
  EXPECT_EQ(manager.get<mad::PortInfo>({1}).m_key, 0U) << "hidden from those who do not have it";
  fabric.run(seconds(3));
  fabric.seen.clear();

  EXPECT_FALSE(manager.ask(manager.request({1}, Method::set, 0, mad::NodeDescription::of("x"))).has_value());
  EXPECT_EQ(fabric.port(leaf, 0).info.m_key_violations, 1);
  EXPECT_NE(fabric.agents.node(leaf)->description.view(), "x");
  ASSERT_EQ(fabric.seen.size(), 1U);
  const auto smp = mad::decode<mad::Smp>(fabric.seen[0].datagram.mad);
  EXPECT_EQ(smp.method, Method::trap);
  EXPECT_EQ(smp.m_key, 0U);
  const auto notice = mad::decode<mad::Notice>(smp.data);
  EXPECT_EQ(notice.trap_number, static_cast<std::uint16_t>(mad::Trap::bad_m_key));
  EXPECT_EQ(notice.type, mad::NoticeType::security);
  EXPECT_EQ(notice.issuer_lid, wire::Lid(2));
  const auto details = notice.details_as<mad::BadMKeyDetails>();
  EXPECT_EQ(details.method, static_cast<std::uint8_t>(Method::set));
  EXPECT_EQ(details.attribute, mad::NodeDescription::kAttribute);
  EXPECT_TRUE(details.dr_notice);
  EXPECT_FALSE(details.dr_path_truncated);
  EXPECT_EQ(details.dr_hop_count, 1);
  EXPECT_EQ(details.dr_return_path[0], 1);

  manager.m_key = kKey;
  manager.set({1}, mad::NodeDescription::of("x"));
  EXPECT_EQ(fabric.agents.node(leaf)->description.view(), "x");
  EXPECT_EQ(manager.get<mad::PortInfo>({1}).m_key, kKey);
}

}  // namespace
}  // namespace softrnic::fabric
