#include "transport/ib/congestion_window.h"

#include <gtest/gtest.h>

namespace softrnic::ib {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr CongestionWindow::Limits kWindowLimits{64 * 1024, 16 * 1024, 80 * 1024};

TEST(CongestionWindow, HasRoomUntilItIsFull) {
  CongestionWindow window(kWindowLimits);
  window.sent(64 * 1024 - 1);
  EXPECT_TRUE(window.has_room());
  EXPECT_EQ(window.room(), 1U);
  window.sent(100);
  EXPECT_FALSE(window.has_room());
  EXPECT_EQ(window.room(), 0U);
  window.acknowledged(200);
  EXPECT_TRUE(window.has_room());
}

TEST(CongestionWindow, OnePacketMayAlwaysGo) {
  const CongestionWindow::Limits none{0, 0, 80 * 1024};
  EXPECT_TRUE(CongestionWindow(none).has_room());
}

TEST(CongestionWindow, GrowsByAStepARoundUpToItsMaximum) {
  CongestionWindow window(kWindowLimits);
  window.acknowledged(64 * 1024 - 1);
  EXPECT_EQ(window.window(), 64 * 1024U);
  window.acknowledged(1);
  EXPECT_EQ(window.window(), 72 * 1024U);
  for (int i = 0; i < 10; ++i) window.acknowledged(100 * 1024);
  EXPECT_EQ(window.window(), 80 * 1024U);
}

TEST(CongestionWindow, IsHalvedOnceARoundAndNotBelowItsMinimum) {
  CongestionWindow window(kWindowLimits);
  const TimePoint now{milliseconds(5)};
  window.lost(now);
  window.lost(now + microseconds(500));
  EXPECT_EQ(window.window(), 32 * 1024U);
  for (int i = 1; i < 5; ++i) window.lost(now + milliseconds(2 * i));
  EXPECT_EQ(window.window(), 16 * 1024U);
}

TEST(CongestionWindow, WhatIsForgottenLeavesWithoutGrowth) {
  CongestionWindow window(kWindowLimits);
  window.sent(60'000);
  window.forgotten(60'000);
  EXPECT_EQ(window.in_flight(), 0U);
  window.forgotten(1);
  EXPECT_EQ(window.in_flight(), 0U);
}

TEST(CongestionWindow, WithLessThanAnEighthOfItAMessageWaits) {
  EXPECT_EQ(CongestionWindow(kWindowLimits).silly_below(), 8 * 1024U);
}

TEST(CongestionWindow, StartsAgainOnAnotherPathWithWhatIsInFlight) {
  CongestionWindow window(kWindowLimits);
  window.sent(1000);
  window.restart({200'000, 200'000, 200'000});
  EXPECT_EQ(window.window(), 200'000U);
  EXPECT_EQ(window.room(), 199'000U);
  window.lost(TimePoint(milliseconds(5)));
  EXPECT_EQ(window.window(), 200'000U) << "its minimum is its maximum";
}

TEST(CongestionWindow, KeepsItsInvariantsThroughGrowthAndCuts) {
  CongestionWindow window(kWindowLimits);
  for (int i = 0; i < 100; ++i) {
    window.sent(30'000);
    i % 3 == 0 ? window.lost(TimePoint(milliseconds(10 + i))) : window.acknowledged(30'000);
    ASSERT_EQ(window.broken_invariant(), nullptr);
  }
}

// A check that never fires would check nothing.
TEST(CongestionWindow, TellsWhatIsBroken) {
  EXPECT_NE(CongestionWindow({1, 2, 3}).broken_invariant(), nullptr);
  EXPECT_NE(CongestionWindow({4, 2, 3}).broken_invariant(), nullptr);
}

}  // namespace
}  // namespace softrnic::ib
