// Which packet goes to which agent, who gets the rest, and that no packet does harm.
#include "fabric/node_agents.h"

#include <gtest/gtest.h>

#include <random>

#include "mad/forwarding_tables.h"
#include "mad/port_counters.h"
#include "tests/unit/fabric/agents_fixture.h"

namespace softrnic::fabric {
namespace {

/// Host 0, LID 1, and host 1, LID 2, at a switch of LID 3; all is active.
class Agents : public ::testing::Test, public AgentsFabric {
 protected:
  Agents() {
    link(hosts[0], 1, leaf, 1);
    link(hosts[1], 1, leaf, 2);
    mad::LinearForwardingTable table;
    table.ports.fill(255);
    table.ports[1] = 1;
    table.ports[2] = 2;
    table.ports[3] = table.ports[4] = 0;
    manager.set({1}, table);
    auto info = manager.get<mad::SwitchInfo>({1});
    info.linear_fdb_top = 4;
    manager.set({1}, info);
    for (const mad::PortState state : {mad::PortState::armed, mad::PortState::active}) {
      set_state({}, 0, 1, state);
      set_state({1}, 1, 0, state);
      set_state({1}, 2, 0, state);
      set_state({1, 2}, 0, 2, state);
    }
    set_state({1}, 0, 3, mad::PortState::no_change);
    seen.clear();
    to_hosts.clear();
  }
  void set_state(const Path& path, std::uint32_t modifier, std::uint16_t lid, mad::PortState state) {
    manager.change_port(path, modifier, [&](mad::PortInfo& info) {
      if (lid != 0) info.lid = wire::Lid(lid);
      info.port_state = state;
    });
  }
  static Datagram general(mad::ManagementClass management_class, mad::Method method, std::uint16_t attribute,
                          std::uint16_t dlid) {
    Datagram datagram;
    datagram.dlid = wire::Lid(dlid);
    datagram.source = datagram.destination = kGsiQpn;
    datagram.q_key = kGsiQkey;
    mad::encode_header(
        {.management_class = management_class, .class_version = 1, .method = method, .attribute = attribute},
        datagram.mad);
    return datagram;
  }
  Datagram counters_of(std::uint16_t dlid, std::uint8_t port) {
    Datagram datagram =
        general(mad::ManagementClass::performance, mad::Method::get, mad::PortCounters::kAttribute, dlid);
    datagram.mad[mad::kPerformanceDataOffset + 1] = static_cast<std::byte>(port);
    return datagram;
  }
  void send(const Datagram& datagram) {
    EXPECT_TRUE(agents.send(id_of(hosts[0], 1), datagram));
    run();
  }

  NodeId hosts[2] = {add_adapter(), add_adapter()};
  NodeId leaf = add_switch(4);
  HandManager manager{*this, id_of(hosts[0], 1)};
};

TEST_F(Agents, AreAddedOnceToNodesThatThereAre) {
  EXPECT_FALSE(agents.add(leaf, {}));
  EXPECT_FALSE(agents.add(NodeId(99), {}));
  EXPECT_EQ(agents.node(NodeId(99)), nullptr);
  EXPECT_EQ(agents.port(PortId(9999)), nullptr);
  EXPECT_EQ(agents.port(engine.port(id_of(hosts[0], 1))->internal->id), nullptr);
  EXPECT_FALSE(agents.send(id_of(leaf, 1), {})) << "no endport";
  EXPECT_FALSE(agents.set_sm(PortId(9999), true));
}

// Firmware that comes after the cable finds the link up.
TEST(NodeAgentsOrder, LinksThatAreUpAreTrained) {
  AgentsFabric fabric;
  const NodeId a = *fabric.engine.add_adapter(1, {});
  const NodeId b = *fabric.engine.add_adapter(1, {});
  ASSERT_TRUE(fabric.engine.connect(fabric.id_of(a, 1), fabric.id_of(b, 1), {}, Duration(0)).has_value());
  EXPECT_TRUE(fabric.agents.add(a, {}));
  EXPECT_TRUE(fabric.trained.empty());
  EXPECT_TRUE(fabric.agents.add(b, {}));
  for (const NodeId node : {a, b}) {
    const mad::PortInfo& info = fabric.port(node, 1).info;
    EXPECT_EQ(info.port_state, mad::PortState::initialize);
    EXPECT_EQ(info.link_width_active, mad::LinkWidth::x4);
    EXPECT_EQ(info.link_speed_active, mad::LinkSpeed::qdr);
  }
}

TEST_F(Agents, CountersOfSwitchAndHost) {
  send(counters_of(3, 1));
  ASSERT_EQ(seen.size(), 1U);
  const auto header = mad::parse_header(seen[0].datagram.mad);
  EXPECT_EQ(header->method, mad::Method::get_response);
  EXPECT_EQ(header->status, 0);
  EXPECT_EQ(seen[0].datagram.slid, wire::Lid(3));
  EXPECT_EQ(seen[0].datagram.q_key, kGsiQkey);
  const auto read =
      mad::decode<mad::PortCounters>(Bytes(seen[0].datagram.mad).subspan(mad::kPerformanceDataOffset));
  EXPECT_GT(read.port_rcv_pkts.value, 10U);
  seen.clear();
  send(counters_of(2, 1));
  EXPECT_EQ(seen.size(), 1U);
  seen.clear();
  send(counters_of(1, 1));
  EXPECT_EQ(seen.size(), 1U) << "asked of oneself";
}

TEST_F(Agents, OtherClassesAreForWhoIsBehindThePort) {
  const auto query = general(mad::ManagementClass::subnet_administration, mad::Method::get, 0x35, 2);
  send(query);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].endport, id_of(hosts[1], 1));
  EXPECT_EQ(seen[0].datagram.mad, query.mad);
  EXPECT_EQ(seen[0].datagram.slid, wire::Lid(1));
  for (const auto management_class :
       {mad::ManagementClass::communication, mad::ManagementClass::openib_ping}) {
    seen.clear();
    send(general(management_class, mad::Method::send, 0x10, 2));
    EXPECT_EQ(seen.size(), 1U);
  }
  seen.clear();
  send(general(mad::ManagementClass::performance, mad::Method::get_response, 0x12, 2));
  EXPECT_EQ(seen.size(), 1U) << "an answer is for who asked";
}

