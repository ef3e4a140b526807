#include "engine/answer_habit.h"

#include <gtest/gtest.h>

namespace softrnic::engine {
namespace {

using namespace std::chrono_literals;

struct AnswerHabitTest : testing::Test {
  /// Turns of a peer that writes and a program that posts `after` it; how many ACKs were to wait.
  unsigned turns(unsigned count, Duration after) {
    unsigned waits = 0;
    for (unsigned i = 0; i < count; ++i) {
      waits += habit.written(now) ? 1 : 0;
      habit.posted(now + after);
      now += 1ms;
    }
    return waits;
  }

  AnswerHabit habit;
  TimePoint now{1s};
};

TEST_F(AnswerHabitTest, WhoAnswersSoonIsWaitedForAfterTheProof) {
  EXPECT_EQ(turns(AnswerHabit::kProof, 5us), 0U);
  EXPECT_EQ(turns(1000, AnswerHabit::kSoon), 1000U);
}

TEST_F(AnswerHabitTest, WhoAnswersLateIsNot) { EXPECT_EQ(turns(1000, AnswerHabit::kSoon + 1us), 0U); }

TEST_F(AnswerHabitTest, OneLateAnswerAsksForTheProofAgain) {
  turns(AnswerHabit::kProof, 5us);
  EXPECT_EQ(turns(1, AnswerHabit::kSoon + 1us), 1U);
  EXPECT_EQ(turns(AnswerHabit::kProof, 5us), 0U);
  EXPECT_EQ(turns(1, 5us), 1U);
}

TEST_F(AnswerHabitTest, AStreamOfWritesIsNoTakingTurns) {
  turns(AnswerHabit::kProof, 5us);
  habit.written(now);
  EXPECT_FALSE(habit.written(now + 1us));
  habit.posted(now + 2us);
  EXPECT_EQ(turns(AnswerHabit::kProof - 1, 5us), 0U);
}

TEST_F(AnswerHabitTest, PostsThatAnswerNothingProveNothing) {
  for (int i = 0; i < 100; ++i) habit.posted(now);
  EXPECT_FALSE(habit.written(now));
}

}  // namespace
}  // namespace softrnic::engine
