// Packets between lanes of one host: two links, each over the memory that the other one shares.
#include "engine/inbox_link.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "engine/null_link.h"
#include "transport/ib/ordered_copy.h"
#include "transport/ib/path_window.h"

namespace softrnic::engine {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t kKeyIndex = 5;
constexpr MemoryKey kKey{kKeyIndex << rnic::KeyTable::kTagBits | 0x11};

wire::Gid own_gid() { return wire::Gid::from_ipv4_be(0x0100007f); }

/// What goes to the network.
class Below final : public link::Link {
 public:
  explicit Below(std::size_t& sent) : sent_(sent) {}
  void set_tap(link::PacketTap*) override {}
  void set_addresses(std::vector<rnic::GidEntry>) override {}
  void send(const ib::TxPacket&, TimePoint) override { ++sent_; }
  void send_damaged(const ib::TxPacket&, std::uint32_t, TimePoint) override {}
  void flush(TimePoint) override {}
  std::size_t receive(link::Receiver&, TimePoint) override { return 0; }
  bool has_packet(TimePoint) const override { return false; }
  int readable_fd() const override { return -1; }
  bool join(const wire::Gid&, std::uint32_t) override { return false; }
  bool leave(const wire::Gid&, std::uint32_t) override { return false; }

 private:
  std::size_t& sent_;
};

struct Got {
  std::uint32_t psn = 0;
  std::uint32_t packets = 0;
  bool elsewhere = false;
  bool complete = false;  ///< the payload was to be had
  std::vector<std::byte> payload;
};

class Collector final : public link::Receiver {
 public:
  bool packet(const ib::RxPacket& rx) override {
    if (hold) return false;
    Got& out = got.emplace_back();
    out.psn = rx.packet.headers.bth.psn;
    out.packets = rx.packets;
    out.elsewhere = rx.elsewhere != nullptr;
    out.payload.resize(rx.payload_bytes());
    out.complete = ib::copy(rx.payload(), 0, out.payload.data(), out.payload.size());
    return true;
  }
  void dropped(const Reason& reason, ib::Counter counter, Qpn, std::uint64_t packets) override {
    drops.insert(drops.end(), packets, {reason.id, counter});
  }
  bool hold = false;
  std::vector<Got> got;
  std::vector<std::pair<ReasonId, ib::Counter>> drops;
};

/// A process with one lane.
class Side {
 public:
  explicit Side(std::uint8_t number)
      : lane(number), share(DirectShare::make(1)), place(*share->add_lane(number)) {
    open();
  }
  void open() {
    link = std::make_unique<InboxLink>(std::make_unique<Below>(below), lane, *share, place,
                                       UniqueFd(dup(bell.get())));
    rnic::GidEntry address;
    address.gid = own_gid();
    link->set_addresses({address});
  }
  void meet(const Side& other) {
    peer = DirectPeer::meet(UniqueFd(dup(other.share->fd())), other.lane, lane, *share);
    ASSERT_NE(peer, nullptr);
    link->connect(other.lane, *peer, UniqueFd(dup(other.bell.get())));
  }
  std::vector<Got> receive() {
    link->receive(collector, now);
    return std::exchange(collector.got, {});
  }
  void register_memory(std::vector<std::byte>& memory) const {
    share->show({.key = kKey,
                 .pd = nullptr,
                 .start = reinterpret_cast<std::uint64_t>(memory.data()),
                 .length = memory.size(),
                 .base = memory.data(),
                 .access = 0});
  }
  bool rung() const {
    pollfd fd{bell.get(), POLLIN, 0};
    return poll(&fd, 1, 0) == 1;
  }

  std::uint8_t lane;
  UniqueFd bell{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  std::unique_ptr<DirectShare> share;
  DirectShare::LanePlace place;
  std::unique_ptr<DirectPeer> peer;
  std::unique_ptr<InboxLink> link;
  std::size_t below = 0;
  Collector collector;
  TimePoint now{std::chrono::seconds(1)};
};

class InboxLinkTest : public ::testing::Test {
 protected:
  InboxLinkTest() {
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i * 7 + (i >> 8));
    a.meet(b);
    b.meet(a);
    path.source = path.destination = own_gid();
  }
  ib::TxPacket packet(std::uint32_t psn, std::uint32_t bytes,
                      wire::Opcode opcode = wire::Opcode::rc_send_only) {
    ib::TxPacket tx;
    tx.path = &path;
    tx.headers.bth.opcode = opcode;
    tx.headers.bth.psn = psn;
    tx.headers.bth.pad = wire::pad_for(bytes);
    tx.headers.bth.destination = Qpn::of(b.lane, 7);
    tx.payload_bytes = bytes;
    if (bytes > 0) tx.fragments[tx.fragment_count++] = {memory.data() + 100, bytes, kKey};
    return tx;
  }
  void send(const ib::TxPacket& tx) {
    a.link->send(tx, a.now);
    a.link->flush(a.now);
  }
  bool same(const Got& got, std::uint32_t bytes) const {
    return got.complete && got.payload.size() == bytes &&
           std::equal(got.payload.begin(), got.payload.end(), memory.begin() + 100);
  }

