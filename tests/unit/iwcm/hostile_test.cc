// Peers that do not keep to the protocol, or know an older one.
#include "base/reason_id.h"
#include "tests/unit/iwcm/pair.h"

namespace softrnic::iwcm {
namespace {

using wire::MpaFrame;
using wire::MpaFrameKind;

std::string request_frame(const std::string& data = {}) {
  MpaFrame head{MpaFrameKind::request};
  head.revision = 1;
  return frame(head, data);
}

TEST_F(Pair, ARequestInWhateverPieces) {
  const std::string whole = request_frame("private");
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    const Id id = stranger(whole.substr(0, cut));
    EXPECT_TRUE(server.events.empty()) << cut;
    say(id, whole.substr(cut));
    const Told request = server.expect(EventKind::request);
    EXPECT_EQ(request.private_data, "private") << cut;
    EXPECT_EQ(request.ird, wire::kMpaNoLimit) << "revision 1 tells nothing";
    server.manager.destroy(request.id);
  }
}

TEST_F(Pair, GarbageIsDroppedAtItsFirstByte) {
  for (const char* const data : {"GET / HTTP/1.1\r\n\r\n", "MPA ID Rep Frame", "MPA ID Req Framf", "\0"}) {
    const Id id = stranger(std::string(data, data[0] == 0 ? 1 : std::string(data).size()));
    EXPECT_EQ(server.manager.wanted(id), 0U) << data;
  }
  EXPECT_EQ(server.manager.size(), 0U);
  EXPECT_EQ(server.explained, std::vector(4, ReasonId::mpa_no_frame));
  EXPECT_TRUE(server.events.empty());
}

TEST_F(Pair, LengthsAndRevisionsOutOfBounds) {
  std::string long_one = request_frame();
  long_one[18] = '\x02';
  long_one[19] = '\x01';  // 513
  stranger(long_one);
  MpaFrame short_one{MpaFrameKind::request};
  short_one.revision = 2;
  short_one.enhanced = true;
  stranger(frame(short_one, "abc"));
  MpaFrame later{MpaFrameKind::request};
  later.revision = 3;
  stranger(frame(later, ""));
  EXPECT_EQ(server.manager.size(), 0U);
  EXPECT_EQ(server.explained,
            (std::vector{ReasonId::mpa_private_data, ReasonId::mpa_private_data, ReasonId::mpa_revision}));
}

TEST_F(Pair, WhoSpeaksBeforeTheAnswerIsDropped) {
  const Id id = stranger(request_frame());
  server.expect(EventKind::request);
  EXPECT_EQ(server.manager.wanted(id), 1U);
  say(id, "x");
  EXPECT_EQ(server.expect(EventKind::given_up).id, id);
  EXPECT_EQ(server.explained, std::vector{ReasonId::mpa_early_data});
}

TEST_F(Pair, SlowRequestsAreGivenUpInTime) {
  const Id id = stranger(request_frame().substr(0, 19));
  EXPECT_EQ(server.manager.deadline(), now + Limits{}.request_timeout);
  now = server.manager.deadline() - std::chrono::nanoseconds(1);
  server.manager.advance(now);
  EXPECT_EQ(server.manager.wanted(id), 1U);
  server.manager.advance(now + std::chrono::nanoseconds(1));
  EXPECT_EQ(server.manager.wanted(id), 0U);
  EXPECT_EQ(server.explained, std::vector{ReasonId::mpa_timeout});
}

TEST_F(Pair, AFloodDisplacesItsOwnAndNoRequest) {
  const Id honest = stranger(request_frame());
  server.expect(EventKind::request);
  const auto other = server.manager.listen({at(1, 7175), 10});
  ASSERT_TRUE(other);
  const Id elsewhere = server.manager.incoming(*other, at(1, 7175), at(9, 1), now);
  std::vector<Id> silent;
  const std::size_t most = Limits{}.least_backlog / 2;
  for (std::size_t i = 0; i < most + 10; ++i) silent.push_back(stranger("MPA"));
  EXPECT_EQ(server.manager.with_socket(), most + 2);
  EXPECT_EQ(server.manager.wanted(silent[0]), 0U);
  EXPECT_EQ(server.manager.wanted(silent[9]), 0U);
  EXPECT_NE(server.manager.wanted(silent[10]), 0U) << "the oldest go first";
  EXPECT_EQ(server.manager.wanted(honest), 1U) << "it waits for the program";
  EXPECT_NE(server.manager.wanted(elsewhere), 0U) << "another listener's";
  EXPECT_EQ(server.explained, std::vector(10, ReasonId::iwcm_flood));
}

TEST_F(Pair, RequestsThatNobodyAnswersAreBounded) {
  const int more = static_cast<int>(Limits{}.least_backlog) + 72;
  const auto wide = server.manager.listen({at(1, 7175), more});
  ASSERT_TRUE(wide);
  for (std::size_t i = 0; i < Limits{}.least_backlog; ++i) stranger(request_frame());
  EXPECT_EQ(server.events.size(), Limits{}.least_backlog);
  const Id late = stranger(request_frame());
  EXPECT_EQ(server.manager.wanted(late), 0U) << "rejected";
  EXPECT_EQ(server.explained, std::vector{ReasonId::cma_backlog_full});
  listener = *wide;
  for (std::size_t i = 0; i < static_cast<std::size_t>(more); ++i) stranger(request_frame());
  EXPECT_EQ(server.events.size(), Limits{}.least_backlog + static_cast<std::size_t>(more))
      << "the program's backlog";
  now = server.manager.deadline();
  server.manager.advance(now);
  EXPECT_EQ(server.manager.with_socket(), 0U) << "no peer waits any more";
}

TEST_F(Pair, TcpKeepsWhoComesWhileTheProgramHasEnoughToAnswer) {
  const std::size_t most = Limits{}.least_backlog / 2;
  for (std::size_t i = 1; i < most; ++i) stranger(request_frame());
  for (std::size_t i = 0; i < most; ++i) stranger("MPA");
  EXPECT_TRUE(server.manager.takes_another(listener)) << "who says nothing keeps nobody out";
  stranger(request_frame());
  EXPECT_FALSE(server.manager.takes_another(listener));
  ASSERT_TRUE(server.manager.reject(server.expect(EventKind::request).id, {}));
  EXPECT_TRUE(server.manager.takes_another(listener));
}

/// A host that listens at 10.0.0.3.
class Small : public Pair {
 protected:
  Id ask(Node& host, std::uint32_t user) {
    const auto listens = host.manager.listen({at(3, static_cast<std::uint16_t>(user)), 1, 0, user});
    EXPECT_TRUE(listens);
    const Id id = host.manager.incoming(*listens, at(3, 1), at(9, 1), now);
    const std::string whole = request_frame();
    for (std::size_t i = 0; i < whole.size() && id.value != 0; ++i)
      host.manager.received(id, bytes_of(whole.substr(i, 1)), now);
    return id;
  }
};

TEST_F(Small, AFloodAtOneListenerLeavesRoomAtOthers) {
  Node host(tcp, {.active = 1, .passive = 8});
  const auto flooded = host.manager.listen({at(3, 1), 1, 0, 1});
  const auto slow = host.manager.listen({at(3, 2), 1, 0, 2});
  ASSERT_TRUE(flooded && slow);
  const Id patient = host.manager.incoming(*slow, at(3, 2), at(9, 1), now);
  std::vector<Id> silent;
  for (int i = 0; i < 7; ++i) silent.push_back(host.manager.incoming(*flooded, at(3, 1), at(9, 2), now));
  EXPECT_NE(ask(host, 3), Id(0));
  EXPECT_EQ(host.events.size(), 1U);
  EXPECT_EQ(host.manager.wanted(silent[0]), 0U) << "the oldest where most are";
  EXPECT_NE(host.manager.wanted(silent[1]), 0U);
  EXPECT_NE(host.manager.wanted(patient), 0U);
  EXPECT_EQ(host.explained, std::vector{ReasonId::iwcm_flood});
}

TEST_F(Small, EachSideHasItsOwnRoom) {
  Node host(tcp, {.active = 1, .passive = 2, .queued_of_user = 0});
  EXPECT_NE(ask(host, 1), Id(0));
  const Id second = ask(host, 2);
  EXPECT_EQ(host.events.size(), 2U);
  EXPECT_EQ(ask(host, 3), Id(0));
  EXPECT_EQ(host.explained, std::vector{ReasonId::iwcm_room});
  EXPECT_TRUE(host.manager.connect({}, now)) << "peers do not keep programs from connecting";
  EXPECT_EQ(host.manager.connect({}, now).error().error, EMFILE);
  host.manager.destroy(second);
  EXPECT_NE(ask(host, 4), Id(0));
  EXPECT_EQ(host.manager.incoming(ListenerId(77), at(3, 1), at(9, 1), now), Id(0)) << "no such listener";
}

TEST_F(Small, OneUserLeavesRoomForOthers) {
  Node host(tcp, {.of_user = 2, .queued_of_user = 0});
  EXPECT_NE(ask(host, 1), Id(0)) << "a listener and a request";
  EXPECT_EQ(host.manager.listen({at(3, 9), 1, 0, 1}).error().error, EMFILE);
  Request request;
  request.user = 1;
  EXPECT_EQ(host.manager.connect(request, now).error().error, EMFILE);
  request.user = 2;
  EXPECT_TRUE(host.manager.connect(request, now));
  EXPECT_TRUE(host.manager.listen({at(3, 9), 1, 0, 2}));
}

/// A host of whose connects one at a time has room.
class Narrow : public Pair {
 protected:
  Expected<Id, Failure> connect(std::uint32_t user = 0) {
    Request request;
    request.local = at(3, 0);
    request.remote = at(1, 7174);
    request.user = user;
    return host.manager.connect(request, now);
  }
  Node host{tcp, {.active = 1, .queued_of_user = 2}};
};

TEST_F(Narrow, ConnectsWaitForRoomInTheirOrder) {
  const auto first = connect(), second = connect(), third = connect();
  ASSERT_TRUE(first && second && third);
  EXPECT_EQ(connect().error().error, EMFILE) << "so many wait, and no more";
  EXPECT_TRUE(connect(5)) << "another user's";
  for (const Id id : {*first, *second, *third}) {
    deliver();
    EXPECT_EQ(host.streams.open_streams(), 1U);
    ASSERT_TRUE(server.manager.accept(server.expect(EventKind::request).id, {}));
    deliver();
    EXPECT_EQ(host.expect(EventKind::reply).id, id);
    EXPECT_GT(host.manager.deadline(), now);
    host.streams.take(id);
    host.manager.taken(id);
    EXPECT_LE(host.manager.deadline(), now) << "there is room for the next";
    host.manager.advance(now);
  }
  EXPECT_EQ(tcp.connections, 4U);
}

TEST_F(Narrow, AConnectDoesNotWaitForRoomForEver) {
  ASSERT_TRUE(connect());
  deliver();  // and the program of the peer does not answer
  const auto second = connect();
  ASSERT_TRUE(second);
  now += Limits{}.connect_timeout;
  host.manager.advance(now);
  const Told told = host.expect(EventKind::reply);
  EXPECT_EQ(told.id, *second);
  EXPECT_EQ(told.status, -ETIMEDOUT);
  EXPECT_EQ(told.reason.id, ReasonId::iwcm_room);
}

TEST_F(Narrow, WhoGivesUpLeavesTheQueue) {
  const auto first = connect(), second = connect(), third = connect();
  ASSERT_TRUE(first && second && third);
  host.manager.destroy(*second);
  EXPECT_TRUE(connect());
  host.manager.destroy(*first);
  host.manager.advance(now);
  deliver();
  EXPECT_EQ(tcp.connections, 2U);
  ASSERT_TRUE(server.manager.accept(server.expect(EventKind::request).id, {}));
  deliver();
  EXPECT_EQ(host.expect(EventKind::reply).id, *third);
}

TEST_F(Pair, AListenerThatGoesTakesTheHalfOpenAlong) {
  stranger("MPA");
  const Id asked = stranger(request_frame());
  server.expect(EventKind::request);
  server.manager.unlisten(listener);
  EXPECT_EQ(server.manager.size(), 1U);
  EXPECT_EQ(server.manager.wanted(asked), 1U) << "the program knows of this one";
}

/// A server of another make, who says what the test wants.
class Answers : public Pair {
 protected:
  Told answer(const std::string& data, bool then_ends = false) {
    const Id active = connect();
    deliver();
    const Id passive = server.expect(EventKind::request).id;
    EXPECT_TRUE(server.streams.write(passive, bytes_of(data)));
    deliver();
    if (then_ends) server.streams.close(passive);
    deliver();
    const Told told = client.events.empty() ? Told{} : client.expect(EventKind::reply);
    client.manager.destroy(active);
    return told;
  }
};

TEST_F(Answers, Garbage) {
  const Told told = answer("HTTP/1.1 400 Bad Request");
  EXPECT_EQ(told.status, -EINVAL);
  EXPECT_EQ(told.reason.id, ReasonId::mpa_no_frame);
}

TEST_F(Answers, EndsInTheMiddle) {
  MpaFrame head{MpaFrameKind::reply};
  head.revision = 1;
  const std::string whole = frame(head, "data");
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    const Told told = answer(whole.substr(0, cut), true);
    EXPECT_EQ(told.status, -ECONNRESET) << cut;
    EXPECT_EQ(told.reason.id, ReasonId::mpa_stream_ended) << cut;
  }
}

