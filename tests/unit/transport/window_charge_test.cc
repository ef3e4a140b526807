#include "transport/ib/window_charge.h"

#include <gtest/gtest.h>

namespace softrnic::ib {
namespace {

TEST(WindowCharge, LeavesTheWindowPieceByPiece) {
  PathWindow window;
  PathWindow* const path = &window;
  WindowCharge charge(path);
  charge.sent(3000);
  charge.sent(1000);
  EXPECT_EQ(window.in_flight(), 4000U);
  charge.answered(1500);
  EXPECT_EQ(charge.bytes(), 2500U);
  EXPECT_EQ(window.in_flight(), 2500U);
  EXPECT_EQ(charge.broken_invariant(2500), nullptr);
}

TEST(WindowCharge, WhatIsGivenUpIsNotAcknowledgedOnceMore) {
  PathWindow window;
  PathWindow* const path = &window;
  WindowCharge other(path);
  other.sent(700);
  WindowCharge charge(path);
  charge.sent(3000);
  charge.leave();
  charge.answered(3000);
  EXPECT_EQ(charge.bytes(), 0U);
  EXPECT_EQ(window.in_flight(), 700U) << "that of another endpoint";
}

TEST(WindowCharge, EndsWithItsEndpoint) {
  PathWindow window;
  PathWindow* const path = &window;
  { WindowCharge(path).sent(3000); }
  EXPECT_EQ(window.in_flight(), 0U);
}

TEST(WindowCharge, IsKeptWithoutAWindow) {
  PathWindow* const path = nullptr;
  WindowCharge charge(path);
  charge.sent(3000);
  charge.answered(1000);
  EXPECT_EQ(charge.bytes(), 2000U);
  charge.leave();
  EXPECT_EQ(charge.broken_invariant(0), nullptr);
}

// A check that never fires would check nothing.
TEST(WindowCharge, TellsWhatIsBroken) {
  PathWindow window;
  PathWindow* const path = &window;
  WindowCharge charge(path);
  charge.sent(3000);
  EXPECT_NE(charge.broken_invariant(2999), nullptr) << "more than was sent";
  window.forgotten(1);
  EXPECT_NE(charge.broken_invariant(3000), nullptr) << "somebody else has taken it back";
  window.sent(1);
  EXPECT_EQ(charge.broken_invariant(3000), nullptr);
}

}  // namespace
}  // namespace softrnic::ib