  std::vector<std::byte> memory = std::vector<std::byte>(100'000);
  ib::AddressVector path;
  Side a{3}, b{4};
};

TEST_F(InboxLinkTest, APacketToALaneOfThisHostTakesItsRing) {
  ib::TxPacket tx = packet(7, 1000);
  tx.packets = 3;
  send(tx);
  EXPECT_TRUE(b.link->has_packet(b.now));
  const auto got = b.receive();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].psn, 7U);
  EXPECT_EQ(got[0].packets, 3U);
  EXPECT_FALSE(got[0].elsewhere);
  EXPECT_TRUE(same(got[0], 1000));
  EXPECT_FALSE(b.link->has_packet(b.now));
  EXPECT_EQ(a.below, 0U);
}

TEST_F(InboxLinkTest, APacketToAnotherHostOrLaneTakesTheNetwork) {
  ib::TxPacket tx = packet(1, 8);
  tx.headers.bth.destination = Qpn::of(5, 7);
  send(tx);
  EXPECT_EQ(a.below, 1U);
  path.destination = wire::Gid::from_ipv4_be(0x0200000a);
  send(packet(2, 8));
  EXPECT_EQ(a.below, 2U);
  path.destination = own_gid();
  a.link->disconnect(b.lane);
  EXPECT_FALSE(a.link->connected(b.lane));
  send(packet(3, 8));
  EXPECT_EQ(a.below, 3U);
  EXPECT_TRUE(b.receive().empty());
}

// ---- payloads that stay where they are