TEST_F(Answers, WantsMoreReadsThanThereAre) {
  MpaFrame head{MpaFrameKind::reply};
  head.revision = 2;
  head.enhanced = true;
  std::string data(wire::kMpaEnhancedBytes, '\0');
  wire::MpaEnhanced enhanced;
  enhanced.ird = 1;
  enhanced.ord = 5;  // this side takes 4
  wire::encode(enhanced, std::as_writable_bytes(std::span(data)));
  const Told told = answer(frame(head, data));
  EXPECT_EQ(told.status, -EINVAL);
  EXPECT_EQ(told.reason.id, ReasonId::mpa_ird);
}

TEST_F(Pair, APeerOfRevisionOneIsAskedAgain) {
  const Id active = connect("once more");
  deliver();
  server.streams.close(server.expect(EventKind::request).id);  // as who does not know the frame
  deliver();
  EXPECT_EQ(tcp.connections, 2U);
  const Told again = server.expect(EventKind::request);
  EXPECT_EQ(again.private_data, "once more");
  EXPECT_EQ(again.ird, wire::kMpaNoLimit);
  ASSERT_TRUE(server.manager.accept(again.id, {1, 1, {}}));
  deliver();
  const Told reply = client.expect(EventKind::reply);
  EXPECT_EQ(reply.id, active);
  EXPECT_EQ(client.manager.agreement(active)->revision, 1);
}

TEST_F(Pair, ANetworkThatFailsIsNoPeerOfRevisionOne) {
  const Id active = connect();
  deliver();
  client.manager.ended(active, EHOSTUNREACH, now);
  EXPECT_EQ(tcp.connections, 1U);
  const Told reply = client.expect(EventKind::reply);
  EXPECT_EQ(reply.status, -EHOSTUNREACH);
  EXPECT_EQ(reply.reason.id, ReasonId::iwcm_connect);
}

TEST_F(Pair, WhoRefusesRevisionOneTooIsNotAskedAThirdTime) {
  connect();
  for (int i = 0; i < 2; ++i) {
    deliver();
    server.streams.close(server.expect(EventKind::request).id);
  }
  deliver();
  EXPECT_EQ(tcp.connections, 2U);
  EXPECT_EQ(client.expect(EventKind::reply).status, -ECONNRESET);
}

}  // namespace
}  // namespace softrnic::iwcm
