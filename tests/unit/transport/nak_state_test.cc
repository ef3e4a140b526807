#include "transport/ib/nak_state.h"

#include <gtest/gtest.h>

namespace softrnic::ib {
namespace {

constexpr std::uint8_t kSyndrome = 0x60;

class NakStateTest : public testing::Test {
 protected:
  NakStateTest() { nak.start(psn(5)); }
  static Psn psn(std::uint32_t wire) { return Psn::first(wire); }

  NakState nak;
};

TEST_F(NakStateTest, OneNakThenSilenceUntilTheExpectedPacketComes) {
  EXPECT_TRUE(nak.came_ahead(psn(7), 1));
  nak.owe(kSyndrome, psn(5));
  EXPECT_FALSE(nak.came_ahead(psn(8), 1));
  ASSERT_TRUE(nak.owed());
  const NakState::Nak sent = nak.take();
  EXPECT_EQ(sent.syndrome, kSyndrome);
  EXPECT_EQ(sent.psn, psn(5));
  EXPECT_FALSE(nak.owed());
  EXPECT_FALSE(nak.came_ahead(psn(9), 1));
  nak.expected_came();
  EXPECT_FALSE(nak.must_ask(psn(6))) << "the NAK has told of all that is missing";
  EXPECT_TRUE(nak.came_ahead(psn(9), 1));
}

TEST_F(NakStateTest, WhatWasDroppedBeforeTheNakWentOutHasToBeAskedFor) {
  nak.came_ahead(psn(6), 3);
  nak.owe(kSyndrome, psn(5));
  nak.expected_came();
  EXPECT_TRUE(nak.must_ask(psn(6)));
  EXPECT_TRUE(nak.must_ask(psn(8)));
  EXPECT_NE(nak.broken_invariant(psn(8)), nullptr);
  EXPECT_FALSE(nak.must_ask(psn(9))) << "the three have come";
  EXPECT_EQ(nak.broken_invariant(psn(9)), nullptr);
  nak.owe(kSyndrome, psn(6));
  EXPECT_EQ(nak.broken_invariant(psn(6)), nullptr);
}

TEST_F(NakStateTest, AsksLaterUnlessTheExpectedPacketComes) {
  const TimePoint when = TimePoint{} + std::chrono::milliseconds(4);
  nak.later(when);
  EXPECT_EQ(nak.deadline(), when);
  EXPECT_FALSE(nak.owed());
  EXPECT_FALSE(nak.came_ahead(psn(6), 1));
  nak.expected_came();
  EXPECT_EQ(nak.deadline(), kNever);
  EXPECT_TRUE(nak.must_ask(psn(6)));
}

TEST_F(NakStateTest, AnEndedConnectionAsksForNothingButSendsWhatItOwes) {
  nak.later(TimePoint{});
  nak.stop();
  EXPECT_EQ(nak.deadline(), kNever);
  EXPECT_FALSE(nak.owed());
  nak.owe(kSyndrome, psn(5));
  nak.stop();
  EXPECT_TRUE(nak.owed());
}

}  // namespace
}  // namespace softrnic::ib
