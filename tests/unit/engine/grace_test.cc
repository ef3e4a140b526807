#include "engine/grace.h"

#include <gtest/gtest.h>

namespace softrnic::engine {
namespace {

using namespace std::chrono_literals;

void poll_steadily(Grace& grace, unsigned wakes) {
  for (unsigned i = 0; i < wakes; ++i) grace.woke(i % 5 == 0, 1us);  // sometimes the thread wins the race
}

TEST(Grace, StaysOnTheSocketForAProgramThatDoesNotPoll) {
  Grace grace;
  for (int i = 0; i < 100; ++i) grace.woke(true, 1s);
  EXPECT_EQ(grace.period(1s), 0ns);
}

TEST(Grace, LeavesTheSocketToAProgramThatPolls) {
  Grace grace;
  poll_steadily(grace, Grace::kPatience - 1);
  EXPECT_EQ(grace.period(1us), 0ns);
  poll_steadily(grace, 20);
  EXPECT_EQ(grace.period(1us), Grace::kLongest);
}

TEST(Grace, ComesBackAtOnceWhenPacketsLayUnpolled) {
  Grace grace;
  poll_steadily(grace, 100);
  grace.woke(true, 200us);
  EXPECT_EQ(grace.period(1us), 0ns);
}

TEST(Grace, AProgramThatStoppedPollingIsNotKeptWaiting) {
  Grace grace;
  poll_steadily(grace, 100);
  EXPECT_EQ(grace.period(Grace::kIdle + 1ns), 0ns);
}

TEST(Grace, ProgramsThatPollAndThenSpinOnMemoryKeepTheThread) {
  Grace grace;
  for (int i = 0; i < 1000; ++i) {
    grace.woke(false, 1us);  // the ACK: the program was quicker
    grace.woke(true, 40us);  // the data: nobody polled
    EXPECT_EQ(grace.period(1us), 0ns);
  }
}

}  // namespace
}  // namespace softrnic::engine
