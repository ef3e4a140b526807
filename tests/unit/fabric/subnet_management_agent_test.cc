// What the SMA answers, asked through the engine.
#include "fabric/subnet_management_agent.h"

#include <gtest/gtest.h>

#include "mad/diagnostics.h"
#include "mad/forwarding_tables.h"
#include "mad/guid_info.h"
#include "mad/notice.h"
#include "mad/p_key_table.h"
#include "mad/sm_info.h"
#include "mad/virtual_lane_tables.h"
#include "tests/unit/fabric/agents_fixture.h"

namespace softrnic::fabric {
namespace {

using mad::Method;
using mad::Status;

/// Host 0, whose manager it is, at port 1 of a switch of 20 ports; host 1 at port 2.
class Sma : public ::testing::Test, public AgentsFabric {
 protected:
  Sma() {
    for (std::uint8_t i = 0; i < 2; ++i) link(hosts[i], 1, leaf, static_cast<std::uint8_t>(i + 1));
  }
  Status status_of(std::uint16_t attribute, Method method, const Path& path = {1},
                   std::uint32_t modifier = 0) {
    mad::Smp smp = directed(path);
    smp.method = method;
    smp.attribute = attribute;
    smp.modifier = modifier;
    const auto answer = manager.ask(smp);
    EXPECT_TRUE(answer.has_value());
    return answer ? mad::common_status(answer->status) : Status::busy;
  }

