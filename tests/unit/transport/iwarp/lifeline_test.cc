// The stream of a connection whose messages go another way.
#include "transport/iwarp/lifeline.h"

#include <gtest/gtest.h>

#include <array>

#include "base/reason_id.h"
#include "tests/script/fake_host.h"

namespace softrnic::iwarp::test {
namespace {

class LifelineTest : public ::testing::Test {
 protected:
  /// Writes what there is; how many bytes.
  std::size_t write() {
    std::array<Bytes, 4> pieces;
    const std::size_t count = line.gather(pieces, now);
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) bytes += pieces[i].size();
    line.sent(bytes, now);
    return bytes;
  }
  /// Both sides are ready.
  void begin() {
    EXPECT_EQ(write(), 1U);
    line.receive(std::array{std::byte{0}}, now);
  }
  void go_on(Duration by) {
    now += by;
    line.expire(now);
  }

  class Messages final : public Lifeline::Messages {
   public:
    std::uint64_t posted() const override { return total; }
    std::uint32_t outstanding() const override { return count; }
    std::uint32_t progress() const override { return moved; }
    std::uint64_t total = 10;
    std::uint32_t count = 0, moved = 0;
  };
  ib::test::FakeHost host;
  Messages messages;
  Lifeline line{host, messages};
  TimePoint now{std::chrono::seconds(1)};
};

TEST_F(LifelineTest, EachSideSaysThatItIsReadyOnce) {
  EXPECT_TRUE(line.has_business());
  EXPECT_EQ(write(), 1U);
  EXPECT_FALSE(line.has_business());
  EXPECT_EQ(write(), 0U);
  EXPECT_FALSE(line.peer_ready());
  line.receive(std::array{std::byte{7}, std::byte{8}}, now);
  EXPECT_TRUE(line.peer_ready());
  EXPECT_EQ(line.deadline(), kNever) << "nothing is waited for";
}

TEST_F(LifelineTest, ClosesWhenAllIsAnswered) {
  begin();
  messages.count = 2;
  line.close(now);
  EXPECT_EQ(line.wish(), StreamWish::none);
  messages.count = 0;
  EXPECT_EQ(line.wish(), StreamWish::shut_down);
  line.shut_down_done(now);
  EXPECT_EQ(line.wish(), StreamWish::none);
  line.stream_ended(StreamEnd::closed, now);
  EXPECT_EQ(line.ending(), Ending::closed);
  EXPECT_EQ(line.wish(), StreamWish::close);
}

TEST_F(LifelineTest, APeerThatClosesIsFollowedWhenAllIsAnswered) {
  begin();
  messages.count = 1;
  line.stream_ended(StreamEnd::closed, now);
  EXPECT_FALSE(line.ended()) << "the peer may still answer";
  messages.count = 0;
  EXPECT_EQ(line.wish(), StreamWish::shut_down);
  line.shut_down_done(now);
  EXPECT_EQ(line.ending(), Ending::closed);
}

// The kernel closes the sockets of a program that has gone as if it had wished so.
TEST_F(LifelineTest, AProgramThatHasGoneIsFoundOut) {
  begin();
  messages.count = 1;
  line.stream_ended(StreamEnd::closed, now);
  EXPECT_EQ(line.deadline(), now + Lifeline::kProbeInterval);
  EXPECT_EQ(write(), 0U);
  go_on(Lifeline::kProbeInterval);
  EXPECT_EQ(write(), 1U) << "which TCP answers with a reset";
  line.stream_ended(StreamEnd::broken, now);
  EXPECT_EQ(line.ending(), Ending::lost);
  EXPECT_TRUE(host.explained(ReasonId::iwarp_stream_lost));
}

TEST_F(LifelineTest, NobodyIsAskedWhereNothingIsOutstanding) {
  begin();
  line.stream_ended(StreamEnd::closed, now);
  EXPECT_EQ(line.wish(), StreamWish::shut_down);
  EXPECT_EQ(line.deadline(), now + kCloseTimeout);
  go_on(Lifeline::kProbeInterval);
  EXPECT_EQ(write(), 0U);
}

TEST_F(LifelineTest, TheAnswerThatComesLastIsFollowedByTheEnd) {
  begin();
  messages.count = 1;
  line.stream_ended(StreamEnd::closed, now);
  messages.count = 0;
  go_on(Lifeline::kProbeInterval);
  EXPECT_EQ(write(), 0U) << "nobody is asked any more";
  EXPECT_EQ(line.wish(), StreamWish::shut_down);
}

TEST_F(LifelineTest, WhatIsPostedBehindThePeersEndDoesNotPutItOff) {
  begin();
  messages.count = 2;
  line.stream_ended(StreamEnd::closed, now);
  messages.total += 5;
  messages.count = 6;
  EXPECT_EQ(line.wish(), StreamWish::none) << "one of the two is done";
  messages.count = 5;
  EXPECT_EQ(line.wish(), StreamWish::shut_down);
  line.shut_down_done(now);
  EXPECT_EQ(line.ending(), Ending::closed);
}

TEST_F(LifelineTest, BreaksWithTheStream) {
  begin();
  line.stream_ended(StreamEnd::broken, now);
  EXPECT_EQ(line.ending(), Ending::lost);
  EXPECT_TRUE(host.explained(ReasonId::iwarp_stream_lost));
}

TEST_F(LifelineTest, AResetBehindTheEndIsNone) {
  begin();
  line.close(now);
  line.shut_down_done(now);
  line.stream_ended(StreamEnd::broken, now);
  EXPECT_EQ(line.ending(), Ending::closed);
}

TEST_F(LifelineTest, ACloseThatGetsNowhereIsGivenUp) {
  begin();
  messages.count = 3;
  line.close(now);
  messages.moved = 1;
  go_on(kCloseTimeout);
  EXPECT_FALSE(line.ended()) << "something has moved";
  go_on(kCloseTimeout - Duration(1));
  EXPECT_FALSE(line.ended());
  go_on(Duration(1));
  EXPECT_EQ(line.ending(), Ending::lost);
  EXPECT_TRUE(host.explained(ReasonId::iwarp_close_stuck));
}

TEST_F(LifelineTest, APeerThatDoesNotCloseIsNotWaitedForForEver) {
  begin();
  line.close(now);
  line.shut_down_done(now);
  go_on(kCloseTimeout);
  EXPECT_EQ(line.ending(), Ending::closed);
}

// As long as the peer's program has not taken its connection, its end of TCP holds.
TEST_F(LifelineTest, ACloseWaitsForAPeerThatIsNotReady) {
  write();
  messages.count = 1;
  line.close(now);
  EXPECT_EQ(line.deadline(), kNever);
  line.receive(std::array{std::byte{0}}, now);
  EXPECT_EQ(line.deadline(), now + kCloseTimeout);
}

TEST_F(LifelineTest, TheReadyWordGoesBeforeTheEnd) {
  line.close(now);
  EXPECT_EQ(line.wish(), StreamWish::none);
  EXPECT_EQ(write(), 1U);
  EXPECT_EQ(line.wish(), StreamWish::shut_down);
}

TEST_F(LifelineTest, AnAbortIsNoLoss) {
  begin();
  messages.count = 1;
  line.give_up();
  EXPECT_EQ(line.ending(), Ending::aborted);
  line.stream_ended(StreamEnd::broken, now);
  EXPECT_EQ(line.ending(), Ending::aborted);
  EXPECT_EQ(write(), 0U);
}

}  // namespace
}  // namespace softrnic::iwarp::test
