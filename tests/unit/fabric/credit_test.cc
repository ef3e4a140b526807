#include "fabric/credit.h"

#include <gtest/gtest.h>

#include "fabric/types.h"

namespace softrnic::fabric {
namespace {

TEST(Credit, IsNoneUntilTheFirstFlowControlPacket) {
  const CreditSender sender;
  EXPECT_FALSE(sender.can_send(1));
  EXPECT_FALSE(sender.can_send(kMaxPacketBlocks));
  EXPECT_TRUE(sender.can_send(0));
  EXPECT_EQ(sender.available(), 0);
}

TEST(Credit, IsWhatTheReceiverHasFree) {
  CreditSender sender;
  CreditReceiver receiver;
  sender.hear(receiver.fccl(10));
  EXPECT_EQ(sender.available(), 10);
  EXPECT_TRUE(sender.can_send(10));
  EXPECT_FALSE(sender.can_send(11));
  sender.sent(4);
  EXPECT_EQ(sender.available(), 6);
  receiver.received(4);
  sender.hear(receiver.fccl(6));
  EXPECT_EQ(sender.available(), 6);
  sender.hear(receiver.fccl(10));
  EXPECT_EQ(sender.available(), 10);
}

// The limit may never be more than half the range ahead, or it could not be told from one behind.
TEST(Credit, IsAtMost2048Blocks) {
  CreditSender sender;
  const CreditReceiver receiver;
  sender.hear(receiver.fccl(4000));
  EXPECT_EQ(sender.available(), kMaxCredit);
  sender.sent(2048);
  EXPECT_FALSE(sender.can_send(1));
}

TEST(Credit, GoesRoundTheCounters) {
  CreditSender sender;
  CreditReceiver receiver;
  sender.hear(receiver.fccl(67));
  for (int i = 0; i < 10'000; ++i) {
    const auto blocks = static_cast<std::uint16_t>(1 + i % 67);
    ASSERT_TRUE(sender.can_send(blocks)) << i;
    ASSERT_EQ(sender.available(), 67) << i;
    sender.sent(blocks);
    receiver.received(blocks);
    ASSERT_EQ(sender.available(), 67 - blocks) << i;
    sender.hear(receiver.fccl(67));
  }
}

TEST(Credit, SurvivesLostFlowControl) {
  CreditSender sender;
  CreditReceiver receiver;
  sender.hear(receiver.fccl(20));
  sender.sent(20);
  receiver.received(20);
  // Two updates are lost; the third says all that they said.
  (void)receiver.fccl(5);
  (void)receiver.fccl(10);
  EXPECT_FALSE(sender.can_send(1));
  sender.hear(receiver.fccl(20));
  EXPECT_EQ(sender.available(), 20);
}

TEST(Credit, SurvivesLostData) {
  CreditSender sender;
  CreditReceiver receiver;
  sender.hear(receiver.fccl(20));
  sender.sent(15);
  receiver.received(5);  // the other 10 never came
  sender.hear(receiver.fccl(20));
  EXPECT_EQ(sender.available(), 10);
  EXPECT_TRUE(receiver.hear(sender.fctbs()));
  EXPECT_FALSE(receiver.hear(sender.fctbs()));
  sender.hear(receiver.fccl(20));
  EXPECT_EQ(sender.available(), 20);
}

TEST(Blocks, CountTheVcrcAndPartsAsWhole) {
  EXPECT_EQ(blocks_of(24), 1);
  EXPECT_EQ(blocks_of(62), 1);
  EXPECT_EQ(blocks_of(63), 2);
  EXPECT_EQ(blocks_of(126), 2);
  EXPECT_EQ(blocks_of(4220), 66);
}

TEST(Lifetime, IsOf4096NanosecondsAndEndsAt19) {
  EXPECT_EQ(lifetime_of(0), Duration(4096));
  EXPECT_EQ(lifetime_of(1), Duration(8192));
  EXPECT_EQ(lifetime_of(19), Duration(4096LL << 19));
  EXPECT_EQ(lifetime_of(20), Duration::max());
  EXPECT_EQ(lifetime_of(255), Duration::max());
}

}  // namespace
}  // namespace softrnic::fabric
