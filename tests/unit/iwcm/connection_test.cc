// Connections that come about, and how they end.
#include "base/reason_id.h"
#include "tests/unit/iwcm/pair.h"

namespace softrnic::iwcm {
namespace {

TEST_F(Pair, ConnectsWithWhatBothSay) {
  const Id active = connect("hello");
  deliver();
  const Told request = server.expect(EventKind::request);
  EXPECT_EQ(request.listener, listener);
  EXPECT_EQ(request.private_data, "hello");
  EXPECT_EQ(request.ird, 4);
  EXPECT_EQ(request.ord, 8);
  EXPECT_EQ(request.remote.host, at(2, 0).host);
  EXPECT_TRUE(client.events.empty()) << "the program has not answered";
  ASSERT_TRUE(server.manager.accept(request.id, {2, 9, bytes_of("welcome")}));
  EXPECT_TRUE(server.events.empty()) << "the program has not its stream yet";
  EXPECT_EQ(server.streams.handed_over, std::vector{request.id});
  deliver();
  const Told reply = client.expect(EventKind::reply);
  EXPECT_EQ(reply.id, active);
  EXPECT_EQ(reply.status, 0);
  EXPECT_EQ(reply.private_data, "welcome");
  EXPECT_EQ(reply.ird, 4);
  EXPECT_EQ(reply.ord, 2) << "no more than the server takes";
  EXPECT_NE(reply.local.port, 0);
  EXPECT_EQ(client.streams.handed_over, std::vector{active});
  ASSERT_TRUE(server.manager.confirm(request.id));
  server.expect(EventKind::established);
  EXPECT_FALSE(server.manager.confirm(request.id)) << "it is told once";
  const auto* const ours = server.manager.agreement(request.id);
  const auto* const theirs = client.manager.agreement(active);
  ASSERT_TRUE(ours != nullptr && theirs != nullptr);
  EXPECT_EQ(ours->revision, 2);
  EXPECT_EQ(ours->ird, 2);
  EXPECT_EQ(ours->ord, 4);
  EXPECT_EQ(ours->waits_for_peer, iwarp::WaitForPeer::bounded) << "RFC 5044 7.1.2";
  EXPECT_EQ(theirs->waits_for_peer, iwarp::WaitForPeer::none);
  EXPECT_TRUE(theirs->long_fpdus);
  EXPECT_EQ(client.manager.wanted(active), 0U) << "the rest is the program's";
}

// One manager has both ends of a connection within a host, whatever addresses they have.
TEST_F(Pair, AnInitiatorOfThisHostIsNotWaitedFor) {
  for (const auto from : {std::uint8_t{1}, std::uint8_t{5}}) {
    Request request;
    request.local = at(from, 0);
    request.remote = at(1, 7174);
    const auto active = server.manager.connect(request, now);
    ASSERT_TRUE(active);
    deliver();
    const Id passive = server.expect(EventKind::request).id;
    ASSERT_TRUE(server.manager.accept(passive, {1, 1, {}}));
    const auto* const ours = server.manager.agreement(passive);
    ASSERT_NE(ours, nullptr);
    EXPECT_EQ(ours->waits_for_peer, iwarp::WaitForPeer::none) << "from 10.0.0." << int{from};
    deliver();
    server.expect(EventKind::reply);
  }
}

TEST_F(Pair, NothingBehindTheReplyIsTaken) {
  for (tcp.piece = 1; tcp.piece < 40; ++tcp.piece) {
    const Id active = connect("x");
    deliver();
    const Told request = server.expect(EventKind::request);
    ASSERT_TRUE(server.manager.accept(request.id, {1, 1, {}}));
    ASSERT_TRUE(server.streams.write(request.id, bytes_of("the first FPDU")));
    deliver();
    client.expect(EventKind::reply);
    EXPECT_EQ(client.streams.inbox(active), "the first FPDU") << "in pieces of " << tcp.piece;
  }
}

TEST_F(Pair, TheProgramsStreamEnds) {
  const Id active = connect();
  deliver();
  const Id passive = server.expect(EventKind::request).id;
  ASSERT_TRUE(server.manager.accept(passive, {1, 1, {}}));
  deliver();
  client.expect(EventKind::reply);
  const std::uint64_t token = client.manager.token(active);
  ASSERT_NE(token, 0U);
  EXPECT_EQ(client.manager.with_token(token), active);
  EXPECT_EQ(client.manager.with_socket(), 1U) << "until it is taken";
  client.streams.take(active);
  EXPECT_EQ(client.manager.with_socket(), 0U);
  EXPECT_FALSE(client.manager.stream_over(token + 1));
  EXPECT_FALSE(client.manager.stream_over(0));
  EXPECT_TRUE(client.events.empty());
  EXPECT_TRUE(client.manager.stream_over(token));
  EXPECT_EQ(client.expect(EventKind::closed).status, 0);
  EXPECT_FALSE(client.manager.stream_over(token)) << "once";
  client.manager.destroy(active);
  EXPECT_EQ(client.manager.size(), 0U);
}

TEST_F(Pair, ADisconnectThatNobodyEndsIsToldInTime) {
  const Id active = connect();
  deliver();
  ASSERT_TRUE(server.manager.accept(server.expect(EventKind::request).id, {1, 1, {}}));
  deliver();
  client.expect(EventKind::reply);
  EXPECT_EQ(client.manager.deadline(), kNever);
  client.streams.take(active);
  client.manager.disconnect(active, now);
  const TimePoint due = client.manager.deadline();
  client.manager.disconnect(active, now + std::chrono::seconds(1));
  EXPECT_EQ(client.manager.deadline(), due) << "a second call does not put it off";
  wait();
  EXPECT_EQ(client.expect(EventKind::closed).status, -ETIMEDOUT);
  EXPECT_EQ(client.manager.deadline(), kNever);
}

// As Linux's iw_cm_disconnect, which waits for the connect and closes then.
TEST_F(Pair, ADisconnectOnTheWayEndsTheConnectionOnceItIsThere) {
  for (const bool early : {true, false}) {
    const Id active = connect();
    if (early) client.manager.disconnect(active, now);
    deliver();
    const Id passive = server.expect(EventKind::request).id;
    server.manager.disconnect(passive, now);
    EXPECT_TRUE(server.events.empty()) << "a request is answered, and not disconnected";
    if (!early) client.manager.disconnect(active, now);
    ASSERT_TRUE(server.manager.accept(passive, {1, 1, {}}));
    deliver();
    EXPECT_EQ(client.expect(EventKind::reply).status, 0);
    EXPECT_EQ(client.expect(EventKind::closed).status, 0);
    EXPECT_EQ(client.streams.open_streams(), 0U);
    EXPECT_EQ(client.manager.agreement(active), nullptr);
  }
}

TEST_F(Pair, AStreamThatNobodyHasTakenEndsAtOnce) {
  const Id active = connect();
  deliver();
  ASSERT_TRUE(server.manager.accept(server.expect(EventKind::request).id, {1, 1, {}}));
  deliver();
  client.expect(EventKind::reply);
  client.manager.disconnect(active, now);
  EXPECT_EQ(client.expect(EventKind::closed).status, 0);
  EXPECT_EQ(client.streams.open_streams(), 0U) << "the peer sees its end";
  EXPECT_EQ(client.manager.deadline(), kNever);
}

TEST_F(Pair, AnEndBeforeTheProgramHasSaidThatItHasTheStream) {
  for (const bool disconnects : {false, true}) {
    connect();
    deliver();
    const Id passive = server.expect(EventKind::request).id;
    ASSERT_TRUE(server.manager.accept(passive, {1, 1, {}}));
    const std::uint64_t token = server.manager.token(passive);
    server.streams.take(passive);
    EXPECT_TRUE(server.manager.stream_over(token));
    EXPECT_TRUE(server.events.empty()) << "nobody has heard that it was there";
    if (disconnects) {
      server.manager.disconnect(passive, now);
    } else {
      ASSERT_TRUE(server.manager.confirm(passive));
      server.expect(EventKind::established);
    }
    EXPECT_EQ(server.expect(EventKind::closed).status, 0);
    EXPECT_FALSE(server.manager.stream_over(token)) << "once";
    deliver();
    client.events.clear();
  }
}

TEST_F(Pair, RejectedWithReasons) {
  const Id active = connect("please");
  deliver();
  const Id passive = server.expect(EventKind::request).id;
  const std::string long_data(509, 'x');
  EXPECT_EQ(server.manager.reject(passive, bytes_of(long_data)).error().error, EINVAL);
  ASSERT_TRUE(server.manager.reject(passive, bytes_of("no")));
  deliver();
  const Told reply = client.expect(EventKind::reply);
  EXPECT_EQ(reply.id, active);
  EXPECT_EQ(reply.status, -ECONNREFUSED);
  EXPECT_EQ(reply.private_data, "no");
  EXPECT_EQ(reply.reason.id, ReasonId::iwcm_rejected);
  EXPECT_EQ(server.streams.open_streams() + client.streams.open_streams(), 0U);
  EXPECT_FALSE(server.manager.accept(passive, {1, 1, {}}));
}

TEST_F(Pair, NobodyListens) {
  server.manager.unlisten(listener);
  connect();
  deliver();
  const TimePoint began = now;
  while (client.events.empty()) wait();
  EXPECT_EQ(now - began, Limits{}.refused_patience);
  const Told reply = client.expect(EventKind::reply);
  EXPECT_EQ(reply.status, -ECONNREFUSED);
  EXPECT_EQ(reply.reason.id, ReasonId::iwcm_connect);
  EXPECT_EQ(client.streams.open_streams(), 0U);
}

TEST_F(Pair, AListenerThatComesAMomentLater) {
  server.manager.unlisten(listener);
  connect("hello");
  deliver();
  wait();
  wait();
  EXPECT_TRUE(client.events.empty());
  EXPECT_EQ(client.streams.open_streams(), 0U) << "no descriptor waits";
  SetUp();
  wait();
  EXPECT_EQ(server.expect(EventKind::request).private_data, "hello");
}

TEST_F(Pair, DestroyedWhileNobodyListensYet) {
  server.manager.unlisten(listener);
  const Id active = connect();
  deliver();
  client.manager.destroy(active);
  EXPECT_EQ(client.manager.size(), 0U);
  EXPECT_EQ(client.manager.deadline(), kNever);
}

TEST_F(Pair, NobodyAnswers) {
  tcp.silent = true;
  connect();
  wait();
  const Told reply = client.expect(EventKind::reply);
  EXPECT_EQ(reply.status, -ETIMEDOUT);
  EXPECT_EQ(reply.reason.id, ReasonId::iwcm_connect_slow);
}

TEST_F(Pair, TheProgramDoesNotAnswer) {
  connect();
  deliver();
  const Id passive = server.expect(EventKind::request).id;
  const TimePoint last = server.manager.deadline();
  EXPECT_EQ(last, now + Limits{}.answer_timeout);
  wait();
  EXPECT_LT(now, last) << "the peer has less patience";
  const Told reply = client.expect(EventKind::reply);
  EXPECT_EQ(reply.status, -ETIMEDOUT);
  EXPECT_EQ(reply.reason.id, ReasonId::mpa_timeout);
  server.expect(EventKind::given_up);
  EXPECT_EQ(server.manager.accept(passive, {1, 1, {}}).error().error, ECONNRESET);
  EXPECT_TRUE(server.manager.reject(passive, {})) << "there is nobody to be told";
}

TEST_F(Pair, DestroyedAtEveryStage) {
  for (int stage = 0; stage < 6; ++stage) {
    const Id active = connect();
    Id passive{};
    if (stage >= 1) deliver();
    if (stage >= 1) passive = server.expect(EventKind::request).id;
    if (stage >= 3) {
      ASSERT_TRUE(server.manager.accept(passive, {1, 1, {}}));
    }
    if (stage >= 4) deliver();
    if (stage >= 4) client.expect(EventKind::reply);
    if (stage == 1 || stage == 5) {
      server.manager.destroy(passive);
      deliver();
      if (stage == 1) {
        EXPECT_EQ(client.expect(EventKind::reply).status, -ECONNREFUSED) << "as if rejected";
      }
    }
    client.manager.destroy(active);
    deliver();
    if (stage == 2) server.expect(EventKind::given_up);
    server.manager.destroy(passive);
    EXPECT_EQ(server.manager.size() + client.manager.size(), 0U) << stage;
    EXPECT_EQ(server.streams.open_streams() + client.streams.open_streams(), 0U) << stage;
    EXPECT_TRUE(server.events.empty() && client.events.empty()) << stage;
    EXPECT_EQ(std::min(server.manager.deadline(), client.manager.deadline()), kNever) << stage;
  }
}

TEST_F(Pair, AnAnswerThatDoesNotGoOutIsAFailure) {
  connect();
  deliver();
  const Id passive = server.expect(EventKind::request).id;
  server.streams.broken = true;
  const auto accepted = server.manager.accept(passive, {1, 1, {}});
  ASSERT_FALSE(accepted);
  EXPECT_EQ(accepted.error().error, ECONNRESET);
  EXPECT_EQ(accepted.error().reason.id, ReasonId::iwcm_write);
}

TEST_F(Pair, TooManyPrivateData) {
  Request request;
  const std::string data(509, 'x');
  request.offer.private_data = bytes_of(data);
  EXPECT_EQ(client.manager.connect(request, now).error().error, EINVAL);
  connect(data.substr(1));
  deliver();
  const Told asked = server.expect(EventKind::request);
  EXPECT_EQ(asked.private_data.size(), 508U);
  EXPECT_EQ(server.manager.accept(asked.id, {1, 1, bytes_of(data)}).error().error, EINVAL);
  EXPECT_TRUE(server.manager.accept(asked.id, {1, 1, {}})) << "nothing has changed";
}

}  // namespace
}  // namespace softrnic::iwcm