  NodeId hosts[2] = {add_adapter(), add_adapter()};
  NodeId leaf = add_switch(20);
  HandManager manager{*this, id_of(hosts[0], 1)};
  const Path own{};
  const Path to_switch{1};
  const Path to_host{1, 2};
};

TEST_F(Sma, NodeInfoSaysByWhichPortItWasAsked) {
  const auto self = manager.get<mad::NodeInfo>(own);
  EXPECT_EQ(self.node_type, mad::NodeType::channel_adapter);
  EXPECT_EQ(self.node_guid, guid_of(hosts[0], 0));
  EXPECT_EQ(self.port_guid, guid_of(hosts[0], 1));
  EXPECT_EQ(self.local_port_num, 1);
  const auto info = manager.get<mad::NodeInfo>(to_switch);
  EXPECT_EQ(info.node_type, mad::NodeType::switch_node);
  EXPECT_EQ(info.num_ports, 20);
  EXPECT_EQ(info.port_guid, guid_of(leaf, 0));
  EXPECT_EQ(info.local_port_num, 1);
  EXPECT_EQ(manager.get<mad::NodeInfo>(to_host).node_guid, guid_of(hosts[1], 0));
  const auto beyond = manager.request({1, 2, 1}, Method::get, 0, mad::NodeInfo{});
  EXPECT_FALSE(manager.ask(beyond).has_value()) << "an adapter passes nothing on";
}

TEST_F(Sma, RefusesWithTheStatusOfTheSpecification) {
  EXPECT_EQ(status_of(mad::NodeInfo::kAttribute, Method::set), Status::bad_method_attribute);
  EXPECT_EQ(status_of(mad::NodeInfo::kAttribute, Method::get, {1}, 5), Status::bad_attribute_value);
  EXPECT_EQ(status_of(mad::NodeInfo::kAttribute, Method::report), Status::bad_method);
  EXPECT_EQ(status_of(mad::NodeInfo::kAttribute, Method{0x44}), Status::bad_method);
  EXPECT_EQ(status_of(mad::SwitchInfo::kAttribute, Method::get, {1, 2}), Status::bad_method_attribute);
  EXPECT_EQ(status_of(mad::LinearForwardingTable::kAttribute, Method::get, {1, 2}),
            Status::bad_method_attribute);
  for (const std::uint16_t id : {mad::RandomForwardingTable::kAttribute, mad::SmInfo::kAttribute,
                                 mad::Notice::kAttribute, std::uint16_t{0x32}, std::uint16_t{0xff90}}) {
    EXPECT_EQ(status_of(id, Method::get), Status::bad_method_attribute) << id;
  }
  EXPECT_EQ(status_of(mad::VendorDiag::kAttribute, Method::get), Status::ok);
  EXPECT_EQ(status_of(mad::VendorDiag::kAttribute, Method::get, {1}, 1), Status::bad_attribute_value);
  EXPECT_EQ(status_of(mad::VendorDiag::kAttribute, Method::set), Status::bad_method_attribute);
}

TEST_F(Sma, OtherVersionsAreToldSo) {
  mad::Smp smp = directed(to_switch);
  smp.method = Method::set;
  smp.attribute = mad::NodeDescription::kAttribute;
  smp.class_version = 2;
  const auto answer = manager.ask(smp);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(mad::common_status(answer->status), Status::bad_version);
  EXPECT_EQ(agents.node(leaf)->description.view(), "node 2");
}

TEST_F(Sma, DescriptionsCanBeSet) {
  EXPECT_EQ(manager.get<mad::NodeDescription>(to_host).view(), "node 1");
  EXPECT_EQ(manager.set(to_host, mad::NodeDescription::of("renamed")).view(), "renamed");
  EXPECT_EQ(manager.get<mad::NodeDescription>(to_host).view(), "renamed");
}

TEST_F(Sma, SwitchInfoKeepsWhatIsReadOnly) {
  const auto before = manager.get<mad::SwitchInfo>(to_switch);
  EXPECT_TRUE(before.port_state_change);
  auto wanted = before;
  wanted.linear_fdb_cap = wanted.random_fdb_cap = wanted.multicast_fdb_cap = 1;
  wanted.partition_enforcement_cap = 1;
  wanted.inbound_enforcement_cap = wanted.enhanced_port0 = !before.inbound_enforcement_cap;
  wanted.linear_fdb_top = 77;
  wanted.life_time_value = 18;
  wanted.default_multicast_primary_port = 3;
  wanted.port_state_change = false;
  const auto after = manager.set(to_switch, wanted);
  EXPECT_EQ(manager.status, Status::ok);
  EXPECT_EQ(after.linear_fdb_cap, before.linear_fdb_cap);
  EXPECT_EQ(after.multicast_fdb_cap, before.multicast_fdb_cap);
  EXPECT_EQ(after.partition_enforcement_cap, before.partition_enforcement_cap);
  EXPECT_EQ(after.enhanced_port0, before.enhanced_port0);
  EXPECT_EQ(after.linear_fdb_top, 77);
  EXPECT_EQ(after.default_multicast_primary_port, 3);
  EXPECT_TRUE(after.port_state_change) << "writing 0 leaves it";
  wanted.port_state_change = true;
  EXPECT_FALSE(manager.set(to_switch, wanted).port_state_change);
  EXPECT_EQ(engine.node(leaf)->lifetime, lifetime_of(18));
}

TEST_F(Sma, SwitchInfoRefusesWhatItCannot) {
  const auto before = manager.get<mad::SwitchInfo>(to_switch);
  const std::function<void(mad::SwitchInfo&)> changes[] = {
      [](auto& info) { info.linear_fdb_top = info.linear_fdb_cap; },
      [](auto& info) { info.default_multicast_primary_port = 21; },
      [](auto& info) { info.default_multicast_not_primary_port = 200; },
      [](auto& info) { info.multicast_fdb_top = 0xbffe; },
      [](auto& info) { info.multicast_fdb_top = 0xd000; },
  };
  for (const auto& change : changes) {
    auto wanted = before;
    wanted.life_time_value = 7;
    change(wanted);
    const auto after = manager.set(to_switch, wanted);
    EXPECT_EQ(manager.status, Status::bad_attribute_value);
    EXPECT_EQ(mad::encoded(after), mad::encoded(before));
  }
}

TEST_F(Sma, TheFirstGuidStays) {
  mad::GuidInfo wanted;
  for (std::size_t i = 0; i < wanted.guids.size(); ++i) wanted.guids[i] = mad::Guid(i + 100);
  const auto after = manager.set(to_host, wanted);
  EXPECT_EQ(after.guids[0], guid_of(hosts[1], 1));
  EXPECT_EQ(after.guids[7], mad::Guid(107));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0], (std::pair{id_of(hosts[1], 1), PortEvent::gid_change}));
  EXPECT_EQ(status_of(mad::GuidInfo::kAttribute, Method::get, {1, 2}, 1), Status::bad_attribute_value);
  EXPECT_EQ(status_of(mad::GuidInfo::kAttribute, Method::get, {1, 2}, 0x20000000),
            Status::bad_attribute_value);
}

