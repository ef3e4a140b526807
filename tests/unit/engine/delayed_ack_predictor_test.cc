#include "engine/delayed_ack_predictor.h"

#include <gtest/gtest.h>

namespace softrnic::engine {
namespace {

using namespace std::chrono_literals;

struct DelayedAckPredictorTest : testing::Test {
  /// Turns of a peer that writes and a program that posts `after` it; how many ACKs were to wait.
  unsigned turns(unsigned count, Duration after) {
    unsigned waits = 0;
    for (unsigned i = 0; i < count; ++i) {
      waits += delayed_ack.written(now) ? 1 : 0;
      delayed_ack.posted(now + after);
      now += 1ms;
    }
    return waits;
  }

  DelayedAckPredictor delayed_ack;
  TimePoint now{1s};
};

TEST_F(DelayedAckPredictorTest, WhoAnswersSoonIsWaitedForAfterTheProof) {
  EXPECT_EQ(turns(DelayedAckPredictor::kProof, 5us), 0U);
  EXPECT_EQ(turns(1000, DelayedAckPredictor::kSoon), 1000U);
}

TEST_F(DelayedAckPredictorTest, WhoAnswersLateIsNot) {
  EXPECT_EQ(turns(1000, DelayedAckPredictor::kSoon + 1us), 0U);
}

TEST_F(DelayedAckPredictorTest, OneLateAnswerAsksForTheProofAgain) {
  turns(DelayedAckPredictor::kProof, 5us);
  EXPECT_EQ(turns(1, DelayedAckPredictor::kSoon + 1us), 1U);
  EXPECT_EQ(turns(DelayedAckPredictor::kProof, 5us), 0U);
  EXPECT_EQ(turns(1, 5us), 1U);
}

TEST_F(DelayedAckPredictorTest, AStreamOfWritesIsNoTakingTurns) {
  turns(DelayedAckPredictor::kProof, 5us);
  delayed_ack.written(now);
  EXPECT_FALSE(delayed_ack.written(now + 1us));
  delayed_ack.posted(now + 2us);
  EXPECT_EQ(turns(DelayedAckPredictor::kProof - 1, 5us), 0U);
}

TEST_F(DelayedAckPredictorTest, PostsThatAnswerNothingProveNothing) {
  for (int i = 0; i < 100; ++i) delayed_ack.posted(now);
  EXPECT_FALSE(delayed_ack.written(now));
}

}  // namespace
}  // namespace softrnic::engine
