// Cables between two engines.
#include "fabric/remote_link.h"

#include <gtest/gtest.h>

#include "tests/unit/fabric/remote_link_world.h"

namespace softrnic::fabric {
namespace {

struct Remotes : RemoteSink {
  void carry(PortId, const Packet& packet) override { damaged.push_back(packet.damaged); }
  void carry(PortId, const wire::FlowControlPacket& packet) override { told.push_back(packet); }
  void on_link(PortId) override { ++changes; }
  std::vector<bool> damaged;
  std::vector<wire::FlowControlPacket> told;
  int changes = 0;
};

struct NearEnd : testing::Test {
  NearEnd() {
    node = *engine.add_switch(2, {});
    const NodeId host = *engine.add_adapter(1, {});
    sender = engine.port(host, 1)->id;
    port = engine.port(node, 2)->id;
    EXPECT_TRUE(engine.connect(sender, engine.port(node, 1)->id, {}, Duration(0)));
    cable = *engine.connect_remote(port, {}, Duration(0));
    engine.forwarding(node)->set_linear(wire::Lid(9), 2);
  }
  void activate() {
    engine.set_enabled(cable.remote, true);
    engine.advance(engine.now());
    for (const PortId id : {sender, engine.port(node, 1)->id, port}) {
      engine.set_state(id, PortState::armed);
      engine.set_state(id, PortState::active);
    }
  }
  const PortCounters& counters() const { return engine.port(port)->counters; }