TEST_F(Agents, WhatNobodyTakesGoesToTheHostAsItCame) {
  takes = false;
  const auto query = general(mad::ManagementClass::communication, mad::Method::send, 0x10, 2);
  send(query);
  ASSERT_EQ(to_hosts.size(), 1U);
  EXPECT_EQ(to_hosts[0].first, id_of(hosts[1], 1));
  EXPECT_EQ(read_datagram(to_hosts[0].second)->mad, query.mad);
  send(general(mad::ManagementClass::communication, mad::Method::send, 0x10, 3));
  EXPECT_EQ(to_hosts.size(), 1U) << "a switch has no host";
}

TEST_F(Agents, KeysOfQp1AreChecked) {
  Datagram datagram = counters_of(2, 1);
  datagram.q_key = 5;
  send(datagram);
  EXPECT_EQ(port(hosts[1], 1).info.q_key_violations, 1);
  datagram = counters_of(2, 1);
  datagram.p_key = 0x8005;
  send(datagram);
  EXPECT_EQ(port(hosts[1], 1).info.p_key_violations, 1);
  EXPECT_EQ(port(hosts[1], 1).qp1_dropped, 2U);
  EXPECT_TRUE(seen.empty());
  datagram.p_key = 0x7fff;
  send(datagram);
  EXPECT_EQ(seen.size(), 1U) << "a limited member and a full one";
}

TEST_F(Agents, LidsThatAreNotTheSwitchsAreNotAnswered) {
  send(counters_of(4, 1));
  EXPECT_TRUE(seen.empty());
}

TEST_F(Agents, LidRoutedSmps) {
  mad::Smp smp;
  smp.method = mad::Method::get;
  smp.attribute = mad::NodeInfo::kAttribute;
  for (const std::uint16_t lid : {std::uint16_t{1}, std::uint16_t{2}, std::uint16_t{3}}) {
    const auto answer = manager.ask(smp, wire::Lid(lid));
    ASSERT_TRUE(answer.has_value()) << lid;
    EXPECT_FALSE(answer->returning);
    EXPECT_EQ(answer->status, 0);
    EXPECT_EQ(seen.back().datagram.slid, wire::Lid(lid));
  }
  EXPECT_FALSE(manager.ask(smp, wire::Lid(4)).has_value());
}

// By LIDs to the switch, and one hop from there.
TEST_F(Agents, CombinedRoutes) {
  mad::Smp smp = directed({2});
  smp.method = mad::Method::get;
  smp.attribute = mad::NodeInfo::kAttribute;
  smp.dr_slid = wire::Lid(1);
  const auto answer = manager.ask(smp, wire::Lid(3));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(mad::decode<mad::NodeInfo>(answer->data).node_guid, guid_of(hosts[1], 0));
  EXPECT_EQ(answer->hop_pointer, 0);
  // One hop, and by LIDs from there.
  smp = directed({1});
  smp.method = mad::Method::get;
  smp.attribute = mad::NodeInfo::kAttribute;
  smp.dr_dlid = wire::Lid(2);
  const auto second = manager.ask(smp);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(mad::decode<mad::NodeInfo>(second->data).node_guid, guid_of(hosts[1], 0));
}

TEST_F(Agents, QueuePairAndVlMustAgree) {
  Datagram datagram = counters_of(2, 1);
  datagram.slid = wire::Lid(1);
  auto bytes = [&](std::uint8_t vl) {
    const DatagramPacket packet(datagram, 0);
    std::vector<std::byte> copy(packet.bytes().begin(), packet.bytes().end());
    wire::set_vl(std::span<std::byte, 8>(copy.data(), 8), vl);
    return copy;
  };
  EXPECT_TRUE(engine.send(id_of(hosts[0], 1), bytes(15)).has_value());  // QP1 by VL15
  mad::Smp smp;
  smp.method = mad::Method::get;
  smp.attribute = mad::NodeInfo::kAttribute;
  datagram.destination = kSmiQpn;
  datagram.mad = mad::encoded(smp);
  EXPECT_TRUE(engine.send(id_of(hosts[0], 1), bytes(0)).has_value());  // QP0 by VL0
  datagram.destination = Qpn(77);
  EXPECT_TRUE(engine.send(id_of(hosts[0], 1), bytes(15)).has_value());
  run();
  EXPECT_TRUE(seen.empty());
  EXPECT_TRUE(to_hosts.empty());
}