TEST_F(Sma, LampsAreOfPorts) {
  manager.set(to_switch, mad::LedInfo{.led_mask = true}, 7);
  EXPECT_TRUE(manager.get<mad::LedInfo>(to_switch, 7).led_mask);
  EXPECT_FALSE(manager.get<mad::LedInfo>(to_switch, 8).led_mask);
  EXPECT_EQ(status_of(mad::LedInfo::kAttribute, Method::set, {1}, 21), Status::bad_attribute_value);
}

TEST_F(Sma, PKeyBlocksOfSwitchAndAdapterPorts) {
  mad::PKeyTable table;
  table.p_keys[0] = 0xffff;
  table.p_keys[31] = 0x8001;
  manager.set(to_switch, table, 3U << 16);
  EXPECT_EQ(manager.status, Status::ok);
  EXPECT_EQ(manager.get<mad::PKeyTable>(to_switch, 3U << 16).p_keys[31], 0x8001);
  EXPECT_EQ(manager.get<mad::PKeyTable>(to_switch, 4U << 16).p_keys[31], 0);
  EXPECT_TRUE(engine.port(leaf, 3)->partitions.admits_out(0x0001));
  EXPECT_TRUE(events.empty()) << "no host is behind the port of a switch";
  // An adapter has its one port whatever the modifier says, and 128 entries.
  manager.set(to_host, table, (9U << 16) | 3);
  EXPECT_EQ(manager.get<mad::PKeyTable>(to_host, 3).p_keys[31], 0x8001);
  EXPECT_EQ(events.back(), (std::pair{id_of(hosts[1], 1), PortEvent::p_key_change}));
  EXPECT_TRUE(port(hosts[1], 1).admits(0x0001));
  EXPECT_FALSE(port(hosts[1], 1).admits(0x0002));
  manager.set(to_host, table, 4);
  EXPECT_EQ(manager.status, Status::bad_attribute_value);
  manager.set(to_switch, table, (3U << 16) | 1);
  EXPECT_EQ(manager.status, Status::bad_attribute_value);
  manager.set(to_switch, table, (21U << 16));
  EXPECT_EQ(manager.status, Status::bad_attribute_value);
  manager.set(to_switch, table, 3);
  EXPECT_EQ(manager.status, Status::ok) << "port 0 has as many as an adapter";
}

std::uint32_t sl_to_vl(std::uint8_t input, std::uint8_t output) { return input * 256U + output; }

TEST_F(Sma, SlToVlRowsByInputAndOutput) {
  EXPECT_EQ(manager.get<mad::SlToVlMappingTable>(to_switch, sl_to_vl(1, 2)).vl_of_sl[9], 1)
      << "modulo the operational VLs until it is set";
  mad::SlToVlMappingTable table;
  table.vl_of_sl.fill(3);
  manager.set(to_switch, table, sl_to_vl(1, 2));
  EXPECT_EQ(manager.get<mad::SlToVlMappingTable>(to_switch, sl_to_vl(1, 2)).vl_of_sl[9], 3);
  EXPECT_EQ(manager.get<mad::SlToVlMappingTable>(to_switch, sl_to_vl(2, 1)).vl_of_sl[9], 1);
  EXPECT_EQ(engine.port(leaf, 2)->map_vl(1, 9), 3);
  table.vl_of_sl.fill(2);
  manager.set(to_switch, table, 0x00030000);
  EXPECT_EQ(manager.status, Status::ok) << "all ports at once";
  EXPECT_EQ(manager.get<mad::SlToVlMappingTable>(to_switch, sl_to_vl(20, 20)).vl_of_sl[0], 2);
  manager.set(to_host, table);
  EXPECT_EQ(engine.port(hosts[1], 1)->map_vl(0, 15), 2);
  for (const std::uint32_t bad : {sl_to_vl(21, 1), sl_to_vl(1, 21), sl_to_vl(1, 0)}) {
    EXPECT_EQ(status_of(mad::SlToVlMappingTable::kAttribute, Method::get, {1}, bad),
              Status::bad_attribute_value);
  }
}