  Remotes remotes;
  Engine engine{{}, {.remotes = &remotes}};
  NodeId node;
  PortId sender, port;
  RemoteCable cable;
};

TEST_F(NearEnd, IsDownUntilItsKeeperEnablesTheRemotePort) {
  EXPECT_EQ(engine.port(port)->state, PortState::down);
  EXPECT_TRUE(engine.hear(cable.remote, make_packet({.vl = 15}))) << "dropped";
  EXPECT_EQ(engine.packets().packets_in_use(), 0U);
  EXPECT_TRUE(engine.set_enabled(cable.remote, true));
  EXPECT_EQ(engine.port(port)->state, PortState::initialize);
  engine.advance(engine.now());
  EXPECT_EQ(remotes.told.size(), kDataVls) << "one for each VL";
}

TEST_F(NearEnd, ADownDisablesTheRemotePort) {
  activate();
  EXPECT_TRUE(engine.set_state(port, PortState::down));
  EXPECT_EQ(engine.port(port)->state, PortState::down) << "the far end has not agreed";
  EXPECT_FALSE(engine.port(cable.remote)->enabled);
  const int changes = remotes.changes;
  EXPECT_TRUE(engine.set_enabled(port, false));
  EXPECT_GT(remotes.changes, changes) << "it is not ready any more";
}

TEST_F(NearEnd, RemotePortsCannotSendOrBeConnected) {
  EXPECT_EQ(engine.send(cable.remote, make_packet({})).error(), SendError::unknown_port);
  EXPECT_FALSE(engine.connect(cable.remote, sender, {}, Duration(0)));
  EXPECT_FALSE(engine.connect_remote(cable.remote, {}, Duration(0)));
  EXPECT_EQ(engine.connect_remote(port, {}, Duration(0)).error(), BuildError::already_connected);
  EXPECT_FALSE(engine.hear(port, make_packet({})));
}

TEST_F(NearEnd, SendsNoMoreThanItWasGivenCreditsFor) {
  activate();
  for (int i = 0; i < 10; ++i)
    EXPECT_TRUE(engine.send(sender, make_packet({.dlid = wire::Lid(9), .payload = 1024})));
  engine.advance(engine.now());
  EXPECT_TRUE(remotes.damaged.empty()) << "no credits yet";
  EXPECT_TRUE(engine.hear(cable.remote, {.fctbs = 0, .vl = 0, .fccl = 40}));
  engine.advance(engine.now());
  EXPECT_EQ(remotes.damaged.size(), 2U) << "17 blocks each";
}

TEST_F(NearEnd, WhatIsDamagedOnTheWayOutIsMarked) {
  struct Always : Dice {
    double roll() override { return 0; }
  } dice;
  Engine faulty{{}, {.dice = &dice, .remotes = &remotes}};
  const NodeId lone = *faulty.add_switch(1, {});
  const RemoteCable out = *faulty.connect_remote(faulty.port(lone, 1)->id, {}, Duration(0));
  faulty.set_enabled(out.remote, true);
  faulty.set_faults(out.link, {.packet_errors = 0.5, .flow_control_errors = 0});
  ASSERT_TRUE(faulty.send(faulty.port(lone, 1)->id, make_packet({.vl = 15})));
  faulty.advance(faulty.now());
  EXPECT_EQ(remotes.damaged, std::vector<bool>{true});
}

TEST_F(NearEnd, NothingOfAHostilePeerIsTrusted) {
  activate();
  EXPECT_FALSE(engine.hear(cable.remote, Bytes()));
  EXPECT_FALSE(engine.hear(cable.remote, std::vector<std::byte>(5000)));
  EXPECT_EQ(counters().malformed_packet_errors, 2U);
  EXPECT_FALSE(engine.hear(cable.remote, {.fctbs = 0, .vl = 15, .fccl = 1}));
  PortAttributes attributes;
  attributes.operational_vls = 2;
  engine.set_attributes(port, attributes);
  EXPECT_TRUE(engine.hear(cable.remote, make_packet({.vl = 7})));
  EXPECT_EQ(counters().malformed_packet_errors, 3U) << "VL 7 is not operational";
  // Without any credit, to a host that is not there.
  for (int i = 0; i < 1000; ++i)
    engine.hear(cable.remote, make_packet({.dlid = wire::Lid(77), .payload = 4096}));
  EXPECT_EQ(engine.packets().packets_in_use(), 0U);
}

TEST_F(NearEnd, ABufferThatIsFullIsOverrunAndCounted) {
  activate();
  engine.forwarding(node)->set_linear(wire::Lid(5), 1);
  engine.set_enabled(sender, false);
  engine.set_enabled(sender, true);  // init: it takes no data, and bids wait for nothing
  for (const PortId id : {sender, engine.port(node, 1)->id}) {
    engine.set_state(id, PortState::armed);
    engine.set_state(id, PortState::active);
  }
  for (int i = 0; i < 1000; ++i)
    engine.hear(cable.remote, make_packet({.dlid = wire::Lid(5), .payload = 4096}));
  EXPECT_GT(counters().buffer_overrun_errors, 0U);
  EXPECT_LE(engine.port(port)->in[0].used, kMaxCredit);
}

TEST(RemoteLinkSimulation, LosesNothingHoweverLongTheWayTakes) {
  std::uint64_t across = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    RemoteWorld world(seed, {});
    world.run(150);
    world.settle();
    ASSERT_EQ(world.failure(), "") << "seed " << seed;
    ASSERT_EQ(world.delivered, world.sent) << "seed " << seed;
    ASSERT_LE(world.most_waiting, std::size_t{kDataVls} * kMaxCredit) << "credits bound what waits";
    across += world.across;
  }
  EXPECT_GT(across, 10'000U);
}

TEST(RemoteLinkSimulation, DamagedPacketsCostNoCredits) {
  std::uint64_t damaged = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    RemoteWorld world(seed, {.damage = 0.05});
    world.run(150);
    world.settle();
    ASSERT_EQ(world.failure(), "") << "seed " << seed;
    ASSERT_EQ(world.delivered + world.damaged(), world.sent) << "seed " << seed;
    damaged += world.damaged();
  }
  EXPECT_GT(damaged, 500U);
}

// Packets are lost then; what comes later does not suffer.
TEST(RemoteLinkSimulation, ALinkThatGoesDownUnderTrafficComesUpWhole) {
  std::uint64_t lost = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    RemoteWorld world(seed, {.cuts = true});
    world.run(300);
    world.settle();
    ASSERT_EQ(world.failure(), "") << "seed " << seed;
    lost += world.sent - world.delivered;
  }
  EXPECT_GT(lost, 1000U);
}

}  // namespace
}  // namespace softrnic::fabric
