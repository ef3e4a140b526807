#include "base/poll_backoff.h"

#include <gtest/gtest.h>

namespace softrnic {
namespace {

/// Polls until the next rest, and says which it is. `polls`: how many were paused after.
Rest next_rest(PollBackoff& backoff, std::uint32_t effort, unsigned& polls) {
  for (polls = 0;; ++polls) {
    const Rest rest = backoff.in_vain(effort);
    if (rest != Rest::pause) return rest;
  }
}

TEST(PollBackoff, CheapPollsNapWithoutACallToYield) {
  PollBackoff backoff;
  unsigned polls = 0;
  EXPECT_EQ(next_rest(backoff, 1, polls), Rest::nap);
  EXPECT_EQ(polls, 4095U);
}

TEST(PollBackoff, PollsThatCostASystemCallYieldAndNowAndThenNap) {
  PollBackoff backoff;
  unsigned polls = 0, naps = 0;
  for (unsigned i = 1; i <= 48; ++i) {
    const Rest rest = next_rest(backoff, PollBackoff::kSystemCall, polls);
    EXPECT_EQ(polls, 15U);
    EXPECT_EQ(rest, i % 16 == 0 ? Rest::nap : Rest::yield) << i;
    naps += rest == Rest::nap ? 1 : 0;
  }
  EXPECT_EQ(naps, 3U);
}

TEST(PollBackoff, WhatIsFoundBeginsItAnew) {
  PollBackoff backoff;
  unsigned polls = 0;
  for (int i = 0; i < 4000; ++i) EXPECT_EQ(backoff.in_vain(1), Rest::pause);
  backoff.found();
  EXPECT_EQ(next_rest(backoff, 1, polls), Rest::nap);
  EXPECT_EQ(polls, 4095U);
}

TEST(PollBackoff, EveryRestEnds) {
  for (const Rest rest : {Rest::pause, Rest::yield, Rest::nap}) take_rest(rest);
}

}  // namespace
}  // namespace softrnic
