// Packets between lanes of one host: which way they take, payloads that stay where they are, rings in
// trouble.
#include <cstring>

#include "base/reason_id.h"
#include "tests/unit/samehost/ring_link_fixture.h"
#include "transport/ib/path_window.h"

namespace softrnic::samehost::test {
namespace {

constexpr std::uint32_t kFetchedBytes = 30'000;  // of RC it is fetched

using std::chrono::milliseconds;

TEST_F(RingLinkTest, APacketToALaneOfThisHostTakesItsRing) {
  ib::TxPacket tx = packet(7, 1000);
  tx.packets = 3;
  send(tx);
  EXPECT_TRUE(b.link->has_packet(b.now));
  const auto got = b.receive();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].psn, 7U);
  EXPECT_EQ(got[0].packets, 3U);
  EXPECT_FALSE(got[0].rendezvous);
  EXPECT_TRUE(same(got[0], 1000));
  EXPECT_FALSE(b.link->has_packet(b.now));
  EXPECT_EQ(a.below.sent, 0U);
}

TEST_F(RingLinkTest, APacketToAnotherHostOrLaneTakesTheNetwork) {
  ib::TxPacket tx = packet(1, 8);
  tx.headers.bth.destination = Qpn::of(5, 7);
  send(tx);
  EXPECT_EQ(a.below.sent, 1U);
  path.destination = wire::Gid::from_ipv4_be(0x0200000a);
  send(packet(2, 8));
  EXPECT_EQ(a.below.sent, 2U);
  path.destination = own_gid();
  a.link->outbound().disconnect(b.lane);
  EXPECT_FALSE(a.link->outbound().connected(b.lane));
  send(packet(3, 8));
  EXPECT_EQ(a.below.sent, 3U);
  EXPECT_TRUE(b.receive().empty());
}

TEST_F(RingLinkTest, TheNetworkIsReadNowAndThenWhileRingsAreInUse) {
  b.receive();
  b.receive();
  EXPECT_EQ(b.below.reads, 2U) << "no ring is in use";
  send(packet(1, 8));
  b.receive();
  b.receive();
  EXPECT_EQ(b.below.reads, 2U);
  b.now += milliseconds(1);
  send(packet(2, 8));
  b.receive();
  EXPECT_EQ(b.below.reads, 3U);
  b.link->activity().poll_below_next();
  b.receive();
  EXPECT_EQ(b.below.reads, 4U) << "who waits for the network knows that something is there";
  b.now += std::chrono::microseconds(30);
  b.below.has_packet = true;
  EXPECT_TRUE(b.link->has_packet(b.now));
  b.receive();
  EXPECT_EQ(b.below.reads, 5U);
}

// ---- payloads that stay where they are

TEST_F(RingLinkTest, ALongPayloadOfRcIsFetched) {
  a.register_memory(memory);
  ib::TxPacket tx = packet(1, kFetchedBytes);
  tx.fragments[0].size = 5000;
  tx.fragments[tx.fragment_count++] = {memory.data() + 5100, kFetchedBytes - 5000, kRegionKey};
  send(tx);
  send(packet(2, 100));
  const auto got = b.receive();
  ASSERT_EQ(got.size(), 2U);
  EXPECT_TRUE(got[0].rendezvous);
  EXPECT_TRUE(same(got[0], kFetchedBytes));
  EXPECT_FALSE(got[1].rendezvous) << "not worth a system call";
  EXPECT_TRUE(same(got[1], 100));
}

TEST_F(RingLinkTest, APayloadThatIsSentAgainIsCarried) {
  a.register_memory(memory);
  ib::TxPacket tx = packet(1, kFetchedBytes);
  tx.again = true;
  send(tx);
  const auto got = b.receive();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_FALSE(got[0].rendezvous);
  EXPECT_TRUE(same(got[0], kFetchedBytes));
}

TEST_F(RingLinkTest, UcAndUdMayUseTheirBuffersAgainAtOnce) {
  a.register_memory(memory);
  send(packet(1, kFetchedBytes, wire::Opcode::uc_send_only));
  send(packet(2, kFetchedBytes, wire::Opcode::ud_send_only));
  const auto got = b.receive();
  ASSERT_EQ(got.size(), 2U);
  for (const Got& one : got) {
    EXPECT_FALSE(one.rendezvous);
    EXPECT_TRUE(same(one, kFetchedBytes));
  }
}

TEST_F(RingLinkTest, WhatLiesInNoRegionThatOthersKnowGoesAlong) {
  a.register_memory(memory);
  for (const MemoryKey key : {MemoryKey(0), MemoryKey{kDirectKeys << rnic::KeyTable::kTagBits}}) {
    ib::TxPacket tx = packet(1, kFetchedBytes);
    tx.fragments[0].key = key;
    send(tx);
    const auto got = b.receive();
    ASSERT_EQ(got.size(), 1U);
    EXPECT_FALSE(got[0].rendezvous);
    EXPECT_TRUE(same(got[0], kFetchedBytes));
  }
}

