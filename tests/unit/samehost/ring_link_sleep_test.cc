// Lanes that sleep, and their local peers who wake them.
#include <thread>

#include "tests/unit/samehost/ring_link_fixture.h"

namespace softrnic::samehost::test {
namespace {

using InboxSleep = RingLinkTest;

TEST_F(InboxSleep, WhoSleepsIsRungForOnce) {
  send(packet(1, 8));
  EXPECT_FALSE(b.rung()) << "it is awake";
  EXPECT_FALSE(b.link->arm_doorbell()) << "there is a packet";
  b.receive();
  EXPECT_TRUE(b.link->arm_doorbell());
  a.link->send(packet(2, 8), a.now);
  EXPECT_FALSE(b.rung()) << "not before all is written";
  a.link->flush(a.now);
  EXPECT_TRUE(b.rung());
  b.link->disarm_doorbell();
  EXPECT_FALSE(b.rung());
  send(packet(3, 8));
  EXPECT_FALSE(b.rung());
  EXPECT_EQ(b.receive().size(), 2U);
}

TEST_F(InboxSleep, WhoWakesByItselfIsNotRungFor) {
  EXPECT_FALSE(b.link->arm_doorbell()) << "a new writer is to be met";
  b.receive();
  EXPECT_TRUE(b.link->arm_doorbell());
  b.link->disarm_doorbell();
  send(packet(1, 8));
  EXPECT_FALSE(b.rung());
  EXPECT_EQ(b.receive().size(), 1U);
}

// A sender says that it will ring, and is held up before it does.
TEST_F(InboxSleep, ABellThatIsRungTooLateDoesNotKeepTheLaneAwake) {
  b.receive();
  EXPECT_TRUE(b.link->arm_doorbell());
  EXPECT_EQ(b.place.inbox->asleep.exchange(0), 1U);
  b.link->disarm_doorbell();
  ring_doorbell(b.doorbell);
  EXPECT_TRUE(b.link->arm_doorbell());
  EXPECT_TRUE(b.rung()) << "once";
  b.link->disarm_doorbell();
  EXPECT_FALSE(b.rung());
}

// Its writer looked whether the reader sleeps before the reader could see what it wrote.
TEST_F(InboxSleep, WhatCameUnheardIsFoundByASecondLook) {
  b.receive();
  EXPECT_TRUE(b.link->arm_doorbell());
  EXPECT_FALSE(b.link->recheck_doorbell());
  a.link->send(packet(1, 8), a.now);
  EXPECT_FALSE(b.rung());
  EXPECT_TRUE(b.link->recheck_doorbell());
  b.link->disarm_doorbell();
  EXPECT_EQ(b.receive().size(), 1U);
}

/// Waits for the next packet, asleep when there is none. False: nobody rang.
bool await(Side& side) {
  while (side.receive().empty()) {
    if (!side.link->arm_doorbell()) continue;
    pollfd fd{side.link->doorbell_fd(), POLLIN, 0};
    bool woken = poll(&fd, 1, RingLink::kRecheck / std::chrono::milliseconds(1)) == 1;
    if (!woken) woken = side.link->recheck_doorbell() || poll(&fd, 1, 20'000) == 1;
    side.link->disarm_doorbell();
    if (!woken) return false;
  }
  return true;
}

// A doorbell that is lost is a side that sleeps for ever.
TEST_F(InboxSleep, TwoThreadsThatSleepBetweenPacketsWakeEachOther) {
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
}  // namespace softrnic::samehost::test