TEST_F(InboxLinkTest, ALongPayloadOfRcIsFetched) {
  a.register_memory(memory);
  ib::TxPacket tx = packet(1, 20'000);
  tx.fragments[0].size = 5000;
  tx.fragments[tx.fragment_count++] = {memory.data() + 5100, 15'000, kKey};
  send(tx);
  send(packet(2, 100));
  const auto got = b.receive();
  ASSERT_EQ(got.size(), 2U);
  EXPECT_TRUE(got[0].elsewhere);
  EXPECT_TRUE(same(got[0], 20'000));
  EXPECT_FALSE(got[1].elsewhere) << "not worth a system call";
  EXPECT_TRUE(same(got[1], 100));
}

TEST_F(InboxLinkTest, UcAndUdMayUseTheirBuffersAgainAtOnce) {
  a.register_memory(memory);
  send(packet(1, 20'000, wire::Opcode::uc_send_only));
  send(packet(2, 20'000, wire::Opcode::ud_send_only));
  const auto got = b.receive();
  ASSERT_EQ(got.size(), 2U);
  for (const Got& one : got) {
    EXPECT_FALSE(one.elsewhere);
    EXPECT_TRUE(same(one, 20'000));
  }
}

TEST_F(InboxLinkTest, WhatLiesInNoRegionThatOthersKnowGoesAlong) {
  a.register_memory(memory);
  for (const MemoryKey key : {MemoryKey(0), MemoryKey{kDirectKeys << rnic::KeyTable::kTagBits}}) {
    ib::TxPacket tx = packet(1, 20'000);
    tx.fragments[0].key = key;
    send(tx);
    const auto got = b.receive();
    ASSERT_EQ(got.size(), 1U);
    EXPECT_FALSE(got[0].elsewhere);
    EXPECT_TRUE(same(got[0], 20'000));
  }
}

TEST_F(InboxLinkTest, WhatWasDeregisteredIsNotFetched) {
  a.register_memory(memory);
  send(packet(1, 20'000));
  a.share->hide(kKey);
  auto got = b.receive();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_FALSE(got[0].complete);
  a.register_memory(memory);
  ib::TxPacket tx = packet(2, 20'000);
  tx.fragments[0].data = memory.data() + 80'001;  // a byte too far
  send(tx);
  got = b.receive();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_FALSE(got[0].complete);
}

TEST_F(InboxLinkTest, WhoCannotFetchGetsThePayloadAlong) {
  a.register_memory(memory);
  b.link->disconnect(a.lane);
  send(packet(1, 20'000));
  const auto got = b.receive();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_FALSE(got[0].elsewhere);
  EXPECT_TRUE(same(got[0], 20'000));
}

// ---- rings that are full, stuck, broken

TEST_F(InboxLinkTest, APacketThatIsHeldComesAgainAndThoseBehindIt) {
  a.register_memory(memory);
  send(packet(1, 20'000));
  send(packet(2, 8));
  b.collector.hold = true;
  EXPECT_TRUE(b.receive().empty());
  EXPECT_TRUE(b.receive().empty());
  b.collector.hold = false;
  const auto got = b.receive();
  ASSERT_EQ(got.size(), 2U);
  EXPECT_TRUE(same(got[0], 20'000));
  EXPECT_EQ(got[1].psn, 2U);
}

TEST_F(InboxLinkTest, PacketsThatFindNoRoomAreReported) {
  ib::Gauge& gauge = a.link->gauge(b.lane);
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
  a.link->disconnect(b.lane);
  EXPECT_FALSE(gauge.knows(a.now));
  EXPECT_EQ(gauge.room(a.now), 0U);
}

TEST_F(InboxLinkTest, ALaneThatReadsNothingForLongIsNamed) {
  send(packet(1, 8));
  EXPECT_EQ(a.link->take_stuck(), -1);
  b.receive();
  a.now += milliseconds(20);
  send(packet(2, 8));
  EXPECT_EQ(a.link->take_stuck(), -1) << "it has read meanwhile";
  a.now += milliseconds(20);
  send(packet(3, 8));
  EXPECT_EQ(a.link->take_stuck(), b.lane);
  EXPECT_EQ(a.link->take_stuck(), -1);
}

TEST_F(InboxLinkTest, AnotherProcessMayTakeTheLaneOfOneThatDied) {
  send(packet(1, 8));
  a.link.reset();
  a.open();
  a.meet(b);
  send(packet(2, 8));
  const auto got = b.receive();
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[1].psn, 2U);
}

TEST_F(InboxLinkTest, ARingOfGarbageIsLeftAloneAndTheOthersAreRead) {
  Side c{9};
  c.meet(b);
  send(packet(1, 8));
  EXPECT_EQ(b.receive().size(), 1U);
  std::memset(a.peer->ring().records, 0xff, link::kRingBytes);
  ib::TxPacket tx = packet(2, 8);
  c.link->send(tx, c.now);
  const auto got = b.receive();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].psn, 2U);
  EXPECT_FALSE(b.link->has_packet(b.now)) << "nor does it keep the lane awake";
}

TEST_F(InboxLinkTest, APacketThatIsNoneIsDropped) {
  ib::TxPacket tx = packet(1, 8);
  tx.headers.bth.version = 1;
  send(tx);
  EXPECT_TRUE(b.receive().empty());
  ASSERT_EQ(b.collector.drops.size(), 1U);
  EXPECT_EQ(b.collector.drops[0].second, ib::Counter::drop_malformed);
}

// ---- sleep

TEST_F(InboxLinkTest, WhoSleepsIsRungForOnce) {
  send(packet(1, 8));
  EXPECT_FALSE(b.rung()) << "it is awake";
  EXPECT_FALSE(b.link->doze()) << "there is a packet";
  b.receive();
  EXPECT_TRUE(b.link->doze());
  a.link->send(packet(2, 8), a.now);
  EXPECT_FALSE(b.rung()) << "not before all is written";
  a.link->flush(a.now);
  EXPECT_TRUE(b.rung());
  b.link->wake();
  EXPECT_FALSE(b.rung());
  send(packet(3, 8));
  EXPECT_FALSE(b.rung());
  EXPECT_EQ(b.receive().size(), 2U);
}

TEST_F(InboxLinkTest, WhoWakesByItselfIsNotRungFor) {
  EXPECT_FALSE(b.link->doze()) << "a new writer is to be met";
  b.receive();
  EXPECT_TRUE(b.link->doze());
  b.link->wake();
  send(packet(1, 8));
  EXPECT_FALSE(b.rung());
  EXPECT_EQ(b.receive().size(), 1U);
}

/// Waits for the next packet, asleep when there is none. False: nobody rang.
bool await(Side& side) {
  while (side.receive().empty()) {
    if (!side.link->doze()) continue;
    pollfd fd{side.link->bell_fd(), POLLIN, 0};
    const bool rung = poll(&fd, 1, 20'000) == 1;
    side.link->wake();
    if (!rung) return false;
  }
  return true;
}

// A bell that is lost is a side that sleeps for ever.
TEST_F(InboxLinkTest, TwoThreadsThatSleepBetweenPacketsWakeEachOther) {
  constexpr std::uint32_t kTurns = 20'000;
  ib::TxPacket back = packet(0, 8);
  back.headers.bth.destination = Qpn::of(a.lane, 7);
  const std::jthread other([&] {
    for (std::uint32_t i = 0; i < kTurns && await(b); ++i) {
      b.link->send(back, b.now);
      b.link->flush(b.now);
    }
  });
  for (std::uint32_t i = 0; i < kTurns; ++i) {
    send(packet(i, 8));
    ASSERT_TRUE(await(a)) << i;
  }
}

}  // namespace
}  // namespace softrnic::engine
