#include "transport/ib/send_sequence.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace softrnic::ib {
namespace {

constexpr std::uint32_t kFirst = 0xfffffe;  // the wire's numbers begin anew at the third packet

class SendSequenceTest : public ::testing::Test {
 protected:
  SendSequenceTest() { sequence.start(kFirst); }
  void TearDown() override { expect_whole(); }

  void post(int count = 1) {
    for (; count > 0; --count) {
      ASSERT_NE(sequence.reserve().wqe, nullptr);
      sequence.queue().commit();
    }
  }
  /// Sends the current work request, as far as it was not, in packets of its own.
  void send(std::uint32_t packets) {
    if (sequence.current_is_fresh()) sequence.begin(sequence.current(), packets, 0);
    for (; packets > 0; --packets) sequence.sent(sequence.current(), sequence.next() + 1);
  }
  bool answer(std::uint64_t packets) {
    const bool done = sequence.answered(sequence.queue().front(), sequence.una() + packets);
    if (done) sequence.queue().pop();
    return done;
  }
  void expect_whole() const { EXPECT_STREQ(sequence.broken_invariant(true), nullptr); }
  static Psn psn(std::uint64_t packet) { return Psn::first(kFirst) + packet; }

  SendSequence sequence{{.send_wqes = 4, .send_sges = 1}};
};

TEST_F(SendSequenceTest, WorkRequestsTakePsnsInARow) {
  post(2);
  EXPECT_TRUE(sequence.at_rest());
  EXPECT_TRUE(sequence.has_unsent());
  send(3);
  EXPECT_EQ(sequence.next(), psn(3));
  EXPECT_EQ(sequence.next().wire(), 1U);
  EXPECT_TRUE(sequence.current_is_fresh());
  EXPECT_FALSE(sequence.current_is_front());
  send(2);
  EXPECT_FALSE(sequence.has_unsent());
  EXPECT_EQ(sequence.top(), psn(5));
  EXPECT_FALSE(answer(2));
  EXPECT_TRUE(answer(1)) << "the first one is done";
  EXPECT_TRUE(sequence.in_flight());
  EXPECT_TRUE(answer(2));
  EXPECT_TRUE(sequence.at_rest());
  EXPECT_FALSE(sequence.awaits_answers());
}

TEST_F(SendSequenceTest, GoesBackToTheOldestThatWasNotAnswered) {
  post(2);
  send(3);
  send(3);
  EXPECT_FALSE(answer(1));
  sequence.go_back();
  expect_whole();
  EXPECT_FALSE(sequence.in_flight());
  EXPECT_TRUE(sequence.awaits_answers());
  EXPECT_EQ(sequence.next(), psn(1));
  EXPECT_TRUE(sequence.current_is_front());
  EXPECT_FALSE(sequence.current_is_fresh());
  EXPECT_FALSE(sequence.next_is_new());
  send(2);
  EXPECT_FALSE(sequence.next_is_new()) << "the second one was sent before";
  send(3);
  EXPECT_TRUE(sequence.next_is_new());
  EXPECT_EQ(sequence.top(), psn(6));
}

// What was sent before the go-back may have arrived after all.
TEST_F(SendSequenceTest, AnAnswerToWhatIsToBeSentAgainGoesOnBehindIt) {
  post(2);
  send(3);
  send(3);
  sequence.go_back();
  EXPECT_FALSE(answer(2));
  EXPECT_EQ(sequence.next(), psn(2));
  expect_whole();
  EXPECT_TRUE(answer(1));
  EXPECT_TRUE(sequence.current_is_front()) << "the second one now";
  EXPECT_EQ(sequence.next(), psn(3));
  expect_whole();
  EXPECT_TRUE(answer(3));
  EXPECT_TRUE(sequence.at_rest());
}

TEST_F(SendSequenceTest, WhatIsDoneWithoutPacketsTakesNoPsn) {
  post(2);
  sequence.passed_by();
  sequence.queue().pop();
  EXPECT_TRUE(sequence.at_rest());
  EXPECT_TRUE(sequence.current_is_front());
  send(1);
  EXPECT_EQ(sequence.una(), psn(0));
  EXPECT_EQ(sequence.next(), psn(1));
}

TEST_F(SendSequenceTest, PlacesInListsGoWithTheirWorkRequests) {
  post(2);
  sequence.begin(sequence.current(), 2, 0);
  sequence.gather_cursor().index = 1;
  sequence.sent(sequence.current(), psn(1));
  EXPECT_EQ(sequence.gather_cursor().index, 1U);
  sequence.sent(sequence.current(), psn(2));
  EXPECT_EQ(sequence.gather_cursor().index, 0U) << "the next one begins at its beginning";
  sequence.gather_cursor().index = 1;
  sequence.go_back();
  EXPECT_EQ(sequence.gather_cursor().index, 0U);
  sequence.gather_cursor().index = sequence.scatter_cursor().index = 1;
  EXPECT_FALSE(answer(1));
  EXPECT_EQ(sequence.scatter_cursor().index, 1U);
  EXPECT_TRUE(answer(1));
  EXPECT_EQ(sequence.gather_cursor().index, 0U);
  EXPECT_EQ(sequence.scatter_cursor().index, 0U);
}

TEST_F(SendSequenceTest, ShowsWhatIsInFlight) {
  post(3);
  send(3);
  sequence.begin(sequence.current(), 4, 0);
  sequence.sent(sequence.current(), psn(5));
  EXPECT_FALSE(answer(1));
  std::vector<std::pair<Psn, Psn>> seen;
  sequence.for_each_in_flight([&](const SendEntry&, Psn from, Psn stop) { seen.emplace_back(from, stop); });
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0], std::pair(psn(1), psn(3)));
  EXPECT_EQ(seen[1], std::pair(psn(3), psn(5)));
}

// PSNs go on where they were: a peer that hears of the old ones must not take new ones for them.
TEST_F(SendSequenceTest, AFlushLeavesTheHighestPsnWhereItWas) {
  post(3);
  send(3);
  send(2);
  while (!sequence.queue().empty()) sequence.queue().pop();
  sequence.flushed();
  EXPECT_TRUE(sequence.at_rest());
  EXPECT_EQ(sequence.una(), psn(5));
  post();
  send(1);
  sequence.reset();
  EXPECT_TRUE(sequence.queue().empty());
  EXPECT_EQ(sequence.una(), psn(6));
}

TEST_F(SendSequenceTest, AnEmptyQueueStartsOver) {
  for (int i = 0; i < 10; ++i) {
    post();
    EXPECT_EQ(sequence.queue().head(), 0U);
    send(1);
    EXPECT_TRUE(answer(1));
  }
}

// A check that never fires would check nothing.
TEST_F(SendSequenceTest, TellsWhatIsBroken) {
  post(2);
  send(2);
  sequence.queue().pop();
  EXPECT_NE(sequence.broken_invariant(true), nullptr) << "nobody has said that the front one is done";
  EXPECT_EQ(sequence.broken_invariant(false), nullptr)
      << "a failed one is taken off, and the rest is flushed";
  sequence.reset();
  post();
  sequence.begin(sequence.current(), 2, 0);
  sequence.sent(sequence.current(), sequence.next() + 3);
  EXPECT_NE(sequence.broken_invariant(false), nullptr) << "more was sent than begun";
  sequence.reset();
  sequence.start(kFirst);
}

}  // namespace
}  // namespace softrnic::ib