TEST_F(RingLinkTest, WhatWasDeregisteredIsNotFetched) {
  a.register_memory(memory);
  send(packet(1, kFetchedBytes));
  a.share->withdraw(kRegionKey);
  auto got = b.receive();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_FALSE(got[0].complete);
  a.register_memory(memory);
  ib::TxPacket tx = packet(2, kFetchedBytes);
  tx.fragments[0].data = memory.data() + memory.size() - kFetchedBytes + 1;  // a byte too far
  send(tx);
  got = b.receive();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_FALSE(got[0].complete);
}

TEST_F(RingLinkTest, WhoCannotFetchGetsThePayloadAlong) {
  a.register_memory(memory);
  b.link->outbound().disconnect(a.lane);
  send(packet(1, kFetchedBytes));
  const auto got = b.receive();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_FALSE(got[0].rendezvous);
  EXPECT_TRUE(same(got[0], kFetchedBytes));
}

// ---- rings that are full, stuck, broken

TEST_F(RingLinkTest, PacketsThatFindNoRoomAreReported) {
  ib::Gauge& gauge = a.link->outbound().gauge(b.lane);
  EXPECT_TRUE(gauge.knows(a.now));
  const std::uint32_t before = gauge.room(a.now);
  std::uint32_t psn = 0;
  for (; psn < 100; ++psn) send(packet(psn, 7000));
  EXPECT_LT(gauge.room(a.now), before);
  EXPECT_LT(gauge.room(a.now), ib::datagram_cost(7000));
  a.receive();
  ASSERT_FALSE(a.collector.drops.empty());
  EXPECT_EQ(a.collector.drops.front(), std::pair(ReasonId::drop_ring_full, ib::Counter::send_errors));
  std::size_t got = 0;
  for (auto some = b.receive(); !some.empty(); some = b.receive()) got += some.size();
  EXPECT_EQ(got + a.collector.drops.size(), psn);
  EXPECT_EQ(gauge.room(a.now), before);
  a.link->outbound().disconnect(b.lane);
  EXPECT_FALSE(gauge.knows(a.now));
  EXPECT_EQ(gauge.room(a.now), 0U);
}

/// A path of UC and UD by ring.
struct Datagrams : RingLinkTest {
  Datagrams() {
    window.observe(&gauge);
    other_window.observe(&gauge);
  }
  bool send_datagram(ib::PathWindow& by, std::uint32_t bytes = 4096) {
    if (!by.admit(bytes + 64, a.now).granted) return false;
    send(packet(psn++, bytes, wire::Opcode::ud_send_only));
    return true;
  }
  std::size_t lost() {
    a.receive();
    return a.collector.drops.size();
  }

  ib::Gauge& gauge = a.link->outbound().gauge(b.lane);
  ib::PathWindow window, other_window;  ///< to two addresses of the same lane
  std::uint32_t psn = 0;
};

TEST_F(Datagrams, AreNotLostWhereOthersHaveFilledTheRing) {
  EXPECT_TRUE(send_datagram(window));
  EXPECT_TRUE(send_datagram(other_window));
  while (gauge.room(a.now) != 0) send(packet(psn++, 4096));
  EXPECT_FALSE(send_datagram(window));
  EXPECT_FALSE(send_datagram(other_window));
  EXPECT_EQ(lost(), 0U);
  while (!b.receive().empty()) continue;
  EXPECT_TRUE(send_datagram(window)) << "there is room again";
}

TEST_F(Datagrams, LeaveRoomForRc) {
  while (send_datagram(window)) continue;
  for (std::uint32_t sent = 0; sent < OutboundRings::kLeftToRc - 8 * 1024; sent += 1024)
    send(packet(psn++, 1024 - 64));
  EXPECT_EQ(lost(), 0U);
}

TEST_F(Datagrams, OfAnyLengthHaveRoomInARingThatIsRead) {
  for (int i = 0; i < 100; ++i) {
    while (send_datagram(window, OutboundRings::kLongestPacket)) continue;
    while (!b.receive().empty()) continue;
    EXPECT_TRUE(send_datagram(window, OutboundRings::kLongestPacket));
  }
  EXPECT_EQ(lost(), 0U);
}

TEST_F(Datagrams, ThatWaitForALaneThatReadsNothingNameIt) {
  while (send_datagram(window)) continue;
  EXPECT_EQ(a.link->outbound().take_stuck(), -1);
  a.now += milliseconds(20);
  EXPECT_FALSE(send_datagram(window));
  EXPECT_EQ(a.link->outbound().take_stuck(), b.lane);
}

