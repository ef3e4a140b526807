// Engine: time, credits, and packets that wait.
#include <gtest/gtest.h>

#include "fabric/deadlock.h"
#include "fabric/engine.h"
#include "tests/unit/fabric/engine_fixture.h"

namespace softrnic::fabric {
namespace {

using wire::Lid;

constexpr Rate kTenBytesANanosecond{10, 1};

TEST(EngineTime, APacketTakesItsBytesAtEachCable) {
  Star star(2, kTenBytesANanosecond, Duration(100));
  const TimePoint start = star.engine.now();
  ASSERT_TRUE(star.send(0, 1, 1000 - kAround - kVcrcBytes + 2));  // 1000 bytes and the VCRC
  star.run();
  ASSERT_EQ(star.to_hosts.size(), 1U);
  EXPECT_EQ(star.to_hosts[0].when - start, 2 * Duration(100 + 100));
}

// 1002 bytes at 10 bytes a nanosecond are 100.2 ns: five packets take 501 ns, no more.
TEST(EngineTime, RatesAreExactOverManyPackets) {
  Star star(2, kTenBytesANanosecond, Duration(0));
  const TimePoint start = star.engine.now();
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(star.send(0, 1, 1000 - kAround).has_value() || i > 15);
  star.run();
  const auto count = static_cast<std::int64_t>(star.to_hosts.size());
  ASSERT_GE(count, 10);
  EXPECT_EQ((star.to_hosts.back().when - start).count(), (count + 1) * 1002 / 10);
}

TEST(EngineTime, NextDeadlineIsWhenSomethingHappens) {
  Star star(2, kTenBytesANanosecond, Duration(100));
  EXPECT_EQ(star.engine.next_deadline(), kNever);
  const TimePoint start = star.engine.now();
  ASSERT_TRUE(star.send(0, 1, 1000 - kAround));
  EXPECT_EQ(star.engine.next_deadline(), start);
  star.engine.advance(start);
  EXPECT_EQ(star.engine.next_deadline(), start + Duration(200));
  star.engine.advance(start + Duration(199));
  EXPECT_TRUE(star.engine.port(star.out(0))->in[0].empty());
  EXPECT_EQ(star.tapped.size(), 1U);
  star.engine.advance(start + Duration(200));
  EXPECT_EQ(star.tapped.size(), 2U);
}

TEST(EngineCredit, AHostThatHoldsPacketsHoldsTheFabric) {
  Star star(2);
  star.hosts_hold = true;
  int accepted = 0;
  while (star.send(0, 1, 4096).has_value()) {
    ++accepted;
    star.run(Duration(10));
  }
  EXPECT_EQ(star.send(0, 1, 4096).error(), SendError::no_room);
  EXPECT_EQ(accepted, 9);  // three packets of 65 blocks in each buffer of 256
  EXPECT_TRUE(star.room.empty());
  EXPECT_TRUE(find_credit_cycle(star.engine).empty());  // it is the host that they wait for
  EXPECT_EQ(star.counters(star.out(1)).xmit_discards(), 0U);
  star.hosts_hold = false;
  star.run();
  EXPECT_TRUE(star.to_hosts.empty());
  star.engine.resume(star.host(1));
  star.run();
  EXPECT_EQ(star.to_hosts.size(), 9U);
  EXPECT_EQ(star.room, std::vector<PortId>{star.host(0)});
}

TEST(EngineCredit, ManagementPassesAHostThatHolds) {
  Star star(2);
  star.hosts_hold = true;
  ASSERT_TRUE(star.send(0, 1));
  star.run();
  ASSERT_TRUE(star.send(0, {.dlid = Star::lid(1), .vl = 15, .destination = 0}));
  star.run();
  EXPECT_EQ(star.to_agents.size(), 1U);
  star.agents_take = false;
  ASSERT_TRUE(star.send(0, {.dlid = Star::lid(1), .vl = 15, .destination = 0}));
  star.run();
  EXPECT_EQ(star.counters(star.host(1)).vl15_dropped, 1U);
}

TEST(EngineCredit, FlowControlPacketsSayWhatWasSentAndWhatMayCome) {
  Star star(2);
  star.flow_control_of = star.out(0);
  ASSERT_TRUE(star.send(0, 1, 4096));
  star.run();
  const wire::FlowControlPacket freed{.fctbs = 0, .vl = 0, .fccl = 65 + 256};
  EXPECT_EQ(star.flow_control, std::vector<wire::FlowControlPacket>{freed});
  star.flow_control.clear();
  ASSERT_TRUE(star.engine.set_state(star.out(0), PortState::down));
  star.run();
  ASSERT_EQ(star.flow_control.size(), std::size_t{kDataVls});
  for (std::uint8_t vl = 0; vl < kDataVls; ++vl) {
    const wire::FlowControlPacket first{
        .operation = wire::FlowControlOperation::init, .fctbs = 0, .vl = vl, .fccl = 256};
    EXPECT_EQ(star.flow_control[vl], first);
  }
}

TEST(EngineCredit, AVlOfNoTableWaitsForOne) {
  Star star(2);
  const std::array<VlWeight, 1> other = {{{3, 1}}};
  star.engine.arbiter(star.out(1))->set_low(other);
  ASSERT_TRUE(star.send(0, 1));
  star.run();
  EXPECT_TRUE(star.to_hosts.empty());
  const std::array<VlWeight, 1> zero = {{{0, 1}}};
  star.engine.arbiter(star.out(1))->set_low(zero);
  star.run();
  EXPECT_EQ(star.to_hosts.size(), 1U);
}

TEST(EngineCredit, WaitIsCounted) {
  Star star(2);
  star.hosts_hold = true;
  while (star.send(0, 1, 4096).has_value()) star.run(Duration(0));
  star.run(Duration(5000));
  EXPECT_EQ(star.counters(star.out(1)).xmit_wait, Duration(5000));
  EXPECT_EQ(star.counters(star.host(0)).xmit_wait, Duration(5000));
  star.hosts_hold = false;
  star.engine.resume(star.host(1));
  star.run(Duration(5000));
  EXPECT_EQ(star.counters(star.out(1)).xmit_wait, Duration(5000));
}

// One byte a nanosecond; the VLs take turns.
TEST(EngineCredit, WaitIsCountedByVl) {
  Star star(2, {.bytes = 1, .nanoseconds = 1});
  constexpr Duration kPacket{kAround + 4096 + kVcrcBytes};
  ASSERT_TRUE(star.send(0, 1, 4096, 0));
  ASSERT_TRUE(star.send(0, 1, 4096, 0));
  ASSERT_TRUE(star.send(0, 1, 4096, 1));
  star.run();
  const auto& waits = star.counters(star.host(0)).xmit_wait_by_vl;
  EXPECT_EQ(waits[0], kPacket) << "the second one, while that of VL 1 was sent";
  EXPECT_EQ(waits[1], kPacket);
  EXPECT_EQ(waits[2], Duration(0));
  EXPECT_EQ(star.counters(star.host(0)).xmit_wait, Duration(0)) << "the port itself was never idle";
  star.hosts_hold = true;
  while (star.send(0, 1, 4096).has_value()) star.run();
  const Duration before = star.counters(star.out(1)).xmit_wait_by_vl[0];
  star.run(Duration(5000));
  EXPECT_EQ(star.counters(star.out(1)).xmit_wait_by_vl[0] - before, Duration(5000));
}

TEST(EngineCredit, FlowControlPacketsAreCounted) {
  Star star(2);
  const std::uint64_t sent = star.counters(star.out(0)).xmit_flow_control;
  const std::uint64_t received = star.counters(star.host(0)).rcv_flow_control;
  ASSERT_TRUE(star.send(0, 1));
  star.run();
  EXPECT_EQ(star.counters(star.out(0)).xmit_flow_control, sent + 1);
  EXPECT_EQ(star.counters(star.host(0)).rcv_flow_control, received + 1);
}

TEST(EngineCredit, IncastLosesNothing) {
  Star star(9, kTenBytesANanosecond, Duration(20));
  int accepted = 0;
  for (int round = 0; round < 200; ++round) {
    for (unsigned host = 1; host < 9; ++host) {
      if (star.send(host, 0, 4096).has_value()) ++accepted;
    }
    star.run(Duration(500));
  }
  star.run();
  EXPECT_GT(accepted, 200);
  EXPECT_EQ(static_cast<int>(star.to_hosts.size()), accepted);
  const std::uint64_t fair = star.counters(star.out(0)).xmit_packets() / 8;
  for (unsigned host = 1; host < 9; ++host) {
    EXPECT_NEAR(static_cast<double>(star.counters(star.out(host)).rcv_packets()), static_cast<double>(fair),
                4);
  }
  for (unsigned host = 0; host < 9; ++host) {
    EXPECT_EQ(star.counters(star.out(host)).xmit_discards(), 0U);
    EXPECT_EQ(star.counters(star.out(host)).buffer_overrun_errors, 0U);
  }
}

/// Bytes that arrived, by SL, when hosts 0 and 1 send on an SL of their own to host 2 as fast as they can.
std::array<double, 2> shares(Star& star, std::array<std::size_t, 2> payloads) {
  std::array<double, 2> bytes{};
  for (int round = 0; round < 4000; ++round) {
    for (unsigned host = 0; host < 2; ++host) {
      while (star.send(host, 2, payloads[host], static_cast<std::uint8_t>(host)).has_value()) {
      }
    }
    star.run(Duration(400));
  }
  for (const auto& seen : star.to_hosts) bytes[seen.bytes[1] == std::byte{0x12}] += double(seen.bytes.size());
  return bytes;
}

TEST(EngineCredit, TwoServiceLevelsShareALinkByWeight) {
  for (const std::size_t other : {4096U, 512U}) {
    Star star(3, kTenBytesANanosecond, Duration(20));
    const std::array<VlWeight, 2> weights = {{{0, 192}, {1, 64}}};
    star.engine.arbiter(star.out(2))->set_low(weights);
    const std::array<double, 2> bytes = shares(star, {4096, other});
    EXPECT_NEAR(bytes[0] / bytes[1], 3, 0.3) << other;
    EXPECT_GT(star.counters(star.host(1)).xmit_wait, Duration(100'000));
  }
}

TEST(EngineLifetime, TheHeadOfAQueueDoesNotWaitForEver) {
  Star star(2);
  PortAttributes attributes;
  attributes.hoq_life = 2;  // 16.384 µs
  ASSERT_TRUE(star.engine.set_attributes(star.out(1), attributes));
  star.hosts_hold = true;
  int accepted = 0;
  for (; star.send(0, 1, 4096).has_value(); ++accepted) star.run(Duration(0));
  const PortCounters& counters = star.counters(star.out(1));
  star.run(Duration(16'383));
  EXPECT_EQ(counters.hoq_lifetime_discards, 0U);
  star.run(Duration(1));
  EXPECT_EQ(counters.hoq_lifetime_discards, 1U);
  star.run(Duration(16'384));
  EXPECT_EQ(counters.hoq_lifetime_discards, 2U);
  EXPECT_EQ(counters.xmit_discards(), 2U);
  star.run();
  star.hosts_hold = false;
  star.engine.resume(star.host(1));
  star.run();
  EXPECT_EQ(star.to_hosts.size() + counters.xmit_discards(), static_cast<std::size_t>(accepted));
  EXPECT_EQ(star.engine.packets().packets_in_use(), 0U);
}

TEST(EngineLifetime, EndsWaitsThatLastAlready) {
  Star star(2);
  star.hosts_hold = true;
  while (star.send(0, 1, 4096).has_value()) star.run(Duration(0));
  star.run();
  EXPECT_EQ(star.counters(star.out(1)).xmit_discards(), 0U);
  ASSERT_TRUE(star.engine.set_lifetime(star.switch_node, 19));
  star.run();
  EXPECT_EQ(star.counters(star.out(1)).xmit_discards(), 0U);
  ASSERT_TRUE(star.engine.set_lifetime(star.switch_node, 0));
  star.run();
  EXPECT_EQ(star.counters(star.out(1)).switch_lifetime_discards, 6U);
  EXPECT_FALSE(star.engine.set_lifetime(star.host_nodes[0], 0));
}

TEST(EngineLifetime, AVlThatStallsDropsAll) {
  Star star(2);
  PortAttributes attributes;
  attributes.hoq_life = 0;
  attributes.vl_stall_count = 2;
  ASSERT_TRUE(star.engine.set_attributes(star.out(1), attributes));
  star.hosts_hold = true;
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(star.send(0, 1, 4096));
    star.run(Duration(0));
  }
  const PortCounters& counters = star.counters(star.out(1));
  star.run(Duration(4096));
  EXPECT_EQ(counters.hoq_lifetime_discards, 1U);
  star.run(Duration(4096));
  EXPECT_EQ(counters.hoq_lifetime_discards, 3U);  // all that were there
  star.hosts_hold = false;
  star.engine.resume(star.host(1));
  ASSERT_TRUE(star.send(0, 1, 4096));
  star.run(Duration(8 * 4096 - 1));
  EXPECT_EQ(counters.hoq_lifetime_discards, 4U);
  EXPECT_EQ(star.to_hosts.size(), 3U);
  star.run(Duration(1));
  ASSERT_TRUE(star.send(0, 1, 4096));
  star.run();
  EXPECT_EQ(star.to_hosts.size(), 4U);
}

TEST(EngineFault, ADamagedPacketIsDroppedWhereItArrives) {
  Star star(2);
  ASSERT_TRUE(star.engine.set_faults(star.links[1], {.packet_errors = 0.6}));
  ASSERT_TRUE(star.send(0, 1, 4096));
  star.run(Duration(1000));
  EXPECT_TRUE(star.to_hosts.empty());
  EXPECT_EQ(star.counters(star.out(1)).xmit_packets(), 1U);
  EXPECT_EQ(star.counters(star.host(1)).symbol_errors, 1U);
  EXPECT_EQ(star.counters(star.host(1)).rcv_errors(), 1U);
  // Its credits come back with the next flow control packet.
  EXPECT_EQ(star.engine.port(star.out(1))->out[0].credit.available(), 256 - 65);
  star.run();
  EXPECT_EQ(star.engine.port(star.out(1))->out[0].credit.available(), 256);
  EXPECT_EQ(star.engine.next_deadline(), kNever);
}

TEST(EngineFault, LostFlowControlIsSaidAgain) {
  Star star(2);
  ASSERT_TRUE(star.engine.set_faults(star.links[0], {.flow_control_errors = 0.6}));
  ASSERT_TRUE(star.send(0, 1, 4096));
  star.run(Duration(1000));
  EXPECT_EQ(star.engine.port(star.host(0))->out[0].credit.available(), 256 - 65);
  star.next_roll = 0.7;
  star.run();
  EXPECT_EQ(star.engine.port(star.host(0))->out[0].credit.available(), 256);
}

TEST(EngineFault, ALinkThatGoesDownTakesWhatIsUnderWay) {
  Star star(2, kTenBytesANanosecond, Duration(1000));
  ASSERT_TRUE(star.send(0, 1));
  star.run(Duration(500));
  ASSERT_TRUE(star.engine.set_connected(star.links[0], false));
  EXPECT_EQ(star.states.size(), 2U);
  EXPECT_EQ(star.counters(star.out(0)).link_downed, 1U);
  EXPECT_EQ(star.send(0, 1).error(), SendError::port_down);
  ASSERT_TRUE(star.engine.set_connected(star.links[0], true));
  star.run();
  EXPECT_TRUE(star.to_hosts.empty());
  EXPECT_EQ(star.engine.packets().packets_in_use(), 0U);
  star.activate(0);
  ASSERT_TRUE(star.send(0, 1));
  star.run();
  EXPECT_EQ(star.to_hosts.size(), 1U);
  EXPECT_EQ(star.engine.port(star.host(0))->out[0].credit.available(), 256);
}

TEST(EngineFault, APortThatGoesDownDropsWhatWaitsForIt) {
  Star star(3);
  star.hosts_hold = true;
  while (star.send(0, 1, 4096).has_value()) star.run(Duration(0));
  ASSERT_TRUE(star.engine.set_enabled(star.out(1), false));
  star.run();
  EXPECT_EQ(star.counters(star.out(1)).inactive_discards, 6U);
  // What had reached the host's port is delivered.
  star.hosts_hold = false;
  star.engine.resume(star.host(1));
  star.run();
  EXPECT_EQ(star.to_hosts.size(), 3U);
  ASSERT_TRUE(star.send(0, 2));
  star.run();
  EXPECT_EQ(star.to_hosts.size(), 4U);
}

TEST(EngineMemory, IsNeverMoreThanItsLimit) {
  Limits limits;
  limits.packets.bytes = 20'000;
  Star star(2, {}, Duration(0), {}, limits);
  star.hosts_hold = true;
  int accepted = 0;
  for (; star.send(0, 1, 4096).has_value(); ++accepted) star.run(Duration(0));
  EXPECT_EQ(star.send(0, 1, 4096).error(), SendError::no_memory);
  EXPECT_EQ(accepted, 4);
  EXPECT_LE(star.engine.packets().bytes_taken(), 20'000U);
  star.hosts_hold = false;
  star.engine.resume(star.host(1));
  star.run();
  // Memory of large packets that are gone serves small ones.
  star.hosts_hold = true;
  for (accepted = 0; star.send(0, 1, 4).has_value(); ++accepted) star.run(Duration(0));
  EXPECT_GT(accepted, 200);
  EXPECT_LE(star.engine.packets().bytes_taken(), 20'000U);
}

TEST(EngineMemory, MulticastCopiesAreBounded) {
  Limits limits;
  limits.packets.packets = 3;
  Star star(5, {}, Duration(0), {}, limits);
  std::array<std::uint16_t, 32> masks{};
  masks[0] = 0b111100;
  ASSERT_TRUE(star.engine.forwarding(star.switch_node)->set_multicast_block(0, 0, masks));
  star.hosts_hold = true;
  ASSERT_TRUE(star.send(0, {.dlid = Lid(0xc000)}));
  star.run();
  std::uint64_t discards = 0;
  for (unsigned i = 1; i < 5; ++i) discards += star.counters(star.out(i)).no_memory_discards;
  EXPECT_EQ(discards, 1U);
  EXPECT_EQ(star.engine.packets().packets_in_use(), 3U);
  for (unsigned i = 1; i < 5; ++i) {
    EXPECT_GE(star.engine.port(star.out(i))->out[0].credit.available(), 254);
  }
}

}  // namespace
}  // namespace softrnic::fabric
