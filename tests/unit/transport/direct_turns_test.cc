#include "transport/ib/direct_turns.h"

#include <gtest/gtest.h>

namespace softrnic::ib {
namespace {

SendWqe wqe_of(SendOp op, std::uint32_t length) {
  SendWqe wqe;
  wqe.op = op;
  wqe.length = length;
  return wqe;
}
const SendWqe kShort = wqe_of(SendOp::write, 8);
const SendWqe kLong = wqe_of(SendOp::read, DirectTurns::kWorthWaiting);
const SendWqe kSend = wqe_of(SendOp::send, 1U << 20);

TEST(DirectTurns, LongOneSidedWorkRequestsWait) {
  const DirectTurns turns;
  EXPECT_TRUE(turns.waits(kLong));
  EXPECT_FALSE(turns.waits(wqe_of(SendOp::write, DirectTurns::kWorthWaiting - 1)));
  EXPECT_FALSE(turns.waits(kSend));
  EXPECT_FALSE(turns.waits(wqe_of(SendOp::write_with_imm, 1U << 20))) << "it wakes the peer, by a packet";
}

TEST(DirectTurns, ShortOnesWaitBehindOthersThatCouldHaveGone) {
  DirectTurns turns;
  turns.began_by_packets(kShort);
  EXPECT_TRUE(turns.waits(kShort));
  EXPECT_TRUE(turns.waits(wqe_of(SendOp::fetch_add, 8)));
  EXPECT_FALSE(turns.waits(kSend));
  turns.began_by_packets(kSend);
  EXPECT_FALSE(turns.waits(kShort));
}

TEST(DirectTurns, AfterARefusalNoneWaitsForAWhile) {
  DirectTurns turns;
  turns.refused(kLong);
  for (std::uint32_t i = 0; i < DirectTurns::kBackOff; ++i) {
    EXPECT_TRUE(turns.backs_off());
    EXPECT_FALSE(turns.waits(kLong)) << i;
    turns.began_by_packets(kLong);
  }
  EXPECT_FALSE(turns.backs_off());
  EXPECT_TRUE(turns.waits(kLong));
}

TEST(DirectTurns, ThatASendIsRefusedSaysNothing) {
  DirectTurns turns;
  turns.refused(kSend);
  EXPECT_FALSE(turns.backs_off());
}

TEST(DirectTurns, AMessageThatWentToItsEndEndsTheBackOff) {
  DirectTurns turns;
  turns.refused(kShort);
  EXPECT_FALSE(turns.moved(kLong, kLong.length - 1));
  EXPECT_TRUE(turns.under_way());
  EXPECT_EQ(turns.moved_bytes(), kLong.length - 1);
  EXPECT_TRUE(turns.backs_off());
  EXPECT_TRUE(turns.moved(kLong, 1));
  EXPECT_FALSE(turns.under_way());
  EXPECT_FALSE(turns.backs_off());
}

TEST(DirectTurns, WhatIsRefusedOnItsWayGoesByPacketsFromItsBeginning) {
  DirectTurns turns;
  EXPECT_FALSE(turns.moved(kLong, 100));
  turns.began_by_packets(kLong);
  turns.refused(kLong);
  EXPECT_FALSE(turns.under_way());
  EXPECT_EQ(turns.moved_bytes(), 0U);
  EXPECT_TRUE(turns.backs_off());
}

TEST(DirectTurns, IsNotAskedTwiceForOneWorkRequest) {
  DirectTurns turns;
  EXPECT_FALSE(turns.take_refusal());
  turns.asked_at_once(false);
  EXPECT_TRUE(turns.take_refusal());
  EXPECT_FALSE(turns.take_refusal()) << "the next time it is";
  turns.asked_at_once(false);
  turns.asked_at_once(true);
  EXPECT_FALSE(turns.take_refusal());
}

TEST(DirectTurns, ResetForgetsEverything) {
  DirectTurns turns;
  turns.began_by_packets(kShort);
  turns.refused(kShort);
  turns.asked_at_once(false);
  EXPECT_FALSE(turns.moved(kLong, 1));
  turns.reset();
  EXPECT_FALSE(turns.under_way());
  EXPECT_FALSE(turns.backs_off());
  EXPECT_FALSE(turns.waits(kShort));
  EXPECT_FALSE(turns.take_refusal());
}

}  // namespace
}  // namespace softrnic::ib
