// Connections that end in good order, and peers that do not let them.
#include <gtest/gtest.h>

#include "base/reason_id.h"
#include "tests/unit/transport/iwarp/raw_peer.h"

namespace softrnic::iwarp::test {
namespace {

using ib::SendOp;
using ib::Status;
using wire::RdmapOpcode;

TEST(IwarpClose, APeerThatClosesIsFollowedWhenAllIsSent) {
  RawPeer peer;
  peer.side.post({.op = SendOp::write, .length = 5000});
  peer.side.endpoint.stream_ended(StreamEnd::closed, peer.now);
  EXPECT_EQ(peer.side.endpoint.phase(), Phase::closing);
  EXPECT_EQ(peer.side.endpoint.wish(), StreamWish::none);
  EXPECT_GT(peer.read().size(), 5000U);
  EXPECT_TRUE(completed(peer.side, {Status::success}));
  EXPECT_EQ(peer.side.endpoint.wish(), StreamWish::shut_down);
  peer.side.endpoint.shut_down_done(peer.now);
  EXPECT_EQ(peer.side.endpoint.wish(), StreamWish::close);
  EXPECT_EQ(peer.side.endpoint.ending(), Ending::closed);
}

TEST(IwarpClose, APeerThatClosesWithoutAnAnswerIsLost) {
  RawPeer peer;
  peer.side.post({.op = SendOp::read, .length = 10});
  peer.read();
  peer.side.endpoint.stream_ended(StreamEnd::closed, peer.now);
  EXPECT_TRUE(completed(peer.side, {Status::flushed}));
  EXPECT_EQ(peer.side.endpoint.ending(), Ending::lost);
  EXPECT_TRUE(peer.side.host.explained(ReasonId::iwarp_unanswered));
}

TEST(IwarpClose, APeerThatDoesNotCloseIsNotWaitedForForEver) {
  RawPeer peer;
  peer.side.endpoint.close(peer.now);
  EXPECT_EQ(peer.side.endpoint.wish(), StreamWish::shut_down);
  peer.side.endpoint.shut_down_done(peer.now);
  const TimePoint due = peer.now + default_attributes().close_timeout;
  EXPECT_EQ(peer.side.endpoint.deadline(), due);
  peer.side.endpoint.expire(due - Duration(1));
  EXPECT_EQ(peer.side.endpoint.wish(), StreamWish::none);
  peer.side.endpoint.expire(due);
  EXPECT_EQ(peer.side.endpoint.wish(), StreamWish::close);
}

TEST(IwarpClose, ACloseThatGetsNowhereIsGivenUp) {
  constexpr Duration kStep = std::chrono::seconds(1);
  const Duration timeout = default_attributes().close_timeout;
  MpaAgreement waits = agreed();
  waits.waits_for_peer = WaitForPeer::always;
  struct Case {
    SendOp op;
    bool reads;  ///< what is sent
    MpaAgreement agreement;
  };
  // a peer that does not read, one that does not answer, and a responder that may not speak yet
  for (const Case& each : {Case{SendOp::write, false, agreed()}, Case{SendOp::read, true, agreed()},
                           Case{SendOp::write, true, waits}}) {
    RawPeer peer(default_attributes(), each.agreement);
    peer.side.post({.op = each.op, .length = 10});
    peer.side.endpoint.close(peer.now);
    peer.now += kStep;
    if (each.reads) peer.read();
    EXPECT_EQ(peer.side.endpoint.wish(), StreamWish::none);
    const TimePoint due = peer.side.endpoint.deadline();
    EXPECT_EQ(due, TimePoint() + timeout + (each.op == SendOp::read ? kStep : Duration::zero()));
    peer.side.endpoint.expire(due - Duration(1));
    EXPECT_EQ(peer.side.endpoint.phase(), Phase::closing);
    peer.side.endpoint.expire(due);
    EXPECT_EQ(peer.side.endpoint.ending(), Ending::lost);
    EXPECT_TRUE(completed(peer.side, {Status::flushed}));
    EXPECT_TRUE(peer.side.host.explained(ReasonId::iwarp_close_stuck));
  }
}

TEST(IwarpClose, APeerThatClosesAndDoesNotReadIsNotWaitedForForEver) {
  RawPeer peer;
  peer.side.post({.op = SendOp::write, .length = 10});
  peer.side.endpoint.stream_ended(StreamEnd::closed, peer.now);
  EXPECT_EQ(peer.side.endpoint.phase(), Phase::closing);
  ASSERT_NE(peer.side.endpoint.deadline(), kNever);
  peer.side.endpoint.expire(peer.side.endpoint.deadline());
  EXPECT_EQ(peer.side.endpoint.ending(), Ending::lost);
}

TEST(IwarpClose, ACloseThatGetsOnHasTime) {
  RawPeer peer;
  peer.side.post({.op = SendOp::write, .length = 100'000});
  peer.side.endpoint.close(peer.now);
  const TimePoint first = peer.side.endpoint.deadline();
  std::array<Bytes, 4> out;
  for (int i = 0; i < 50; ++i) {
    peer.now += default_attributes().close_timeout - Duration(1);
    peer.side.endpoint.expire(peer.now);
    ASSERT_NE(peer.side.endpoint.gather(out, peer.now), 0U);
    peer.side.endpoint.sent(1000, peer.now);
  }
  EXPECT_EQ(peer.side.endpoint.phase(), Phase::closing);
  EXPECT_GT(peer.side.endpoint.deadline(), first);
}

// What nobody waits for does not keep the queue pair.
TEST(IwarpClose, APeerThatGoesOnSendingDoesNotPutOffTheEnd) {
  MpaAgreement waits = agreed();
  waits.waits_for_peer = WaitForPeer::always;
  for (const bool shut_down : {true, false}) {
    RawPeer peer(default_attributes(), shut_down ? agreed() : waits);
    if (!shut_down) peer.side.post({.op = SendOp::write, .length = 10});
    peer.side.endpoint.close(peer.now);
    if (shut_down) peer.side.endpoint.shut_down_done(peer.now);
    const TimePoint due = peer.side.endpoint.deadline();
    peer.now += std::chrono::seconds(1);
    peer.side.endpoint.receive(std::array<std::byte, 1>{}, peer.now);
    EXPECT_EQ(peer.side.endpoint.deadline(), due);
  }
}

// Nor does what it asks for, however often it does.
TEST(IwarpClose, APeerThatGoesOnReadingIsGivenUp) {
  const Duration timeout = default_attributes().close_timeout;
  RawPeer peer;
  auto ask = [&, msn = 0U]() mutable {
    const wire::ReadRequest read{MemoryKey{9}, 0, 100, kKey, kBase};
    peer.send(fpdu(header(RdmapOpcode::read_request, ++msn), encoded<wire::kReadRequestBytes>(read)));
  };
  ask();
  peer.side.endpoint.close(peer.now);
  const TimePoint begun = peer.now;
  while (peer.side.endpoint.phase() == Phase::closing && peer.now < begun + 100 * timeout) {
    std::array<Bytes, 4> out;
    std::size_t bytes = 0;
    for (const Bytes piece : std::span(out).first(peer.side.endpoint.gather(out, peer.now)))
      bytes += piece.size();
    ask();  // before the last answer has left
    peer.side.endpoint.sent(bytes, peer.now);
    peer.now += timeout / 2;
    peer.side.endpoint.expire(peer.now);
  }
  EXPECT_EQ(peer.side.endpoint.ending(), Ending::lost);
  EXPECT_LE(peer.now - begun, (Endpoint::kMostCloseTimeouts + 1) * timeout);
}

TEST(IwarpClose, BothMayCloseAtOnce) {
  Pair pair;
  pair.b.receive(1, 0, 100);
  pair.a.post({.op = SendOp::send, .length = 10});
  pair.b.post({.op = SendOp::read, .length = 5000, .from = 100'000});
  pair.a.endpoint.close(pair.now);
  pair.b.endpoint.close(pair.now);
  pair.run();
  EXPECT_TRUE(completed(pair.a, {Status::success}));
  EXPECT_EQ(pair.a.endpoint.ending(), Ending::closed);
}

}  // namespace
}  // namespace softrnic::iwarp::test
