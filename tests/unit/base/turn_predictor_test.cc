#include "base/turn_predictor.h"

#include <gtest/gtest.h>

namespace softrnic {
namespace {

using namespace std::chrono_literals;

struct TurnPredictorTest : testing::Test {
  /// Turns of one who speaks and one who answers `after` it; how many answers were expected.
  unsigned turns(unsigned count, Duration after) {
    unsigned expected = 0;
    for (unsigned i = 0; i < count; ++i) {
      expected += predictor.spoke(now) ? 1 : 0;
      predictor.answered(now + after);
      now += 1ms;
    }
    return expected;
  }

  TurnPredictor predictor;
  TimePoint now{1s};
};

TEST_F(TurnPredictorTest, WhoAnswersSoonIsWaitedForAfterTheProof) {
  EXPECT_EQ(turns(TurnPredictor::kProof, 5us), 0U);
  EXPECT_EQ(turns(1000, TurnPredictor::kSoon), 1000U);
}

TEST_F(TurnPredictorTest, WhoAnswersLateIsNot) { EXPECT_EQ(turns(1000, TurnPredictor::kSoon + 1us), 0U); }

TEST_F(TurnPredictorTest, OneLateAnswerAsksForTheProofAgain) {
  turns(TurnPredictor::kProof, 5us);
  EXPECT_EQ(turns(1, TurnPredictor::kSoon + 1us), 1U);
  EXPECT_EQ(turns(TurnPredictor::kProof, 5us), 0U);
  EXPECT_EQ(turns(1, 5us), 1U);
}

TEST_F(TurnPredictorTest, WhoGivesUpAsksForTheProofAgain) {
  turns(TurnPredictor::kProof, 5us);
  EXPECT_TRUE(predictor.spoke(now));
  predictor.gave_up();
  predictor.answered(now + 5us);
  EXPECT_EQ(turns(2 * TurnPredictor::kProof - 1, 5us), 0U);
  EXPECT_EQ(turns(1, 5us), 1U);
}

TEST_F(TurnPredictorTest, WhoGivesUpAgainAndAgainRarelyWaits) {
  unsigned waited = 0;
  for (int turn = 0; turn < 10'000; ++turn) {
    if (predictor.spoke(now)) {
      ++waited;
      predictor.gave_up();
    }
    predictor.answered(now + 5us);
  }
  EXPECT_LT(waited, 100U);
  EXPECT_GT(waited, 50U);
}

TEST_F(TurnPredictorTest, AnAnswerThatWasExpectedMakesUpForThose) {
  for (int i = 0; i < 5; ++i) predictor.gave_up();
  EXPECT_EQ(turns(TurnPredictor::kMostProof, 5us), 0U);
  EXPECT_EQ(turns(1, 5us), 1U);
  predictor.interrupted();
  EXPECT_EQ(turns(1, TurnPredictor::kSoon + 1us), 1U);
  EXPECT_EQ(turns(TurnPredictor::kProof, 5us), 0U);
  EXPECT_EQ(turns(1, 5us), 1U);
}

TEST_F(TurnPredictorTest, WhatFollowsSomethingElseIsNoAnswer) {
  for (int turn = 0; turn < 1000; ++turn) {
    EXPECT_FALSE(predictor.spoke(now));
    predictor.interrupted();
    predictor.answered(now + 5us);
  }
}

TEST_F(TurnPredictorTest, WhatIsSoonCanBeChosen) {
  predictor = TurnPredictor(500us);
  turns(TurnPredictor::kProof, 500us);
  EXPECT_EQ(turns(1, 501us), 1U);
  EXPECT_EQ(turns(1, 5us), 0U);
}

TEST_F(TurnPredictorTest, WhoSpeaksTwiceTakesNoTurns) {
  turns(TurnPredictor::kProof, 5us);
  predictor.spoke(now);
  EXPECT_FALSE(predictor.spoke(now + 1us));
  predictor.answered(now + 2us);
  EXPECT_EQ(turns(TurnPredictor::kProof - 1, 5us), 0U);
}

TEST_F(TurnPredictorTest, AnswersToNothingProveNothing) {
  for (int i = 0; i < 100; ++i) predictor.answered(now);
  EXPECT_FALSE(predictor.spoke(now));
}

}  // namespace
}  // namespace softrnic
