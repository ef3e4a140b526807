// A WRITE by which a program takes turns with its peer is complete when the answer is there, or after a
// while (transport/iwarp/requester.h).
#include <gtest/gtest.h>

#include "tests/unit/transport/iwarp/endpoint_pair.h"

namespace softrnic::iwarp::test {
namespace {

using namespace std::chrono_literals;

struct DelayedCompletion : ::testing::Test {
  static constexpr ib::Status kGood = ib::Status::success;

  void SetUp() override {
    for (unsigned turn = 0; turn < TurnPredictor::kProof; ++turn) {
      write();
      EXPECT_EQ(pair.a.endpoint.delayed_until(), kNever) << "turn " << turn;
      answer();
    }
    pair.a.host.sends.clear();
    pair.a.posted = 0;
  }
  void write(SendOp op = SendOp::write) {
    pair.a.post({.op = op, .length = 8});
    while (pair.carry(pair.a, pair.b) != 0) continue;
  }
  void answer(std::uint32_t bytes = 8) {
    pair.now += 10us;
    pair.b.post({.op = SendOp::write, .length = bytes});
    while (pair.carry(pair.b, pair.a) != 0) continue;
  }
  std::size_t completions() const { return pair.a.host.sends.size(); }

  Pair pair;
};

TEST_F(DelayedCompletion, ComesWithTheAnswer) {
  write();
  EXPECT_EQ(completions(), 0U);
  EXPECT_EQ(pair.a.endpoint.delayed_until(), pair.now + Requester::kPatience);
  answer();
  EXPECT_TRUE(completed(pair.a, {kGood}));
  EXPECT_EQ(pair.a.endpoint.delayed_until(), kNever);
}

TEST_F(DelayedCompletion, WaitsForAllOfTheAnswer) {
  write();
  pair.b.post({.op = SendOp::write, .length = 100'000});
  for (int i = 0; i < 10; ++i) pair.carry(pair.b, pair.a);
  EXPECT_EQ(completions(), 0U);
  while (pair.carry(pair.b, pair.a) != 0) continue;
  EXPECT_TRUE(completed(pair.a, {kGood}));
}

TEST_F(DelayedCompletion, ComesWithoutAnAnswerInTime) {
  write();
  pair.now = pair.a.endpoint.delayed_until();
  pair.a.endpoint.expire(pair.now - 1ns);
  EXPECT_EQ(completions(), 0U);
  pair.a.endpoint.expire(pair.now);
  EXPECT_TRUE(completed(pair.a, {kGood}));
  answer();  // within a turn, but nobody waits any more
  write();
  EXPECT_TRUE(completed(pair.a, {kGood, kGood})) << "that is to be proved again";
}

TEST_F(DelayedCompletion, IsNotWaitedForByWhoPostsMore) {
  write();
  pair.a.post({.op = SendOp::write, .length = 8});
  EXPECT_TRUE(completed(pair.a, {kGood}));
  pair.run();
  EXPECT_TRUE(completed(pair.a, {kGood, kGood}));
  EXPECT_EQ(pair.a.endpoint.delayed_until(), kNever);
}

TEST_F(DelayedCompletion, IsNoneWhereItIsNeededForTheAnswer) {
  pair.b.receive(1, 200'000, 100);
  for (unsigned turn = 0; turn < 3 * TurnPredictor::kProof; ++turn) {  // a WRITE, and a SEND that tells of it
    write();
    if (turn == 0) pair.a.endpoint.complete_delayed();
    EXPECT_EQ(completions(), 2 * turn + 1) << "turn " << turn;
    write(SendOp::send);
    answer();
  }
}

TEST_F(DelayedCompletion, IsOneOfWritesAlone) {
  pair.b.receive(1, 200'000, 100);
  write(SendOp::send);
  EXPECT_TRUE(completed(pair.a, {kGood}));
}

TEST_F(DelayedCompletion, DoesNotHoldUpTheEnd) {
  write();
  pair.a.endpoint.close(pair.now);
  EXPECT_TRUE(completed(pair.a, {kGood}));
  pair.run();
  EXPECT_EQ(pair.a.endpoint.ending(), Ending::closed);
}

TEST_F(DelayedCompletion, DoesNotBeginAtTheEnd) {
  pair.a.post({.op = SendOp::write, .length = 8});
  pair.a.endpoint.close(pair.now);
  while (pair.carry(pair.a, pair.b) != 0) continue;
  EXPECT_TRUE(completed(pair.a, {kGood}));
  pair.run();
  EXPECT_EQ(pair.a.endpoint.ending(), Ending::closed);
}

TEST_F(DelayedCompletion, IsNoFailureWhereTheStreamBreaks) {
  write();
  pair.a.endpoint.stream_ended(StreamEnd::broken, pair.now);
  EXPECT_TRUE(completed(pair.a, {kGood})) << "the stream had taken it";
  EXPECT_EQ(pair.a.endpoint.delayed_until(), kNever);
}

TEST_F(DelayedCompletion, ComesWhereThePeerEnds) {
  write();
  pair.a.endpoint.stream_ended(StreamEnd::closed, pair.now);
  EXPECT_TRUE(completed(pair.a, {kGood}));
  EXPECT_EQ(pair.a.endpoint.broken_invariant(), nullptr);
}

TEST_F(DelayedCompletion, IsForgottenByAReset) {
  write();
  pair.a.endpoint.reset();
  EXPECT_EQ(completions(), 0U);
  EXPECT_EQ(pair.a.endpoint.delayed_until(), kNever);
}

}  // namespace
}  // namespace softrnic::iwarp::test
