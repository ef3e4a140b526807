#include "transport/ib/timers.h"

#include <gtest/gtest.h>

#include "transport/ib/retry_timer.h"

namespace softrnic::ib {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(Timers, AckTimeoutDoublesWithItsCode) {
  EXPECT_EQ(ack_timeout(0), Duration::max());
  EXPECT_EQ(ack_timeout(1), Duration(8192));
  EXPECT_EQ(ack_timeout(14), Duration(67108864));
  EXPECT_EQ(ack_timeout(31), Duration(8796093022208));
}

TEST(Timers, RnrDelaysAreThoseOfTable45) {
  EXPECT_EQ(rnr_delay(0), microseconds(655360));
  EXPECT_EQ(rnr_delay(1), microseconds(10));
  EXPECT_EQ(rnr_delay(12), microseconds(640));
  EXPECT_EQ(rnr_delay(31), microseconds(491520));
  for (std::uint8_t code = 2; code < 32; ++code) EXPECT_GT(rnr_delay(code), rnr_delay(code - 1));
}

// IBTA 9.7.6
TEST(Timers, TheLocalTimeoutLiesBetweenOneAndFourTimesTheAttribute) {
  EXPECT_EQ(local_ack_timeout(0), Duration::max());
  for (std::uint8_t code = 1; code < 32; ++code) {
    EXPECT_GE(local_ack_timeout(code), ack_timeout(code));
    EXPECT_LE(local_ack_timeout(code), 4 * ack_timeout(code));
  }
}

// A peer that is dead is given up as soon as the specification allows, but where a process may just have been
// off the processor for as long.
TEST(Timers, TheLocalTimeoutIsGenerousOnlyWhereItIsShort) {
  EXPECT_EQ(local_ack_timeout(8), 4 * ack_timeout(8));
  EXPECT_EQ(local_ack_timeout(13), milliseconds(50));
  for (std::uint8_t code = 14; code < 32; ++code) EXPECT_EQ(local_ack_timeout(code), ack_timeout(code));
}

class Timer : public ::testing::Test {
 protected:
  Timer() {
    attributes.timeout = 14;
    attributes.retry_count = 1;
    attributes.rnr_retry = 1;
    timer.reset(attributes);
  }
  Attributes attributes;
  RetryTimer timer;
  TimePoint now{milliseconds(100)};
};

TEST_F(Timer, ProbesComeBeforeTheTimeoutAndBecomeRarer) {
  timer.start(now, 14);
  TimePoint last = now;
  Duration gap{};
  int probes = 0;
  while (true) {
    const TimePoint due = timer.deadline();
    const auto what = timer.expire(due);
    if (what == RetryTimer::Due::timeout) break;
    ASSERT_EQ(what, RetryTimer::Due::probe);
    EXPECT_GT(due - last, gap);
    gap = due - last;
    last = due;
    ++probes;
  }
  EXPECT_EQ(probes, 5);  // after 2, 6, 14, 30 and 62 of 67 ms
  EXPECT_EQ(timer.deadline(), kNever);
}

TEST_F(Timer, ASlowPeerIsProbedLater) {
  for (int i = 0; i < 50; ++i) timer.sample(milliseconds(5));
  timer.start(now, 14);
  EXPECT_EQ(timer.deadline(), now + milliseconds(20));
}

TEST_F(Timer, ProgressRestartsEverything) {
  timer.start(now, 14);
  EXPECT_TRUE(timer.use_retry());
  EXPECT_FALSE(timer.use_retry());
  timer.progress(now + milliseconds(1), attributes, true);
  EXPECT_EQ(timer.deadline(), now + milliseconds(3));
  EXPECT_TRUE(timer.use_retry());
  timer.progress(now + milliseconds(2), attributes, false);
  EXPECT_EQ(timer.deadline(), kNever);
}

TEST_F(Timer, RnrReplacesTheTimeout) {
  timer.start(now, 14);
  EXPECT_TRUE(timer.wait_rnr(now, 12, attributes));
  EXPECT_EQ(timer.deadline(), now + microseconds(640));
  EXPECT_TRUE(timer.waiting_rnr());
  EXPECT_EQ(timer.expire(now + microseconds(639)), RetryTimer::Due::nothing);
  EXPECT_EQ(timer.expire(now + microseconds(640)), RetryTimer::Due::rnr_over);
  EXPECT_FALSE(timer.waiting_rnr());
  EXPECT_FALSE(timer.wait_rnr(now, 12, attributes));
}

TEST_F(Timer, SevenRnrRetriesNeverEnd) {
  attributes.rnr_retry = 7;
  timer.reset(attributes);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(timer.wait_rnr(now, 1, attributes));
}

}  // namespace
}  // namespace softrnic::ib