TEST_F(Datagrams, ToALaneThatReadsNothingLeaveAfterASecond) {
  while (send_datagram(window)) continue;
  a.now += ib::PathWindow::kPatience;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(send_datagram(window));
  EXPECT_NE(lost(), 0U);
}

TEST_F(RingLinkTest, ALaneThatReadsNothingForLongIsNamed) {
  send(packet(1, 8));
  EXPECT_EQ(a.link->outbound().take_stuck(), -1);
  b.receive();
  a.now += milliseconds(20);
  send(packet(2, 8));
  EXPECT_EQ(a.link->outbound().take_stuck(), -1) << "it has read meanwhile";
  a.now += milliseconds(20);
  send(packet(3, 8));
  EXPECT_EQ(a.link->outbound().take_stuck(), b.lane);
  EXPECT_EQ(a.link->outbound().take_stuck(), -1);
}

TEST_F(RingLinkTest, AnotherProcessMayTakeTheLaneOfOneThatDied) {
  send(packet(1, 8));
  a.link.reset();
  a.open();
  a.meet(b);
  send(packet(2, 8));
  const auto got = b.receive();
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[1].psn, 2U);
}

TEST_F(RingLinkTest, ARingOfGarbageIsLeftAloneAndTheOthersAreRead) {
  Side c{9};
  c.meet(b);
  send(packet(1, 8));
  EXPECT_EQ(b.receive().size(), 1U);
  std::memset(a.peer->ring().records, 0xff, kRingBytes);
  ib::TxPacket tx = packet(2, 8);
  c.link->send(tx, c.now);
  const auto got = b.receive();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].psn, 2U);
  EXPECT_FALSE(b.link->has_packet(b.now)) << "nor does it keep the lane awake";
}

TEST_F(RingLinkTest, APacketThatIsNoneIsDropped) {
  ib::TxPacket tx = packet(1, 8);
  tx.headers.bth.version = 1;
  send(tx);
  EXPECT_TRUE(b.receive().empty());
  ASSERT_EQ(b.collector.drops.size(), 1U);
  EXPECT_EQ(b.collector.drops[0].second, ib::Counter::drop_malformed);
}

// Somebody's stray pointer.
TEST_F(RingLinkTest, ABrokenRingIsReportedAndRefused) {
  send(packet(1, 8));
  EXPECT_EQ(b.receive().size(), 1U);
  std::memset(a.peer->ring().records, 0xff, kRingBytes);
  EXPECT_TRUE(b.receive().empty());
  EXPECT_TRUE(b.receive().empty());
  ASSERT_EQ(b.collector.drops.size(), 1U);
  EXPECT_EQ(b.collector.drops[0], std::pair(ReasonId::drop_ring_broken, ib::Counter::drop_malformed));
  EXPECT_TRUE(a.link->outbound().is_refused_by(*a.peer));
  EXPECT_FALSE(b.link->outbound().is_refused_by(*b.peer));
  a.now += milliseconds(20);  // looks who does not read
  send(packet(2, 8));
  a.now += milliseconds(20);
  send(packet(3, 8));
  EXPECT_EQ(a.link->outbound().take_stuck(), b.lane);
  a.link->outbound().disconnect(b.lane);
  a.link->outbound().connect(b.lane, *a.peer, UniqueFd(dup(b.doorbell.get())));
  EXPECT_FALSE(a.link->outbound().connected(b.lane));
  send(packet(4, 8));
  EXPECT_EQ(a.below.sent, 1U);
}

// A program that polls takes eager sends and nothing else as long as nothing else is there to take.
TEST_F(RingLinkTest, ABrokenRingIsReportedToWhoPollsForEagerSends) {
  send(packet(1, 8));
  EXPECT_EQ(b.receive().size(), 1U);
  std::memset(a.peer->ring().records, 0xff, kRingBytes);
  EXPECT_EQ(b.link->receive_eagers(b.collector, 1), 0U);
  EXPECT_EQ(b.link->receive_eagers(b.collector, 1), 0U);
  ASSERT_EQ(b.collector.drops.size(), 1U);
  EXPECT_EQ(b.collector.drops[0], std::pair(ReasonId::drop_ring_broken, ib::Counter::drop_malformed));
}

// Whose datagrams find no room, as nobody reads them, is told so too.
TEST_F(RingLinkTest, ALaneThatReadsNothingIsNamedEvenWhenItsRingIsFull) {
  for (std::uint32_t psn = 0; psn < 100; ++psn) send(packet(psn, 7000));
  EXPECT_EQ(a.link->outbound().take_stuck(), -1);
  a.now += milliseconds(20);
  send(packet(100, 7000));
  EXPECT_EQ(a.link->outbound().take_stuck(), b.lane);
}

}  // namespace
}  // namespace softrnic::samehost::test
