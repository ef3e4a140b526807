// What waits for receives: order, patience, and the bounds of memory and work.
#include "engine/unexpected_packets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>

#include "transport/ib/rx_packet.h"
#include "wire/opcode.h"

namespace softrnic::engine {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kCapacity = 64 * 1024;

/// A queue pair with so many receives posted; it notes the PSNs of what it is given.
struct Receiver : UnexpectedQueue {
  std::size_t receives = 0;
  std::vector<std::uint32_t> got;
  std::vector<std::byte> last;
};

class Unexpected : public testing::Test {
 protected:
  static ib::RxPacket packet(std::uint32_t psn, Bytes payload = {}) {
    ib::RxPacket rx;
    rx.packet.info = &wire::opcode_info(wire::Opcode::ud_send_only);
    rx.packet.headers.bth.psn = psn;
    rx.packet.payload = payload;
    return rx;
  }
  void give(Receiver& to, const ib::RxPacket& rx) {
    if (to.receives != 0) {
      --to.receives;
      waiting.fed(to);
    }
    to.got.push_back(rx.packet.headers.bth.psn);
    to.last.assign(rx.packet.payload.begin(), rx.packet.payload.end());
  }
  /// False: it was lost.
  bool arrives(Receiver& to, const ib::RxPacket& rx, std::uint16_t sender = 1) {
    if (!waiting.is_expected(to, now, [&] { return to.receives == 0; }))
      return waiting.keep(to, rx, sender).has_value();
    give(to, rx);
    return true;
  }
  bool look_again() {
    return waiting.look_again(
        now,
        [this](UnexpectedQueue& queue, const ib::RxPacket&) {
          ++looks;
          return static_cast<Receiver&>(queue).receives == 0;
        },
        [this](UnexpectedQueue& queue, const ib::RxPacket& rx) { give(static_cast<Receiver&>(queue), rx); });
  }

  TimePoint now{1s};
  std::size_t looks = 0;
  UnexpectedPackets waiting{kCapacity};
  Receiver a, b;
};

TEST_F(Unexpected, PacketsWaitInTheirOrderAlsoWhenReceivesComeMeanwhile) {
  EXPECT_TRUE(arrives(a, packet(1)));
  a.receives = 2;
  EXPECT_TRUE(arrives(a, packet(2)));
  EXPECT_TRUE(arrives(a, packet(3)));
  EXPECT_TRUE(a.got.empty());
  look_again();
  EXPECT_EQ(a.got, (std::vector<std::uint32_t>{1, 2}));
  a.receives = 1;
  look_again();
  EXPECT_EQ(a.got, (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_FALSE(waiting.any());
  EXPECT_EQ(waiting.bytes(), 0U);
}

TEST_F(Unexpected, OthersDoNotWait) {
  b.receives = 1;
  EXPECT_TRUE(arrives(a, packet(1)));
  EXPECT_TRUE(arrives(b, packet(2)));
  EXPECT_EQ(b.got.size(), 1U);
}

TEST_F(Unexpected, ThePayloadIsKeptWhateverBecomesOfItsBuffer) {
  std::vector<std::byte> payload(100, std::byte{7});
  EXPECT_TRUE(arrives(a, packet(1, payload)));
  const auto sent = payload;
  std::fill(payload.begin(), payload.end(), std::byte{0});
  a.receives = 1;
  look_again();
  EXPECT_EQ(a.last, sent);
}

TEST_F(Unexpected, WhoGetsNoReceiveInTimeDropsWhatComesUntilItGetsOne) {
  EXPECT_TRUE(arrives(a, packet(1)));
  now += UnexpectedPackets::kPatience - 1ns;
  EXPECT_TRUE(arrives(a, packet(2)));
  look_again();
  EXPECT_TRUE(a.got.empty());
  now += 1ns;
  look_again();
  EXPECT_EQ(a.got.size(), 2U) << "handed over, to be dropped";
  EXPECT_TRUE(arrives(a, packet(3)));
  EXPECT_EQ(a.got.size(), 3U) << "waits no more";
  a.receives = 1;
  EXPECT_TRUE(arrives(a, packet(4)));
  EXPECT_TRUE(arrives(a, packet(5)));
  EXPECT_EQ(a.got.size(), 4U) << "may wait again";
}

TEST_F(Unexpected, AQueuePairLeavesAsMuchToOthersAsItTakes) {
  const std::vector<std::byte> payload(1000);
  std::size_t of_a = 0;
  while (arrives(a, packet(0, payload))) ++of_a;
  EXPECT_LE(waiting.bytes(), kCapacity / 2 + 1000);
  EXPECT_GE(waiting.bytes(), kCapacity / 2 - 2000);
  std::size_t of_b = 0;
  while (arrives(b, packet(0, payload), 2)) ++of_b;
  EXPECT_GE(of_b, of_a / 2 - 1);
}

TEST_F(Unexpected, MemoryHasABoundHoweverManyQueuePairsThereAre) {
  std::deque<Receiver> crowd(5000);
  std::size_t kept = 0;
  for (Receiver& each : crowd) kept += arrives(each, packet(0));
  EXPECT_LE(waiting.bytes(), kCapacity);
  EXPECT_GE(kept, 100U);
  for (Receiver& each : crowd) waiting.forget(each);
  EXPECT_EQ(waiting.bytes(), 0U);
  EXPECT_FALSE(waiting.any());
  EXPECT_FALSE(waiting.any_starving());
}

TEST_F(Unexpected, ALookTakesABoundedTimeAndReachesEveryoneInTurn) {
  std::deque<Receiver> crowd(150);
  for (Receiver& each : crowd) ASSERT_TRUE(arrives(each, packet(0)));
  EXPECT_FALSE(look_again()) << "nothing is to be done at once";
  EXPECT_EQ(looks, UnexpectedPackets::kMostSteps);
  crowd.back().receives = 1;
  for (int i = 0; i < 2; ++i) look_again();
  EXPECT_EQ(crowd.back().got.size(), 1U);
  now += UnexpectedPackets::kPatience;
  EXPECT_TRUE(look_again()) << "the others are to be dropped, too";
}

TEST_F(Unexpected, SendersOfMuchAreToldToStopAndOthersAreNot) {
  const std::vector<std::byte> payload(1000);
  EXPECT_TRUE(arrives(a, packet(0, payload), 1));
  EXPECT_FALSE(waiting.throttles(1)) << "little";
  while (waiting.bytes() <= kCapacity / 4) ASSERT_TRUE(arrives(a, packet(0, payload), 1));
  EXPECT_TRUE(waiting.throttles(1));
  EXPECT_FALSE(waiting.throttles(2));
  a.receives = 1000;
  look_again();
  EXPECT_FALSE(waiting.throttles(1));
}

TEST_F(Unexpected, WhoGoesAwayTakesItsPacketsAlong) {
  EXPECT_TRUE(arrives(a, packet(1)));
  EXPECT_TRUE(arrives(b, packet(2)));
  waiting.forget(a);
  b.receives = 1;
  look_again();
  EXPECT_TRUE(a.got.empty());
  EXPECT_EQ(b.got.size(), 1U);
}

}  // namespace
}  // namespace softrnic::engine
