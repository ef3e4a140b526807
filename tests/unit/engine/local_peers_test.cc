// How a lane resolves the others of its host, while the daemon that tells of them takes its time.
#include <mutex>

#include "engine/engine_thread.h"
#include "tests/unit/engine/lane_with_peers_fixture.h"

namespace softrnic::engine::test {
namespace {

TEST_F(LaneWithPeers, APathIsSilentUntilTheDaemonHasAnswered) {
  const ib::PathWindow& to = window();
  EXPECT_TRUE(to.undecided());
  EXPECT_TRUE(calls());
  lane->service(true);
  EXPECT_EQ(asked, 0U) << "the thread that moves data asks nobody";
  EXPECT_TRUE(lane->resolve_pending());
  EXPECT_FALSE(calls());
  EXPECT_FALSE(to.undecided());
  EXPECT_FALSE(to.has_mtu());
  EXPECT_FALSE(lane->resolve_pending());
}

TEST_F(LaneWithPeers, WhomTheDaemonDoesNotTellOfInTimeIsReachedByUdpUntilItDoes) {
  const ib::PathWindow& to = window();
  ASSERT_TRUE(gets_to(to, false));
  EXPECT_TRUE(to.has_mtu());
  EXPECT_FALSE(window().undecided()) << "another queue pair does not hold it up";
  EXPECT_EQ(asked, 0U);
  EXPECT_TRUE(lane->resolve_pending());
  EXPECT_FALSE(to.undecided());
  EXPECT_FALSE(to.has_mtu());
}

// Who sends datagrams to itself finds them sent when ibv_post_send() returns, however soon
// after the lane is there.
TEST_F(LaneWithPeers, ALaneKnowsItselfAsSoonAsItsThreadIsStarted) {
  const EngineThread thread(*lane);
  ASSERT_EQ(thread.error(), 0);
  const std::lock_guard lock(lane->mutex());
  const ib::PathWindow& to = lane->window(path, Qpn::of(kOwn, 5));
  EXPECT_FALSE(to.undecided());
  EXPECT_FALSE(to.has_mtu());
}

TEST_F(LaneWithPeers, WhatMayNotBeOvertakenIsReadBeforeTheRingIsTaken) {
  const ib::PathWindow& to = *lane->gauged_window(path, Qpn::of(kTheirs, 5));
  ASSERT_TRUE(gets_to(to, false));
  EXPECT_TRUE(to.has_mtu());
  EXPECT_TRUE(lane->resolve_pending());
  EXPECT_TRUE(to.undecided());
  EXPECT_TRUE(window().undecided());
  ASSERT_TRUE(gets_to(to, false));
  EXPECT_FALSE(to.has_mtu());
}

TEST_F(LaneWithPeers, WhoShowsNothingIsAskedForWithEveryQueuePairAndHeldUpByNone) {
  shares = false;
  const ib::PathWindow& to = window();
  EXPECT_TRUE(lane->resolve_pending());
  EXPECT_FALSE(to.undecided());
  EXPECT_TRUE(to.has_mtu());
  EXPECT_FALSE(window().undecided());
  EXPECT_TRUE(calls());
  shares = true;
  EXPECT_TRUE(lane->resolve_pending());
  EXPECT_FALSE(to.undecided());
  EXPECT_FALSE(to.has_mtu());
}

// What the kernel does not let it attach to, or what is not where it should be, is not looked at.
TEST_F(LaneWithPeers, WhomItMayNotAttachToIsReachedByPackets) {
  pid = 0x3fffff;  // nobody
  const ib::PathWindow& to = window();
  EXPECT_TRUE(lane->resolve_pending());
  EXPECT_FALSE(to.undecided());
  EXPECT_TRUE(to.has_mtu());
}

TEST_F(LaneWithPeers, ADaemonThatDoesNotAnswerIsAskedAgain) {
  const ib::PathWindow& to = window();
  answers = false;
  EXPECT_TRUE(lane->resolve_pending());
  EXPECT_TRUE(to.undecided());
  EXPECT_EQ(asked, 1U);
  EXPECT_TRUE(lane->resolve_pending());
  EXPECT_EQ(asked, 2U);
  answers = true;
  EXPECT_TRUE(lane->resolve_pending());
  EXPECT_FALSE(to.undecided());
  EXPECT_FALSE(lane->resolve_pending());
}

TEST_F(LaneWithPeers, ALaneThatIsDeadIsAskedForAgainAndItsPathIsSilent) {
  const ib::PathWindow& to = window();
  EXPECT_TRUE(lane->resolve_pending());
  local_peer.slot.life->unlock();
  EXPECT_TRUE(window().undecided());
  EXPECT_TRUE(calls());
  local_peer.slot.life->lock();
  shares = false;
  EXPECT_TRUE(lane->resolve_pending());
  EXPECT_FALSE(to.undecided());
  EXPECT_TRUE(to.has_mtu());
}

}  // namespace
}  // namespace softrnic::engine::test
