// A responder lets the initiator speak first (RFC 5044 7.1.2), if that has something to say: in virtual time.
#include <gtest/gtest.h>

#include "base/reason_id.h"
#include "tests/unit/transport/iwarp/raw_peer.h"

namespace softrnic::iwarp::test {
namespace {

using ib::SendOp;
using ib::Status;
using wire::RdmapOpcode;

constexpr Duration kTick = std::chrono::milliseconds(1);

MpaAgreement responder(WaitForPeer waits) {
  MpaAgreement agreement = agreed();
  agreement.waits_for_peer = waits;
  return agreement;
}

struct Responder : RawPeer {
  explicit Responder(WaitForPeer waits = WaitForPeer::bounded)
      : RawPeer(default_attributes(), responder(waits)) {}

  Endpoint& endpoint() { return side.endpoint; }
  /// As a lane does: runs what is due until then, and writes when something was; `acknowledged`: the reply.
  std::size_t run_until(TimePoint end, bool acknowledged = true) {
    std::size_t bytes = write(acknowledged);
    while (endpoint().deadline() <= end) {
      now = endpoint().deadline();
      endpoint().expire(now);
      EXPECT_GT(endpoint().deadline(), now) << "it would run for ever";
      bytes += write(acknowledged);
    }
    now = end;
    return bytes;
  }
  std::size_t write(bool acknowledged) {
    if (endpoint().hesitates()) endpoint().reply_arrived(acknowledged, now);
    return read().size();
  }
  void speak() { send(fpdu(header(RdmapOpcode::write), std::array<std::byte, 8>{})); }
};

TEST(FirstWord, NoByteLeavesBeforeTheInitiatorHasSpoken) {
  Responder responder;
  responder.side.post({.op = SendOp::write, .length = 100});
  const TimePoint bound = responder.now + kFirstWordPatience;
  EXPECT_EQ(responder.run_until(bound - kTick), 0U);
  EXPECT_TRUE(responder.side.host.sends.empty());
  responder.speak();
  EXPECT_GT(responder.run_until(responder.now), 100U) << "and at once when it has";
  EXPECT_TRUE(completed(responder.side, {Status::success}));
  EXPECT_FALSE(responder.endpoint().spoke_first());
  EXPECT_EQ(responder.endpoint().deadline(), kNever);
}

TEST(FirstWord, AnInitiatorThatNeverSpeaksIsServedAfterTheBound) {
  Responder responder;
  responder.side.post({.op = SendOp::write, .length = 100});
  const TimePoint bound = responder.now + kFirstWordPatience;
  EXPECT_EQ(responder.run_until(bound - Duration(1)), 0U);
  EXPECT_GT(responder.run_until(bound), 100U);
  EXPECT_TRUE(completed(responder.side, {Status::success}));
  EXPECT_TRUE(responder.endpoint().spoke_first());
  responder.speak();
  EXPECT_FALSE(responder.endpoint().spoke_first());
}

// It has had its time by then.
TEST(FirstWord, AResponderWithNothingToSayAtFirstWaitsNoLongerLater) {
  Responder responder;
  EXPECT_EQ(responder.endpoint().deadline(), kNever) << "nobody is woken for nothing";
  responder.now += 2 * kFirstWordPatience;
  responder.side.post({.op = SendOp::write, .length = 100});
  EXPECT_GT(responder.write(true), 100U);
}

// Behind a reply that is sent again everything comes at once.
TEST(FirstWord, TheBoundBeginsWhenTheReplyHasArrived) {
  Responder responder;
  responder.side.post({.op = SendOp::write, .length = 100});
  const TimePoint arrived = responder.now + 10 * kFirstWordPatience;
  EXPECT_EQ(responder.run_until(arrived, false), 0U);
  EXPECT_EQ(responder.run_until(arrived + kFirstWordPatience - Endpoint::kReplyLooks), 0U);
  EXPECT_GT(responder.run_until(arrived + kFirstWordPatience + Endpoint::kReplyLooks), 100U);
}

TEST(FirstWord, TheOwnEndOfTheStreamIsAWordToo) {
  Responder responder;
  responder.endpoint().close(responder.now);
  const TimePoint bound = responder.now + kFirstWordPatience;
  responder.run_until(bound - Duration(1));
  EXPECT_EQ(responder.endpoint().wish(), StreamWish::none);
  responder.run_until(bound);
  EXPECT_EQ(responder.endpoint().wish(), StreamWish::shut_down);

  Responder closed;
  closed.endpoint().stream_ended(StreamEnd::closed, closed.now);
  EXPECT_EQ(closed.endpoint().wish(), StreamWish::shut_down)
      << "a peer that speaks no more is not waited for";
}

TEST(FirstWord, AReadyToReceiveMessageIsWaitedForWithoutABound) {
  for (const bool posts : {true, false}) {
    Responder responder(WaitForPeer::always);
    if (posts) responder.side.post({.op = SendOp::write, .length = 100});
    EXPECT_EQ(responder.run_until(responder.now + std::chrono::hours(1)), 0U);
    responder.endpoint().close(responder.now);
    const TimePoint given_up = responder.endpoint().deadline();
    EXPECT_EQ(given_up, responder.now + kCloseTimeout);
    responder.run_until(given_up - Duration(1));
    EXPECT_EQ(responder.endpoint().wish(), StreamWish::none);
    EXPECT_EQ(responder.run_until(given_up), 0U);
    EXPECT_EQ(responder.endpoint().wish(), posts ? StreamWish::close : StreamWish::shut_down);
  }
}

TEST(FirstWord, OnOneHostNobodyIsWaitedFor) {
  Responder responder(WaitForPeer::none);
  responder.side.post({.op = SendOp::write, .length = 100});
  EXPECT_FALSE(responder.endpoint().hesitates());
  EXPECT_GT(responder.read().size(), 100U);
  EXPECT_FALSE(responder.endpoint().spoke_first());
}

TEST(FirstWord, APeerThatBreaksOffAtItIsToldOfOnce) {
  Responder responder;
  responder.side.post({.op = SendOp::write, .length = 100});
  responder.run_until(responder.now + kFirstWordPatience);
  responder.endpoint().stream_ended(StreamEnd::broken, responder.now);
  EXPECT_EQ(responder.endpoint().ending(), Ending::lost);
  EXPECT_FALSE(responder.side.host.explained(ReasonId::iwarp_stream_lost)) << "the stream has said more";
}

}  // namespace
}  // namespace softrnic::iwarp::test
