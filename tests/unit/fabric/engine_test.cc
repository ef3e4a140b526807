// Engine: what packets meet on their way through one switch.
#include "fabric/engine.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "tests/unit/fabric/engine_fixture.h"

namespace softrnic::fabric {
namespace {

using wire::Lid;

TEST(Engine, DeliversThePacketAsItWasSent) {
  Star star(2);
  std::vector<std::byte> packet = make_packet({.dlid = Star::lid(1), .slid = Star::lid(0), .payload = 256});
  for (std::size_t i = 20; i < packet.size(); ++i) packet[i] = static_cast<std::byte>(i);
  ASSERT_TRUE(star.engine.send(star.host(0), packet));
  star.run();
  ASSERT_EQ(star.to_hosts.size(), 1U);
  EXPECT_EQ(star.to_hosts[0].port, star.host(1));
  EXPECT_EQ(star.to_hosts[0].bytes, packet);
  ASSERT_EQ(star.tapped.size(), 2U);
  EXPECT_EQ(star.tapped[0].port, star.host(0));
  EXPECT_EQ(star.tapped[1].port, star.out(1));
  EXPECT_EQ(star.engine.packets().packets_in_use(), 0U);
}

TEST(Engine, CountsPacketsAndWords) {
  Star star(2);
  ASSERT_TRUE(star.send(0, 1, 100, 3));
  star.run();
  for (const PortId id : {star.host(0), star.out(1)}) {
    const PortCounters& sent = star.counters(id);
    EXPECT_EQ(sent.xmit_data, (kAround + 100) / 4);
    EXPECT_EQ(sent.xmit_data_by_sl[3], (kAround + 100) / 4);
    EXPECT_EQ(sent.xmit_packets(), 1U);
    EXPECT_EQ(sent.rcv_packets(), 0U);
    EXPECT_EQ(sent.xmit_packets_by_vl[3], 1U);
  }
  for (const PortId id : {star.out(0), star.host(1)}) {
    EXPECT_EQ(star.counters(id).rcv_data, (kAround + 100) / 4);
    EXPECT_EQ(star.counters(id).rcv_packets(), 1U);
    EXPECT_EQ(star.counters(id).xmit_packets(), 0U);
  }
}

TEST(Engine, MapsTheSlAtEachPort) {
  Star star(2);
  SlToVl vls{};
  vls[5] = 4;
  ASSERT_TRUE(star.engine.set_sl_to_vl(star.host(0), 0, vls));
  vls[5] = 9;
  ASSERT_TRUE(star.engine.set_sl_to_vl(star.out(1), 1, vls));
  ASSERT_TRUE(star.send(0, 1, 64, 5));
  star.run();
  ASSERT_EQ(star.tapped.size(), 2U);
  EXPECT_EQ(star.tapped[0].vl, 4);
  EXPECT_EQ(std::to_integer<int>(star.tapped[0].bytes[0]), 0x40);
  EXPECT_EQ(star.tapped[1].vl, 9);
  EXPECT_EQ(std::to_integer<int>(star.tapped[1].bytes[0]), 0x90);
  ASSERT_EQ(star.to_hosts.size(), 1U);
}

TEST(Engine, DropsWhatMapsToNoVl) {
  Star star(2);
  SlToVl vls{};
  vls[5] = 15;
  ASSERT_TRUE(star.engine.set_sl_to_vl(star.out(1), 1, vls));
  ASSERT_TRUE(star.send(0, 1, 64, 5));
  star.run();
  EXPECT_EQ(star.counters(star.out(0)).vl_mapping_errors, 1U);
  EXPECT_EQ(star.counters(star.out(0)).rcv_switch_relay_errors(), 1U);
  ASSERT_TRUE(star.engine.set_sl_to_vl(star.host(0), 0, vls));
  EXPECT_EQ(star.send(0, 1, 64, 5).error(), SendError::no_vl);
  EXPECT_TRUE(star.to_hosts.empty());
}

TEST(Engine, DropsWhatHasNoWay) {
  Star star(3);
  ASSERT_TRUE(star.send(0, {.dlid = Lid(77)}));
  ASSERT_TRUE(star.send(0, {.dlid = Lid(0)}));
  ASSERT_TRUE(star.send(0, {.dlid = Lid(0xffff)}));  // only VL15 has the permissive LID
  ASSERT_TRUE(star.send(0, {.dlid = Lid(0xc123)}));
  star.run();
  EXPECT_EQ(star.counters(star.out(0)).dlid_mapping_errors, 4U);
  star.engine.forwarding(star.switch_node)->set_linear(Lid(50), 200);
  ASSERT_TRUE(star.send(0, {.dlid = Lid(50)}));
  star.engine.forwarding(star.switch_node)->set_linear(Lid(51), 1);
  ASSERT_TRUE(star.send(0, {.dlid = Lid(51)}));
  star.run();
  EXPECT_EQ(star.counters(star.out(0)).dlid_mapping_errors, 5U);
  EXPECT_EQ(star.counters(star.out(0)).looping_errors, 1U);
  EXPECT_EQ(star.engine.packets().packets_in_use(), 0U);
}

TEST(Engine, AnAdapterTakesOnlyItsLids) {
  Star star(3);
  PortAttributes attributes;
  attributes.lid = Lid(8);
  attributes.lmc = 2;
  ASSERT_TRUE(star.engine.set_attributes(star.host(1), attributes));
  for (const unsigned lid : {7, 8, 11, 12}) {
    star.engine.forwarding(star.switch_node)->set_linear(Lid(static_cast<std::uint16_t>(lid)), 2);
    ASSERT_TRUE(star.send(0, {.dlid = Lid(static_cast<std::uint16_t>(lid))}));
  }
  star.run();
  EXPECT_EQ(star.to_hosts.size(), 2U);
  EXPECT_EQ(star.counters(star.host(1)).dlid_mapping_errors, 2U);
  // What a host sends to itself goes back without a cable.
  ASSERT_TRUE(star.send(1, {.dlid = Lid(9)}));
  star.run();
  EXPECT_EQ(star.to_hosts.size(), 3U);
  EXPECT_EQ(star.to_hosts[2].port, star.host(1));
  EXPECT_EQ(star.counters(star.host(1)).xmit_packets(), 0U);
}

TEST(Engine, CopiesMulticast) {
  Star star(4);
  std::array<std::uint16_t, 32> masks{};
  masks[3] = 0b11111;  // port 0 and all hosts
  ASSERT_TRUE(star.engine.forwarding(star.switch_node)->set_multicast_block(0, 0, masks));
  ASSERT_TRUE(star.send(1, {.dlid = Lid(0xc003), .payload = 1024}));
  star.run();
  EXPECT_EQ(star.to_agents.size(), 1U);
  ASSERT_EQ(star.to_hosts.size(), 3U);
  for (const auto& seen : star.to_hosts) {
    EXPECT_NE(seen.port, star.host(1));
    EXPECT_EQ(seen.bytes, star.to_agents[0].bytes);
  }
  EXPECT_EQ(star.counters(star.out(0)).multicast_xmit_packets, 1U);
  EXPECT_EQ(star.counters(star.out(1)).multicast_rcv_packets, 1U);
  EXPECT_EQ(star.engine.packets().packets_in_use(), 0U);
}

TEST(Engine, GivesAgentsWhatIsTheirs) {
  Star star(2);
  const auto smp = [](Lid dlid) {
    return PacketWish{.dlid = dlid, .vl = 15, .payload = 264, .destination = 0};
  };
  ASSERT_TRUE(star.send(0, smp(wire::kPermissiveLid)));
  ASSERT_TRUE(star.send(0, smp(Lid(100))));
  ASSERT_TRUE(star.send(0, smp(Star::lid(1))));
  ASSERT_TRUE(star.send(0, {.dlid = Star::lid(1), .destination = 1}));
  star.run();
  ASSERT_EQ(star.to_agents.size(), 4U);
  EXPECT_EQ(star.to_agents[0].port, star.out(0));
  EXPECT_EQ(star.to_agents[1].port, star.out(0));
  EXPECT_EQ(star.to_agents[2].port, star.host(1));
  EXPECT_EQ(star.to_agents[3].port, star.host(1));
  EXPECT_TRUE(star.to_hosts.empty());
  // What the agents of an adapter leave is the host's.
  star.agents_take = false;
  ASSERT_TRUE(star.send(0, {.dlid = Star::lid(1), .destination = 1}));
  star.run();
  EXPECT_EQ(star.to_hosts.size(), 1U);
}

TEST(Engine, SendsForTheAgentsOfASwitch) {
  Star star(2);
  const PortId zero = star.engine.port(star.switch_node, 0)->id;
  ASSERT_TRUE(star.engine.send(zero, make_packet({.dlid = Star::lid(1), .destination = 1})));
  const auto smp = make_packet({.dlid = wire::kPermissiveLid, .vl = 15, .payload = 264, .destination = 0});
  ASSERT_TRUE(star.engine.send(star.out(0), smp));
  ASSERT_TRUE(star.engine.send(zero, make_packet({.dlid = Lid(100), .destination = 1})));
  star.run();
  ASSERT_EQ(star.to_agents.size(), 3U);
  EXPECT_EQ(star.to_agents[0].port, zero);
  EXPECT_EQ(star.to_agents[1].port, star.host(1));
  EXPECT_EQ(star.to_agents[2].vl, 15);
  EXPECT_EQ(star.to_agents[2].port, star.host(0));
}

TEST(Engine, RefusesWhatIsNoPacket) {
  Star star(2);
  std::vector<std::byte> packet = make_packet({.dlid = Star::lid(1)});
  EXPECT_EQ(star.engine.send(PortId(999), packet).error(), SendError::unknown_port);
  EXPECT_EQ(star.engine.send(star.host(0), {}).error(), SendError::malformed);
  EXPECT_EQ(star.engine.send(star.host(0), Bytes(packet).first(packet.size() - 4)).error(),
            SendError::malformed);
  packet[0] = std::byte{0x01};
  EXPECT_EQ(star.engine.send(star.host(0), packet).error(), SendError::malformed);
  EXPECT_EQ(star.send(0, 1, 4200).error(), SendError::malformed);
  EXPECT_EQ(
      star.send(0, {.dlid = Star::lid(1), .payload = 0, .next = wire::LinkNextHeader::iba_global}).error(),
      SendError::malformed);
  EXPECT_TRUE(star.send(0, {.dlid = Star::lid(1), .payload = 4196}));
}

// Whatever bytes come, they are refused or go some way, and nothing remains.
TEST(Engine, HoldsAgainstAnyBytes) {
  Star star(3);
  std::uint64_t state = 1;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::byte> packet(state % 80);
    for (std::byte& byte : packet)
      byte = static_cast<std::byte>((state = state * 6364136223846793005U + 1) >> 56);
    if (packet.size() >= 8) {
      packet[0] &= std::byte{0xf0};
      store_be16(&packet[4], static_cast<std::uint16_t>(packet.size() / 4));
    }
    (void)star.engine.send(star.host(i % 3U), packet);
    state += 12'345;
    if (i % 64 == 0) star.run(Duration(1));
  }
  star.run();
  EXPECT_EQ(star.engine.packets().packets_in_use(), 0U);
}

TEST(Engine, StatesLetPassWhatTheyShould) {
  Star star(2);
  ASSERT_TRUE(star.engine.set_state(star.out(1), PortState::down));
  star.run();
  EXPECT_EQ(star.engine.port(star.out(1))->state, PortState::initialize);
  EXPECT_EQ(star.engine.port(star.host(1))->state, PortState::initialize);
  EXPECT_FALSE(star.engine.set_state(star.out(1), PortState::active));
  EXPECT_FALSE(star.engine.set_state(star.out(1), PortState::initialize));
  ASSERT_TRUE(star.send(0, 1));
  ASSERT_TRUE(star.send(0, {.dlid = Star::lid(1), .vl = 15, .destination = 0}));
  EXPECT_EQ(star.send(1, 0).error(), SendError::port_down);
  star.run();
  EXPECT_EQ(star.counters(star.out(1)).inactive_discards, 1U);
  EXPECT_EQ(star.to_agents.size(), 1U);
  // Armed receives data, and becomes active by the first; it sends none.
  ASSERT_TRUE(star.engine.set_state(star.host(1), PortState::armed));
  EXPECT_EQ(star.send(1, 0).error(), SendError::port_down);
  ASSERT_TRUE(star.engine.set_state(star.out(1), PortState::armed));
  ASSERT_TRUE(star.engine.set_state(star.out(1), PortState::active));
  ASSERT_TRUE(star.send(0, 1));
  star.run();
  EXPECT_EQ(star.to_hosts.size(), 1U);
  EXPECT_EQ(star.engine.port(star.host(1))->state, PortState::active);
  EXPECT_EQ(star.states.back(), std::make_pair(star.host(1), PortState::active));
  EXPECT_TRUE(star.send(1, 0));
}

TEST(Engine, LimitsTheMtu) {
  Star star(2);
  PortAttributes attributes;
  attributes.neighbor_mtu = 256;
  ASSERT_TRUE(star.engine.set_attributes(star.out(1), attributes));
  ASSERT_TRUE(star.send(0, 1, 256 + kMaxHeaderBytes - kAround));
  ASSERT_TRUE(star.send(0, 1, 256 + kMaxHeaderBytes - kAround + 4));
  star.run();
  EXPECT_EQ(star.to_hosts.size(), 1U);
  EXPECT_EQ(star.counters(star.out(1)).neighbor_mtu_discards, 1U);
  EXPECT_EQ(star.counters(star.out(1)).xmit_discards(), 1U);
}

TEST(Engine, KeepsPartitionsApart) {
  Star star(2);
  const std::array<std::uint16_t, 1> pkeys = {0x8005};
  PortAttributes out;
  out.enforce_partitions_out = true;
  out.filter_raw_out = true;
  ASSERT_TRUE(star.engine.set_attributes(star.out(1), out));
  ASSERT_TRUE(star.engine.set_partitions(star.out(1), pkeys));
  ASSERT_TRUE(star.send(0, {.dlid = Star::lid(1), .pkey = 0x0005}));
  ASSERT_TRUE(star.send(0, {.dlid = Star::lid(1), .pkey = 0x8006}));
  ASSERT_TRUE(star.send(0, {.dlid = Star::lid(1), .next = wire::LinkNextHeader::raw}));
  ASSERT_TRUE(star.send(0, {.dlid = Star::lid(1), .vl = 15, .pkey = 0x8006, .destination = 0}));
  star.run();
  EXPECT_EQ(star.to_hosts.size(), 1U);
  EXPECT_EQ(star.to_agents.size(), 1U);
  EXPECT_EQ(star.counters(star.out(1)).xmit_constraint_errors, 2U);
  PortAttributes in;
  in.enforce_partitions_in = true;
  in.filter_raw_in = true;
  ASSERT_TRUE(star.engine.set_attributes(star.out(0), in));
  ASSERT_TRUE(star.engine.set_partitions(star.out(0), pkeys));
  ASSERT_TRUE(star.send(0, {.dlid = Star::lid(1), .pkey = 0x8005}));
  ASSERT_TRUE(star.send(0, {.dlid = Star::lid(1), .pkey = 0x8006}));
  ASSERT_TRUE(star.send(0, {.dlid = Star::lid(1), .next = wire::LinkNextHeader::raw}));
  star.run();
  EXPECT_EQ(star.to_hosts.size(), 2U);
  EXPECT_EQ(star.counters(star.out(0)).rcv_constraint_errors, 2U);
}

TEST(Engine, ChecksWhatItIsBuiltOf) {
  Engine engine({.ports = 10}, {});
  EXPECT_EQ(engine.add_switch(0, {}).error(), BuildError::too_many_ports);
  EXPECT_EQ(engine.add_switch(255, {}).error(), BuildError::too_many_ports);
  EXPECT_EQ(engine.add_switch(10, {}).error(), BuildError::too_many_ports);
  EXPECT_EQ(engine.add_adapter(1, {.data = kMaxPacketBlocks - 1}).error(), BuildError::bad_size);
  EXPECT_EQ(engine.add_adapter(1, {.data = kMaxCredit + 1}).error(), BuildError::bad_size);
  EXPECT_EQ(engine.add_adapter(1, {.management = 1}).error(), BuildError::bad_size);
  const NodeId node = *engine.add_switch(3, {});
  const PortId one = engine.port(node, 1)->id;
  const PortId two = engine.port(node, 2)->id;
  EXPECT_EQ(engine.connect(one, one, {}, {}).error(), BuildError::unknown_port);
  EXPECT_EQ(engine.connect(one, engine.port(node, 0)->id, {}, {}).error(), BuildError::unknown_port);
  EXPECT_EQ(engine.connect(one, PortId(99), {}, {}).error(), BuildError::unknown_port);
  EXPECT_TRUE(engine.connect(one, two, {}, {}));
  EXPECT_EQ(engine.connect(two, engine.port(node, 3)->id, {}, {}).error(), BuildError::already_connected);
  EXPECT_EQ(engine.port(node, 4), nullptr);
  EXPECT_EQ(engine.node(NodeId(1)), nullptr);
  EXPECT_FALSE(engine.set_attributes(PortId(99), {}));
  EXPECT_FALSE(engine.set_state(engine.port(node, 3)->id, PortState::armed));
  EXPECT_FALSE(engine.set_sl_to_vl(one, 4, {}));
  EXPECT_EQ(engine.counters(PortId(99)), nullptr);
  EXPECT_EQ(engine.arbiter(PortId(99)), nullptr);
}

// A host that answers at once, and agents that take the link down by which they are asked.
struct Meddlers : HostSink, ManagementSink {
  bool on_packet(PortId port, const Packet& packet) override {
    if (packet.is_management()) return engine->set_state(port, PortState::down);
    ++packets;
    if (packets % 10 == 0) {
      EXPECT_TRUE(engine->set_connected(LinkId(0), false));
      EXPECT_TRUE(engine->set_connected(LinkId(0), true));
    }
    engine->advance(kNever);
    EXPECT_EQ(engine->add_switch(1, {}).error(), BuildError::busy);
    const wire::Lid back(static_cast<std::uint16_t>(3 - packet.dlid.value));
    (void)engine->send(port, make_packet({.dlid = back, .payload = 256}));
    return true;
  }
  void on_state(PortId port, PortState state) override {
    if (state == PortState::initialize) (void)engine->set_state(port, PortState::armed);
    if (state == PortState::armed) (void)engine->set_state(port, PortState::active);
  }
  void on_room(PortId) override {}
  Engine* engine = nullptr;
  int packets = 0;
};

TEST(Engine, MayBeCalledFromSinks) {
  Meddlers sink;
  Engine engine({}, {.management = &sink, .hosts = &sink});
  sink.engine = &engine;
  const NodeId hosts[] = {*engine.add_adapter(1, {}), *engine.add_adapter(1, {})};
  const NodeId middle = *engine.add_switch(2, {});
  for (const std::uint8_t number : std::initializer_list<std::uint8_t>{1, 2}) {
    ASSERT_TRUE(
        engine.connect(engine.port(hosts[number - 1], 1)->id, engine.port(middle, number)->id, {}, {}));
    engine.forwarding(middle)->set_linear(Lid(number), number);
  }
  const PortId from = engine.port(hosts[0], 1)->id;
  for (int i = 1; i < 200; ++i) {
    (void)engine.send(from, make_packet({.dlid = Lid(2), .payload = 256}));
    const std::uint8_t vl = i % 7 == 0 ? kManagementVl : 0;
    (void)engine.send(from, make_packet({.dlid = wire::kPermissiveLid, .vl = vl, .destination = 0}));
    engine.advance(TimePoint(Duration(i)), 100);
  }
  EXPECT_GT(sink.packets, 100);
  ASSERT_TRUE(engine.set_enabled(from, false));
  sink.engine->advance(TimePoint(Duration(10'000)));
  EXPECT_EQ(engine.port(from)->state, PortState::down);
  EXPECT_EQ(engine.packets().packets_in_use(), 0U);
}

// Three switches that send each other packets for a LID of nobody would go on for ever.
TEST(Engine, EndsAfterItsSteps) {
  Engine engine({}, {});
  const NodeId nodes[] = {*engine.add_switch(2, {}), *engine.add_switch(2, {}), *engine.add_switch(2, {})};
  for (unsigned i = 0; i < 3; ++i) {
    ASSERT_TRUE(engine.connect(engine.port(nodes[i], 2)->id, engine.port(nodes[(i + 1) % 3], 1)->id, {}, {}));
    engine.forwarding(nodes[i])->set_linear(Lid(9), 2);
  }
  for (const NodeId node : nodes) {
    for (const auto number : std::initializer_list<std::uint8_t>{1, 2}) {
      ASSERT_TRUE(engine.set_state(engine.port(node, number)->id, PortState::armed));
      ASSERT_TRUE(engine.set_state(engine.port(node, number)->id, PortState::active));
    }
  }
  engine.advance(TimePoint(Duration(5)));
  ASSERT_TRUE(engine.send(engine.port(nodes[0], 0)->id, make_packet({.dlid = Lid(9)})));
  engine.advance(TimePoint(Duration(10)), 1000);
  EXPECT_EQ(engine.next_deadline(), TimePoint(Duration(5)));
  EXPECT_GT(engine.counters(engine.port(nodes[2], 2)->id)->xmit_packets(), 50U);
}

}  // namespace
}  // namespace softrnic::fabric
