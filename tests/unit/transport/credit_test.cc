#include "transport/ib/credit.h"

#include <gtest/gtest.h>

#include <array>

namespace softrnic::ib {
namespace {

constexpr auto kAck = Psn::first;

// IBTA 9.7.7.2, the table of credit counts.
TEST(CreditCode, IsThatOfTheSpecification) {
  constexpr std::array<std::uint32_t, 31> kTable = {
      0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,  192,
      256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};
  for (std::uint8_t code = 0; code < kTable.size(); ++code) EXPECT_EQ(credits_of(code), kTable[code]);
  EXPECT_EQ(credits_of(wire::kAckUnlimitedCredits), std::nullopt);
}

TEST(CreditCode, PromisesNoMoreThanThereIsAndTheMostOfThat) {
  for (std::uint32_t receives = 0; receives < 70000; ++receives) {
    const std::uint8_t code = credit_code(receives);
    ASSERT_LE(*credits_of(code), receives);
    const auto next = credits_of(static_cast<std::uint8_t>(code + 1));
    ASSERT_TRUE(!next || *next > receives) << receives;
  }
}

class SendCreditTest : public testing::Test {
 protected:
  void begin(int count, SendOp op = SendOp::send) {
    for (; count > 0; --count) credit.begin(op);
  }
  void end(SendOp op, std::uint32_t psn) { credit.end(op, kAck(psn)); }

  SendCredit credit;
};

TEST_F(SendCreditTest, OneMessageBeforeTheFirstAck) {
  EXPECT_TRUE(credit.any());
  begin(1);
  EXPECT_FALSE(credit.any());
}

TEST_F(SendCreditTest, CountsFromWhatIsAcknowledged) {
  begin(1);
  end(SendOp::send, 6);
  credit.told(2);
  begin(1);
  EXPECT_TRUE(credit.any());
  begin(1);
  EXPECT_FALSE(credit.any());
  end(SendOp::send, 7);
  credit.told(1);  // the same two, one of them used
  EXPECT_FALSE(credit.any());
}

TEST_F(SendCreditTest, WritesAndReadsTakeNone) {
  begin(3, SendOp::write);
  begin(1, SendOp::read);
  EXPECT_TRUE(credit.any());
  begin(1, SendOp::write_with_imm);
  EXPECT_FALSE(credit.any());
}

TEST_F(SendCreditTest, AnAckFromBeforeOfWhatIsOutdatedTellsNothing) {
  begin(1);
  end(SendOp::send, 6);
  credit.told(1);
  begin(1);
  end(SendOp::send, 7);
  credit.told_again(8, kAck(6), kAck(7));
  EXPECT_FALSE(credit.any());
  credit.told_again(1, kAck(7), kAck(7));
  EXPECT_TRUE(credit.any());
}

TEST_F(SendCreditTest, AnAckOfTheNewestSendTellsThoughReadsWereAnsweredSince) {
  begin(1);
  end(SendOp::send, 6);
  end(SendOp::read, 9);
  credit.told_again(1, kAck(6), kAck(9));
  EXPECT_TRUE(credit.any());
}

TEST_F(SendCreditTest, AsksByItselfAfterAWhileForOneMessage) {
  begin(1);
  const TimePoint now{};
  credit.wait(now + std::chrono::milliseconds(4));
  credit.wait(now + std::chrono::milliseconds(9));
  EXPECT_EQ(credit.deadline(), now + std::chrono::milliseconds(4));
  EXPECT_FALSE(credit.expire(now));
  EXPECT_TRUE(credit.expire(now + std::chrono::milliseconds(4)));
  EXPECT_EQ(credit.deadline(), kNever);
  EXPECT_TRUE(credit.any());
  begin(1);
  EXPECT_FALSE(credit.any());
}

TEST_F(SendCreditTest, APeerThatDoesNotCountIsSentAnything) {
  credit.told(wire::kAckUnlimitedCredits);
  begin(1000);
  EXPECT_TRUE(credit.any());
}

TEST(ReceiveCreditTest, IsExhaustedWhenAllThatWasToldIsUsed) {
  ReceiveCredit credit;
  EXPECT_FALSE(credit.exhausted());
  credit.used();
  EXPECT_TRUE(credit.exhausted());
  EXPECT_EQ(credit.tell(5), credit_code(4));
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(credit.exhausted());
    credit.used();
  }
  EXPECT_TRUE(credit.exhausted());
  EXPECT_EQ(credit.tell(std::nullopt), wire::kAckUnlimitedCredits);
  credit.used();
  EXPECT_FALSE(credit.exhausted());
}

}  // namespace
}  // namespace softrnic::ib
