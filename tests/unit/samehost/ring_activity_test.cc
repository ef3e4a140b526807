// When the link below the rings is looked at: with every poll; rarely, while something moves through memory.
#include "samehost/ring_activity.h"

#include <gtest/gtest.h>

namespace softrnic::samehost {
namespace {

using namespace std::chrono_literals;

struct RingActivityTest : testing::Test {
  const TimePoint now{1s};
  RingActivity activity;
};

TEST_F(RingActivityTest, WithoutTrafficEveryPollLooksBelow) {
  activity.polled_below(now);
  EXPECT_FALSE(activity.polled(now));
  EXPECT_TRUE(activity.looks_below(now));
}

TEST_F(RingActivityTest, TrafficMakesLooksRareUntilItStops) {
  activity.note_traffic();
  EXPECT_TRUE(activity.polled(now));
  activity.polled_below(now);
  EXPECT_FALSE(activity.looks_below(now + PacedLooks::kApart - 1ns));
  EXPECT_TRUE(activity.looks_below(now + PacedLooks::kApart));
  EXPECT_TRUE(activity.polled(now + 999us));
  activity.note_traffic();
  EXPECT_TRUE(activity.polled(now + 1100us)) << "it goes on";
  EXPECT_TRUE(activity.polled(now + 2100us)) << "the last one of its time";
  EXPECT_FALSE(activity.polled(now + 2101us));
  activity.polled_below(now + 2102us);
  EXPECT_TRUE(activity.looks_below(now + 2102us));
}

TEST_F(RingActivityTest, WhoKnowsOfSomethingBelowHasItLookedAtAtOnce) {
  activity.had_packets(now);
  activity.polled_below(now);
  EXPECT_FALSE(activity.below_is_due(now));
  activity.poll_below_next();
  EXPECT_TRUE(activity.below_is_due(now));
}

}  // namespace
}  // namespace softrnic::samehost
