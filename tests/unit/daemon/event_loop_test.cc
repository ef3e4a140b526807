#include "daemon/event_loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace softrnic::daemon {
namespace {

/// A pipe with a byte in it.
struct Readable {
  Readable() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
    in.reset(ends[0]);
    out.reset(ends[1]);
    if (write(out.get(), "x", 1) != 1) in.reset();
  }
  UniqueFd in, out;
};

class EventLoopTest : public ::testing::Test {
 protected:
  EventLoopTest() { EXPECT_EQ(loop_.open(), 0); }
  void turn() { EXPECT_EQ(loop_.wait(TimePoint{}), 0); }
  EventLoop loop_;
  Readable first_, second_;
  int calls_ = 0;
};

TEST_F(EventLoopTest, CallsWhoWatchesForAsLongAsItHolds) {
  ASSERT_TRUE(loop_.watch(first_.in.get(), EPOLLIN, [this] { ++calls_; }));
  turn();
  turn();
  EXPECT_EQ(calls_, 2);
  char byte;
  ASSERT_EQ(read(first_.in.get(), &byte, 1), 1);
  turn();
  EXPECT_EQ(calls_, 2);
}

TEST_F(EventLoopTest, TheLastToWatchIsCalled) {
  ASSERT_TRUE(loop_.watch(first_.in.get(), EPOLLIN, [] { FAIL(); }));
  ASSERT_TRUE(loop_.watch(first_.in.get(), EPOLLIN, [this] { ++calls_; }));
  turn();
  EXPECT_EQ(calls_, 1);
}

TEST_F(EventLoopTest, WhatAnEarlierHandlerForgetsIsNotCalled) {
  const auto forget_both = [this] {
    ++calls_;
    loop_.forget(first_.in.get());
    loop_.forget(second_.in.get());
  };
  ASSERT_TRUE(loop_.watch(first_.in.get(), EPOLLIN, forget_both));
  ASSERT_TRUE(loop_.watch(second_.in.get(), EPOLLIN, forget_both));
  turn();
  turn();
  EXPECT_EQ(calls_, 1);
}

// A handler closes a descriptor whose event waits behind it, and the next one gets its number.
TEST_F(EventLoopTest, AnEventOfAClosedDescriptorIsNotThatOfTheNext) {
  const auto replace = [this](Readable& other) {
    ++calls_;
    loop_.forget(first_.in.get());
    loop_.forget(second_.in.get());
    const int number = other.in.get();
    other.in.reset();
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    if (ends[0] != number) {
      ASSERT_EQ(dup3(ends[0], number, O_CLOEXEC), number);
    }
    other.in.reset(number);
    ASSERT_TRUE(loop_.watch(number, EPOLLIN, [] { FAIL() << "nothing has come"; }));
  };
  ASSERT_TRUE(loop_.watch(first_.in.get(), EPOLLIN, [&] { replace(second_); }));
  ASSERT_TRUE(loop_.watch(second_.in.get(), EPOLLIN, [&] { replace(first_); }));
  turn();
  EXPECT_EQ(calls_, 1);
}

TEST_F(EventLoopTest, AHandlerMayForgetItself) {
  ASSERT_TRUE(
      loop_.watch(first_.in.get(), EPOLLIN, [this, text = std::string("still here, and long enough")] {
        loop_.forget(first_.in.get());
        EXPECT_EQ(text, "still here, and long enough");
        ++calls_;
      }));
  turn();
  turn();
  EXPECT_EQ(calls_, 1);
}

TEST_F(EventLoopTest, TellsThatItHasWaitedBeforeTheHandlersOnce) {
  int woken = 0;
  loop_.woken = [&woken] { ++woken; };
  for (const Readable* readable : {&first_, &second_})
    ASSERT_TRUE(loop_.watch(readable->in.get(), EPOLLIN, [&, this] {
      EXPECT_EQ(woken, 1);
      ++calls_;
    }));
  turn();
  EXPECT_EQ(calls_, 2);
}

TEST_F(EventLoopTest, WaitsUntilTheDeadline) {
  const TimePoint due = monotonic_now() + std::chrono::milliseconds(20);
  EXPECT_EQ(loop_.wait(due), 0);
  EXPECT_GE(monotonic_now(), due);
}

// A busy machine makes any wait late; one that is rounded up never takes less than a millisecond.
TEST_F(EventLoopTest, ADeadlineBelowAMillisecondIsNotRoundedUp) {
  Duration best = Duration::max();
  for (int i = 0; i < 10'000 && best >= std::chrono::milliseconds(1); ++i) {
    const TimePoint begin = monotonic_now();
    EXPECT_EQ(loop_.wait(begin + std::chrono::microseconds(100)), 0);
    best = std::min(best, monotonic_now() - begin);
  }
  EXPECT_GE(best, std::chrono::microseconds(100));
  EXPECT_LT(best, std::chrono::milliseconds(1));
}

}  // namespace
}  // namespace softrnic::daemon