TEST_F(Sma, ArbitrationTablesInHalves) {
  mad::VlArbitrationTable table;
  for (std::uint8_t half = 1; half <= 4; ++half) {
    table.entries[31] = {.vl = half, .weight = static_cast<std::uint8_t>(half * 10)};
    manager.set(to_switch, table, (std::uint32_t{half} << 16) | 5);
    EXPECT_EQ(manager.status, Status::ok);
  }
  for (std::uint8_t half = 1; half <= 4; ++half) {
    const auto read = manager.get<mad::VlArbitrationTable>(to_switch, (std::uint32_t{half} << 16) | 5);
    EXPECT_EQ(read.entries[31].vl, half);
    EXPECT_EQ(read.entries[31].weight, half * 10);
  }
  EXPECT_EQ(port(leaf, 5).high_priority[63].weight, 40);
  mad::VlArbitrationTable empty;
  for (std::uint32_t half = 1; half <= 4; ++half) manager.set(to_switch, empty, (half << 16) | 5);
  EXPECT_FALSE(engine.arbiter(id_of(leaf, 5))->choose(vl_bit(0)).has_value());
  EXPECT_TRUE(engine.arbiter(id_of(leaf, 6))->choose(vl_bit(0)).has_value());
  for (const std::uint32_t bad : {0x00000005U, 0x00050005U, 0x01010005U, 0x00010015U, 0x00010000U}) {
    EXPECT_EQ(status_of(mad::VlArbitrationTable::kAttribute, Method::get, {1}, bad),
              Status::bad_attribute_value);
  }
}

TEST_F(Sma, ForwardingTablesAreTheEngines) {
  mad::LinearForwardingTable table;
  table.ports.fill(255);
  table.ports[3] = 9;
  manager.set(to_switch, table, 2);
  EXPECT_EQ(manager.get<mad::LinearForwardingTable>(to_switch, 2).ports[3], 9);
  EXPECT_EQ(engine.node(leaf)->forwarding.unicast(wire::Lid(131)), 255) << "above the top of 0";
  auto info = manager.get<mad::SwitchInfo>(to_switch);
  info.linear_fdb_top = 200;
  manager.set(to_switch, info);
  EXPECT_EQ(engine.node(leaf)->forwarding.unicast(wire::Lid(131)), 9);
  EXPECT_EQ(status_of(mad::LinearForwardingTable::kAttribute, Method::set, {1}, 768),
            Status::bad_attribute_value);
  EXPECT_EQ(status_of(mad::LinearForwardingTable::kAttribute, Method::set, {1}, 0x10000),
            Status::bad_attribute_value);
}

TEST_F(Sma, MulticastMasksByBlockAndPosition) {
  mad::MulticastForwardingTable table;
  table.port_masks[1] = 0x0011;  // ports 16 and 20
  manager.set(to_switch, table, 0x10000002);
  EXPECT_EQ(manager.status, Status::ok);
  EXPECT_EQ(manager.get<mad::MulticastForwardingTable>(to_switch, 0x10000002).port_masks[1], 0x0011);
  EXPECT_EQ(manager.get<mad::MulticastForwardingTable>(to_switch, 0x00000002).port_masks[1], 0);
  const PortMask ports = engine.node(leaf)->forwarding.multicast(wire::Lid(0xc041), 1);
  EXPECT_TRUE(ports[16] && ports[20] && ports.count() == 2);
  for (const std::uint32_t bad : {0x20000000U, 0x00000080U, 0xf00001ffU}) {
    EXPECT_EQ(status_of(mad::MulticastForwardingTable::kAttribute, Method::set, {1}, bad),
              Status::bad_attribute_value);
  }
}

TEST_F(Sma, SmInfoIsTheManagersWhereOneRuns) {
  agents.set_sm(id_of(hosts[1], 1), true);
  mad::Smp smp = directed(to_host);
  smp.method = Method::get;
  smp.attribute = mad::SmInfo::kAttribute;
  EXPECT_FALSE(manager.ask(smp).has_value());
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].endport, id_of(hosts[1], 1));
  // What it answers finds its way.
  auto answer = mad::decode<mad::Smp>(seen[0].datagram.mad);
  answer.method = Method::get_response;
  answer.returning = true;
  Datagram reply = answer_to(seen[0].datagram, {});
  reply.mad = mad::encoded(answer);
  seen.clear();
  EXPECT_TRUE(agents.send(id_of(hosts[1], 1), reply));
  run();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].endport, id_of(hosts[0], 1));
  EXPECT_EQ(mad::decode<mad::Smp>(seen[0].datagram.mad).hop_pointer, 0);
}

}  // namespace
}  // namespace softrnic::fabric
