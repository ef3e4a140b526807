// Requests of strangers beyond the allowance: the host hears of who gives a sign of life,
// and of others now and then.
#include <arpa/inet.h>

#include <algorithm>

#include "tests/unit/cm/pair.h"

namespace softrnic::cm {
namespace {

class Held : public Pair {
 protected:
  /// A REQ of another sender each; nobody is there.
  void forge(std::uint32_t number) {
    mad::Address from;
    from.local = path().remote;
    from.remote = wire::Gid::from_ipv4_be(htonl(0x0b000000 + number));
    Req req;
    req.local_id = number;
    req.service_id = kService;
    req.ca_guid = number;
    req.qpn = Qpn(number);
    req.mtu = 3;
    req.primary.local_gid = from.remote;
    req.primary.remote_gid = from.local;
    b.manager.receive(from, encode(req, number), now);
  }
  void use_up() {
    for (std::uint32_t i = 1; i <= Limits().strangers; ++i) forge(i);
    EXPECT_EQ(b.host.take_events().size(), Limits().strangers);
  }
  /// A request of `a`, which is held.
  void ask() {
    use_up();
    b.host.take_sent();
    active = *a.manager.connect(request(), now);
    EXPECT_EQ(deliver(a, b), Messages{Message::req});
    EXPECT_TRUE(b.host.events.empty());
  }
  /// The id that the answer to a REQ names.
  std::uint32_t id_in_question() { return decode<Dreq>(b.host.sent.back().mad).local_id; }
};

TEST_F(Held, WhoAnswersIsToldInOneRoundTrip) {
  ask();
  EXPECT_EQ(deliver(b, a), Messages{Message::dreq});
  EXPECT_TRUE(a.host.reasons.empty()) << "nothing to explain";
  EXPECT_EQ(deliver(a, b), Messages{Message::drep});
  const auto told = b.event();
  ASSERT_EQ(told.kind, EventKind::request);
  EXPECT_EQ(told.path.remote, path().local);
  EXPECT_EQ(told.endpoint.qpn, Qpn(0x11));
  EXPECT_EQ(told.listener, listener);
  ASSERT_TRUE(b.manager.reply(told.id, reply(), now));
  deliver(b, a);
  ASSERT_EQ(a.event().kind, EventKind::reply);
  ASSERT_TRUE(a.manager.confirm(active, {}, now));
  deliver(a, b);
  EXPECT_EQ(b.event().kind, EventKind::established);
}

TEST_F(Held, TheAllowanceComesBackWithTime) {
  ask();
  now += Duration(std::chrono::seconds(1)) / Limits().strangers_a_second;
  forge(1000);
  EXPECT_EQ(b.event().kind, EventKind::request);
  forge(1001);
  EXPECT_TRUE(b.host.events.empty());
  now += std::chrono::hours(1);
  for (std::uint32_t i = 2000; i < 3000; ++i) forge(i);
  EXPECT_EQ(b.host.take_events().size(), Limits().strangers) << "no more than at first";
}

TEST_F(Held, WhoDoesNotAnswerIsToldWhenItRepeatsItself) {
  ask();
  lose(b);
  now += std::chrono::seconds(1);
  while (a.host.sent.empty()) wait(a);
  b.manager.advance(now);
  deliver(a, b);
  EXPECT_EQ(b.event().kind, EventKind::request);
}

TEST_F(Held, ASignOfLifeIsTheSendersOwn) {
  ask();
  Drep drep;
  drep.local_id = active.value;
  drep.remote_id = id_in_question();
  const mad::Address its = b.host.sent.back().to;
  mad::Address from = its;
  from.remote = wire::Gid::from_ipv4_be(0x0900000a);
  b.manager.receive(from, encode(drep, 1), now);
  EXPECT_TRUE(b.host.events.empty()) << "another host";
  drep.remote_id ^= 1;
  b.manager.receive(its, encode(drep, 1), now);
  EXPECT_TRUE(b.host.events.empty()) << "another ID";
  drep.remote_id ^= 1;
  b.manager.receive(its, encode(drep, 1), now);
  EXPECT_EQ(b.event().kind, EventKind::request);
  b.manager.receive(its, encode(drep, 1), now);
  EXPECT_TRUE(b.host.events.empty()) << "once";
}

// Linux answers any DREQ. So a forged REQ may be told, but its sender is to get no more for it than before.
TEST_F(Held, AnAnswerProvesNothing) {
  ask();
  deliver(b, a);
  deliver(a, b);
  passive = b.event().id;
  ASSERT_TRUE(b.manager.reply(passive, reply(), now));
  for (int i = 0; i < 20; ++i)
    if (b.manager.deadline() != kNever) wait(b);
  EXPECT_LE(b.host.take_sent().size(), 3U) << "a REQ and a DREP came, and the question has gone already";
}

// With the two IDs of the connection that comes about it would be that connection's DREQ.
TEST_F(Held, AQuestionThatComesLateEndsNothing) {
  ask();
  const auto question = b.host.sent.back();
  deliver(b, a);
  deliver(a, b);
  passive = b.event().id;
  ASSERT_TRUE(b.manager.reply(passive, reply(), now));
  deliver(b, a);
  ASSERT_TRUE(a.manager.confirm(active, {}, now));
  a.host.take_events();
  a.manager.receive(turned_round(question.to), question.mad, now);
  EXPECT_EQ(a.manager.state(active), State::established);
  deliver(a, b);
  EXPECT_EQ(b.event().kind, EventKind::established);
  EXPECT_EQ(b.manager.state(passive), State::established);
}

// What nobody answers may lie in the kernel for as long as it looks for a neighbour.
TEST_F(Held, AnAddressThatDoesNotAnswerIsAskedNoMore) {
  use_up();
  b.host.take_sent();
  constexpr std::uint32_t kRequests = 100;
  for (std::uint32_t i = 0; i < kRequests; ++i) (void)*a.manager.connect(request(i + 1), now);
  deliver(a, b);
  EXPECT_EQ(b.host.sent.size(), Limits().asked_peer);
  EXPECT_EQ(b.manager.size(), Limits().strangers + kRequests);
  for (std::uint32_t i = 0; i < kRequests; ++i) deliver(b, a), deliver(a, b);
  EXPECT_EQ(b.host.take_events().size(), kRequests) << "each answer lets the next be asked";
}

TEST_F(Held, IsForgottenWithoutAWord) {
  ask();
  EXPECT_EQ(b.manager.size(), Limits().strangers + 1);
  wait(b);
  EXPECT_EQ(b.manager.size(), Limits().strangers);
  EXPECT_EQ(lose(b), Messages{Message::dreq});
  EXPECT_TRUE(b.host.events.empty());
}

TEST_F(Held, ItsSenderTakesItBack) {
  ask();
  a.manager.destroy(active, now);
  EXPECT_EQ(deliver(a, b), Messages{Message::rej});
  EXPECT_EQ(b.manager.size(), Limits().strangers);
  EXPECT_TRUE(b.host.events.empty());
}

TEST_F(Held, ItsListenerGoes) {
  ask();
  b.manager.unlisten(listener);
  deliver(b, a);
  deliver(a, b);
  EXPECT_EQ(deliver(b, a), Messages{Message::rej});
  EXPECT_EQ(a.event().rejection, RejectReason::invalid_service_id);
  EXPECT_EQ(b.manager.size(), Limits().strangers);
}

TEST_F(Held, AFloodIsBoundedAndKeepsNobodyWaiting) {
  use_up();
  for (std::uint32_t i = 1000; i < 50000; ++i) forge(i);
  EXPECT_EQ(b.manager.size(), Limits().strangers + Limits().asked);
  b.host.take_sent(), b.host.reasons.clear();
  active = *a.manager.connect(request(), now);
  deliver(a, b), deliver(b, a), deliver(a, b);
  EXPECT_EQ(b.event().kind, EventKind::request);
}

TEST_F(Held, OneSenderDoesNotPushOutOthers) {
  End small(0xb, {.strangers = 0, .held = 100, .held_peer = 2, .asked_peer = 1});
  ASSERT_TRUE(small.manager.listen(kService));
  active = *a.manager.connect(request(), now);
  deliver(a, small);
  const auto question = small.host.take_sent().at(0);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    mad::Address from;
    from.local = path().remote;
    from.remote = wire::Gid::from_ipv4_be(0x0900000a);
    Req req;
    req.local_id = i;
    req.service_id = kService;
    req.mtu = 3;
    req.primary.local_gid = from.remote;
    small.manager.receive(from, encode(req, i), now);
  }
  EXPECT_EQ(small.manager.size(), 4U) << "one asked, two held";
  a.manager.receive(turned_round(question.to), question.mad, now);
  deliver(a, small);
  EXPECT_EQ(small.event().kind, EventKind::request);
}

TEST_F(Held, InAFullTableItHasItsPlaceAlready) {
  End small(0xb, {.strangers = 1, .strangers_a_second = 1, .connections = 3});
  ASSERT_TRUE(small.manager.listen(kService));
  for (const std::uint32_t qpn : {1U, 2U, 3U}) {
    (void)*a.manager.connect(request(qpn), now);
    deliver(a, small);
  }
  EXPECT_EQ(small.event().endpoint.qpn, Qpn(1));
  deliver(small, a), deliver(a, small);
  EXPECT_EQ(small.host.take_events().size(), 2U) << "nobody was given up";
  EXPECT_EQ(small.manager.size(), 3U);
}

TEST_F(Held, InAFullTableItGoesBeforeThoseTheHostKnows) {
  End small(0xb, {.strangers = 1, .strangers_a_second = 1, .connections = 2});
  ASSERT_TRUE(small.manager.listen(kService));
  for (const std::uint32_t qpn : {1U, 2U, 3U}) {
    (void)*a.manager.connect(request(qpn), now);
    deliver(a, small);
  }
  const Id known = small.event().id;
  EXPECT_EQ(small.manager.size(), 2U);
  EXPECT_EQ(small.manager.state(known), State::req_received);
  deliver(small, a), deliver(a, small);
  EXPECT_EQ(small.event().endpoint.qpn, Qpn(3));
}

}  // namespace
}  // namespace softrnic::cm