// More answers than the buffers of a node hold wait for room, none is lost.
TEST_F(Agents, AnswersWaitForRoom) {
  constexpr int kRequests = 100;
  mad::Smp smp = directed({1});
  smp.method = mad::Method::get;
  smp.attribute = mad::NodeInfo::kAttribute;
  for (int i = 0; i < kRequests; ++i) {
    Datagram datagram;
    datagram.mad = mad::encoded(smp);
    agents.send(id_of(hosts[0], 1), datagram);
  }
  run();
  EXPECT_EQ(seen.size(), kRequests);
}

// Random bytes, and requests of which one field at a time is at its edges: nothing falls over, and what is
// read-only stays.
TEST_F(Agents, HostileSmps) {
  std::mt19937 random(3);
  const auto info_before = mad::encoded(agents.node(leaf)->info);
  const std::uint16_t attributes[] = {0x02, 0x10, 0x11, 0x12, 0x14, 0x15, 0x16, 0x17, 0x18,
                                      0x19, 0x1a, 0x1b, 0x20, 0x30, 0x31, 0x33, 0xff};
  const std::uint8_t edges[] = {0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff};
  for (int i = 0; i < 30'000; ++i) {
    Datagram datagram;
    mad::Smp smp = directed(random() % 2 != 0 ? Path{1} : Path{1, 2});
    smp.method = random() % 4 != 0 ? mad::Method::set : static_cast<mad::Method>(random());
    smp.attribute = attributes[random() % std::size(attributes)];
    smp.modifier = static_cast<std::uint32_t>(random() % 3 == 0 ? random() : random() % 6);
    for (std::byte& byte : smp.data) byte = static_cast<std::byte>(random());
    datagram.mad = mad::encoded(smp);
    const int changes = static_cast<int>(random() % 3);
    for (int n = 0; n < changes; ++n)
      datagram.mad[random() % 256] = static_cast<std::byte>(edges[random() % 6]);
    datagram.dlid = wire::Lid(static_cast<std::uint16_t>(random() % 5));
    if (random() % 8 == 0) datagram.slid = wire::Lid(static_cast<std::uint16_t>(random()));
    agents.send(id_of(hosts[0], 1), datagram);
    if (i % 16 == 0) run();
    if (i % 256 == 0) {  // what they have disabled, or they would reach nobody any more
      for (const std::uint8_t number : {std::uint8_t{1}, std::uint8_t{2}})
        engine.set_enabled(id_of(leaf, number), true);
      for (const NodeId host : hosts) engine.set_enabled(id_of(host, 1), true);
    }
    seen.clear();
  }
  run();
  const ManagedNode& node = *agents.node(leaf);
  EXPECT_EQ(mad::encoded(node.info), info_before);
  EXPECT_EQ(node.switch_info.linear_fdb_cap, kLinearFdbCap);
  EXPECT_LT(node.switch_info.linear_fdb_top, kLinearFdbCap);
  for (const ManagedPort& each : node.ports) {
    EXPECT_EQ(each.info.mtu_cap, mad::Mtu::b4096);
    EXPECT_NE(bytes_of(each.info.neighbor_mtu), 0);
    EXPECT_LE(each.info.operational_vls, each.info.vl_cap);
    EXPECT_EQ(each.info.link_width_enabled & ~each.info.link_width_supported, 0);
  }
  EXPECT_EQ(port(hosts[1], 1).guids[0], guid_of(hosts[1], 1));
  EXPECT_EQ(engine.packets().packets_in_use(), 0U);
}

TEST_F(Agents, HostileGeneralDatagrams) {
  std::mt19937 random(4);
  for (int i = 0; i < 20'000; ++i) {
    Datagram datagram =
        counters_of(static_cast<std::uint16_t>(1 + random() % 3), static_cast<std::uint8_t>(random()));
    store_be16(&datagram.mad[16], static_cast<std::uint16_t>(random() % 0x40));
    if (random() % 2 != 0) datagram.mad[3] = std::byte{2};
    for (std::size_t at = 66; at < 256; ++at) datagram.mad[at] = static_cast<std::byte>(random());
    datagram.mad[random() % 24] = static_cast<std::byte>(random());
    agents.send(id_of(hosts[0], 1), datagram);
    if (i % 16 == 0) run();
    seen.clear();
  }
  run();
  seen.clear();
  send(counters_of(3, 1));
  EXPECT_EQ(seen.size(), 1U);
}

}  // namespace
}  // namespace softrnic::fabric
