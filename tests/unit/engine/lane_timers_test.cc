// The timer of a lane: when it goes off, and what is to be seen without the lock.
#include "engine/lane_timers.h"

#include <gtest/gtest.h>
#include <poll.h>

namespace softrnic::engine {
namespace {

using namespace std::chrono_literals;

struct Timers : testing::Test {
  static LaneTimers::Plan plan(TimePoint now) {
    return {.now = now, .batch = kNever, .poll = kNever, .undone = false, .hand_over = {}, .thread = kNever};
  }
  bool goes_off(int within_ms) const {
    pollfd timer{timers.fd(), POLLIN, 0};
    return poll(&timer, 1, within_ms) == 1;
  }
  const TimePoint now = monotonic_now();
  LaneTimers timers;
};

TEST_F(Timers, NothingToDoArmsNothing) {
  ASSERT_TRUE(timers.valid());
  timers.arm(plan(now));
  EXPECT_EQ(timers.armed(), kNever);
  EXPECT_FALSE(timers.batch_is_due(now + 24h));
  EXPECT_FALSE(timers.needs_thread());
}

TEST_F(Timers, GoesOffWhenABatchIsDueAndStaysArmedUntilTheThreadHasCome) {
  auto due = plan(now);
  due.batch = now + 1ms;
  timers.arm(due);
  EXPECT_FALSE(timers.batch_is_due(now));
  EXPECT_TRUE(timers.batch_is_due(now + 1ms));
  EXPECT_TRUE(goes_off(10'000));
  EXPECT_EQ(timers.armed(), now + 1ms);
  timers.take_expiration();
  EXPECT_EQ(timers.armed(), kNever);
  EXPECT_FALSE(goes_off(0));
}

TEST_F(Timers, ALaterPlanDoesNotPutItOff) {
  auto due = plan(now);
  due.batch = now + 1h;
  timers.arm(due);
  due.batch = now + 2h;
  timers.arm(due);
  EXPECT_EQ(timers.armed(), now + 1h);
  EXPECT_FALSE(timers.batch_is_due(now + 1h)) << "but whoever polls goes by the plan";
  timers.take_expiration();
  EXPECT_EQ(timers.armed(), now + 1h) << "it has not gone off";
  timers.disarm();
  EXPECT_EQ(timers.armed(), kNever);
}

TEST_F(Timers, WhatIsUndoneIsDueAtOnceAndLeftToTheProgramForAWhile) {
  auto undone = plan(now);
  undone.undone = true;
  undone.hand_over = 1h;
  undone.batch = now + 2h;
  timers.arm(undone);
  EXPECT_TRUE(timers.batch_is_due(now));
  EXPECT_FALSE(timers.needs_thread());
  EXPECT_EQ(timers.armed(), now + 1h);
}

TEST_F(Timers, WhatIsLeftToPollsIsTheThreadsLater) {
  auto left = plan(now);
  left.poll = now + 1ms;
  timers.arm(left);
  EXPECT_FALSE(timers.batch_is_due(now));
  EXPECT_TRUE(timers.batch_is_due(now + 1ms));
  EXPECT_EQ(timers.armed(), now + 1ms + LaneTimers::kLeftToPolls);
}

TEST_F(Timers, WhatOnlyTheThreadDoesIsNoBatchOfAProgram) {
  auto due = plan(now);
  due.thread = now + 1ms;
  timers.arm(due);
  EXPECT_FALSE(timers.batch_is_due(now + 1h));
  EXPECT_FALSE(timers.needs_thread()) << "not yet";
  EXPECT_EQ(timers.armed(), now + 1ms);
  due.now = now + 1ms;
  timers.arm(due);
  EXPECT_TRUE(timers.needs_thread());
}

TEST_F(Timers, InAForkedChildThereIsNone) {
  timers.abandon();
  EXPECT_FALSE(timers.valid());
}

}  // namespace
}  // namespace softrnic::engine
