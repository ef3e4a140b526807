#include "engine/poll_moderation.h"

#include <gtest/gtest.h>

namespace softrnic::engine {
namespace {

using namespace std::chrono_literals;

/// Plays `rounds` wake-ups of a program whose last poll is `age` ago when a packet is found; returns
/// the time spent in pauses.
Duration play(PollModeration& grace, unsigned rounds, Duration age_on_socket, Duration age_after_pause,
              bool found) {
  Duration slept{};
  for (unsigned i = 0; i < rounds; ++i) {
    const Duration period = grace.next(age_on_socket);
    slept += period;
    grace.woke(found, period > 0ns ? age_after_pause : age_on_socket, 0);
  }
  return slept;
}

TEST(PollModeration, StaysOnTheSocketForAProgramThatDoesNotPoll) {
  PollModeration grace;
  EXPECT_EQ(play(grace, 100'000, 1s, 1s, true), 0ns);
}

TEST(PollModeration, LeavesTheSocketToAProgramThatPolls) {
  PollModeration grace;
  play(grace, PollModeration::kFewestWakes + 5, 1us, 1us, true);
  EXPECT_EQ(grace.next(1us), PollModeration::kLongest);
}

TEST(PollModeration, PausesAreNoLongerThanTheyMayBe) {
  PollModeration grace;
  const Duration longer = PollModeration::kLongestOfStreams;
  Duration slept{};
  for (unsigned i = 0; i < 100; ++i) {
    slept = grace.next(1us, longer);
    grace.woke(true, 1us, 0);
  }
  EXPECT_EQ(slept, longer);
  EXPECT_EQ(grace.next(1us), PollModeration::kLongest);
  grace.woke(true, 1us, 0);
  EXPECT_EQ(grace.next(1us, longer), PollModeration::kLongest);
  grace.woke(true, 1us, 0);
  EXPECT_EQ(grace.next(1us, longer), 2 * PollModeration::kLongest);
}

// After many trials that failed the next one is far; where messages come by streams to a program that polls,
// it is nearer.
TEST(PollModeration, WhoPollsForStreamsIsLeftAloneSooner) {
  for (const Duration longest : {PollModeration::kLongest, PollModeration::kLongestOfStreams}) {
    PollModeration grace;
    for (unsigned i = 0; i < 100'000; ++i) {  // polls, and then spins on memory
      const Duration period = grace.next(30us, longest);
      grace.woke(true, period > 0ns ? period : 30us, 0);
    }
    unsigned wakes = 0;
    while (grace.next(30us, longest) > 0ns) grace.woke(true, 1ms, 0);  // the last trial, if one is under way
    for (; grace.next(1us, longest) == 0ns; ++wakes) grace.woke(true, 1us, 0);
    if (longest == PollModeration::kLongest) {
      EXPECT_GT(wakes, PollModeration::kMostWakes / PollModeration::kAttendedWake);
    } else {
      EXPECT_LE(wakes, PollModeration::kMostWakes / PollModeration::kAttendedWake);
    }
  }
}

TEST(PollModeration, AProgramThatStoppedPollingIsNotKeptWaiting) {
  PollModeration grace;
  play(grace, 100, 1us, 1us, true);
  EXPECT_EQ(grace.next(PollModeration::kIdle + 1ns), 0ns);
}

TEST(PollModeration, ProgramsThatPollAndThenSpinOnMemoryHardlyPay) {
  PollModeration grace;
  const Duration slept = play(grace, 1'000'000, 8us, 45us, true);
  EXPECT_GT(slept, 0ns);
  EXPECT_LT(slept, 1'000'000 * 30ns);
}

TEST(PollModeration, AProgramThatPollsIsLeftAloneInSpiteOfAPause) {
  PollModeration grace;
  play(grace, 1000, 1us, 1us, true);
  unsigned on_socket = 0;
  for (unsigned i = 0; i < 10'000; ++i) {
    const bool paused = i % 100 == 0;  // something else had the processor
    if (grace.next(1us) == 0ns) ++on_socket;
    grace.woke(true, paused ? 500us : 1us, 0);
  }
  EXPECT_LT(on_socket, 6000U);
}

TEST(PollModeration, WhoTakesMessagesFromMemoryAllTheTimeIsNotDisturbedForAPause) {
  PollModeration grace;
  play(grace, 100, 1us, 1us, true);
  ASSERT_EQ(grace.next(1us), PollModeration::kLongest);
  grace.woke(true, PollModeration::kLongest, PollModeration::kSpinning);
  EXPECT_EQ(grace.next(1us), PollModeration::kLongest);
  grace.woke(true, PollModeration::kLongest, PollModeration::kSpinning - 1);
  EXPECT_EQ(grace.next(1us), 0ns);
}

TEST(PollModeration, AfterMemorySpinningComesPollingAgain) {
  PollModeration grace;
  play(grace, 100'000, 8us, 45us, true);
  play(grace, 2 * PollModeration::kMostWakes, 1us, 1us, false);
  EXPECT_EQ(grace.next(1us), PollModeration::kLongest);
}

}  // namespace
}  // namespace softrnic::engine
