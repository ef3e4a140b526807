#include "copy/budget.h"

#include <gmock/gmock.h>

namespace softrnic::copy {
namespace {

using testing::HasSubstr;

TEST(Budget, RefusesWhatIsTooMuchAndTellsTheOption) {
  Budget budget(10 << 10, "--client-memory");
  EXPECT_TRUE(budget.take(10 << 10));
  const auto refused = budget.take(1);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr("10 KiB (--client-memory)"));
  budget.give_back(1);
  EXPECT_TRUE(budget.take(1));
}

TEST(Budget, OfAllConnectionsBoundsEachAndGetsBackWhatOneHeld) {
  Budget all(100, "--memory");
  Budget first(80, "--client-memory", &all);
  {
    Budget second(80, "--client-memory", &all);
    EXPECT_TRUE(second.take(60));
    const auto refused = first.take(50);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().text, HasSubstr("--memory)"));
    EXPECT_TRUE(first.take(40)) << "what was refused was not taken";
  }
  EXPECT_TRUE(first.take(40));
  EXPECT_FALSE(first.take(1));
}

TEST(Budget, WhatIsHeldIsGivenBack) {
  Budget budget(100, "--memory");
  {
    Held held(budget);
    EXPECT_TRUE(held.add(60));
    EXPECT_FALSE(held.add(60));
    EXPECT_TRUE(held.add(40));
    held.release();
    EXPECT_TRUE(held.add(100));
  }
  EXPECT_TRUE(budget.take(100));
}

}  // namespace
}  // namespace softrnic::copy
