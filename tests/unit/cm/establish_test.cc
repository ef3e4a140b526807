#include "base/reason_id.h"
#include "tests/unit/cm/pair.h"

namespace softrnic::cm {
namespace {

using Establish = Pair;

TEST_F(Establish, BothSidesLearnWhatTheOtherSays) {
  Request wish = request();
  wish.service = Service::uc;
  wish.endpoint.qkey = 0x77;
  wish.endpoint.responder_resources = 5;
  wish.endpoint.initiator_depth = 6;
  wish.endpoint.rnr_retry_count = 7;
  wish.endpoint.flow_control = wish.endpoint.srq = true;
  wish.endpoint.ece = {0x15b3, 0x1234};
  wish.path.traffic_class = 0x20;
  wish.path.flow_label = 0xabcde;
  wish.path.sl = 3;
  wish.path.rate = 9;
  wish.retry_count = 4;
  wish.local_response_timeout = 19;
  const std::array<std::byte, 92> data{std::byte{1}, std::byte{2}};
  wish.private_data = data;
  active = *a.manager.connect(wish, now);
  deliver(a, b);
  const auto event = b.event();
  EXPECT_EQ(event.kind, EventKind::request);
  EXPECT_EQ(event.listener, listener);
  EXPECT_EQ(event.service, Service::uc);
  EXPECT_EQ(event.service_id, kService);
  EXPECT_EQ(event.path.local, wish.path.remote);
  EXPECT_EQ(event.path.remote, wish.path.local);
  EXPECT_EQ(event.path.traffic_class, 0x20);
  EXPECT_EQ(event.path.flow_label, 0xabcdeU);
  EXPECT_EQ(event.path.sl, 3);
  EXPECT_EQ(event.path.rate, 9);
  EXPECT_EQ(event.path.mtu, 3);
  EXPECT_EQ(event.path.ack_timeout, 17);
  EXPECT_EQ(event.endpoint.qpn, Qpn(0x11));
  EXPECT_EQ(event.endpoint.qkey, 0x77U);
  EXPECT_EQ(event.endpoint.starting_psn, 0x123456U);
  EXPECT_EQ(event.endpoint.responder_resources, 5);
  EXPECT_EQ(event.endpoint.initiator_depth, 6);
  EXPECT_EQ(event.endpoint.rnr_retry_count, 7);
  EXPECT_TRUE(event.endpoint.flow_control && event.endpoint.srq);
  EXPECT_EQ(event.endpoint.ca_guid, 0xaU);
  EXPECT_EQ(event.endpoint.ece, (Ece{0x15b3, 0x1234}));
  EXPECT_EQ(event.retry_count, 4);
  EXPECT_EQ(event.local_response_timeout, 20);
  EXPECT_EQ(event.remote_response_timeout, 19);
  EXPECT_TRUE(std::ranges::equal(event.private_data, data));

  Reply answer = reply();
  answer.endpoint.ece = {0xfedcba, 9};
  answer.target_ack_delay = 12;
  ASSERT_TRUE(b.manager.reply(event.id, answer, now));
  deliver(b, a);
  const auto told = a.event();
  EXPECT_EQ(told.kind, EventKind::reply);
  EXPECT_EQ(told.endpoint.qpn, Qpn(0x22));
  EXPECT_EQ(told.endpoint.ca_guid, 0xbU);
  EXPECT_EQ(told.endpoint.ece, (Ece{0xfedcba, 9}));
  EXPECT_EQ(told.target_ack_delay, 12);
  EXPECT_EQ(told.private_data.size(), kRepPrivateData);
}

TEST_F(Establish, XrcHidesItsQueuePairInTheEecField) {
  Request wish = request();
  wish.service = Service::xrc;
  wish.endpoint.initiator_depth = 4;
  wish.endpoint.responder_resources = 3;
  wish.endpoint.rnr_retry_count = 2;
  wish.endpoint.srq = true;
  active = *a.manager.connect(wish, now);
  deliver(a, b);
  const auto event = b.event();
  EXPECT_EQ(event.service, Service::xrc);
  EXPECT_EQ(event.endpoint.initiator_depth, 4);
  // An initiator answers nothing, a target repeats nothing: as Linux' ib_cm fills in its REQ.
  EXPECT_EQ(event.endpoint.responder_resources, 0);
  EXPECT_EQ(event.retry_count, 0);
  EXPECT_EQ(event.endpoint.rnr_retry_count, 0);
  EXPECT_FALSE(event.endpoint.srq);
  ASSERT_TRUE(b.manager.reply(event.id, reply(0x33), now));
  EXPECT_EQ(decode<Rep>(b.host.sent.front().mad).eecn, 0x33U);
  deliver(b, a);
  EXPECT_EQ(a.event().endpoint.qpn, Qpn(0x33));
}

TEST_F(Establish, TheReqIsRepeatedAndThenGivenUp) {
  active = *a.manager.connect(request(), now);
  // 4.3 s for the peer and twice 0.27 s for the way
  const Duration interval = duration_of(20) + 2 * duration_of(16);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(lose(a), Messages{Message::req});
    EXPECT_EQ(a.manager.deadline(), now + interval);
    EXPECT_TRUE(a.host.events.empty());
    wait(a);
  }
  const auto event = a.event();
  EXPECT_EQ(event.kind, EventKind::unreachable);
  EXPECT_EQ(event.reason.id, ReasonId::cm_req_timeout);
  EXPECT_EQ(event.reason.figures[1], 16U);
  EXPECT_EQ(lose(a), Messages{Message::rej});
  EXPECT_EQ(a.manager.state(active), State::idle);
  a.manager.destroy(active, now);
  EXPECT_EQ(a.manager.size(), 0U);
}

TEST_F(Establish, GivingUpTellsAPeerThatHasNotAnswered) {
  connect();
  while (a.host.events.empty()) {
    a.host.take_sent();
    wait(a);
  }
  deliver(a, b);
  const auto event = b.event();
  EXPECT_EQ(event.kind, EventKind::rejected);
  EXPECT_EQ(event.rejection, RejectReason::timeout);
  EXPECT_EQ(event.additional_info.size(), 8U);
  EXPECT_EQ(event.reason.id, ReasonId::cm_rejected_timeout);
}

TEST_F(Establish, ARepeatedReqIsAnsweredAsTheFirstWas) {
  active = *a.manager.connect(request(), now);
  const auto req = a.host.take_sent().front();
  const auto again = [&] { b.manager.receive(turned_round(req.to), req.mad, now); };
  again();
  passive = b.event().id;
  again();  // the host has not answered: silence
  EXPECT_TRUE(b.host.sent.empty());
  ASSERT_TRUE(b.manager.delay(passive, 10, {}, now));
  EXPECT_EQ(lose(b), Messages{Message::mra});
  again();
  EXPECT_EQ(lose(b), Messages{Message::mra});
  ASSERT_TRUE(b.manager.reply(passive, reply(), now));
  const auto rep = b.host.take_sent().front();
  again();
  EXPECT_EQ(b.host.sent.front().mad, rep.mad);
  b.host.take_sent();
  ASSERT_TRUE(b.manager.reject(passive, {}, now));
  Rej rej = decode<Rej>(b.host.take_sent().front().mad);
  rej.about = About::req;
  again();
  EXPECT_EQ(to_string(decode<Rej>(b.host.sent.front().mad)), to_string(rej));
  EXPECT_TRUE(b.host.events.empty());
}

TEST_F(Establish, ARepeatedRepGetsTheRtuAgain) {
  connect();
  ASSERT_TRUE(b.manager.reply(passive, reply(), now));
  deliver(b, a);
  const std::array<std::byte, 2> data{std::byte{7}, std::byte{8}};
  ASSERT_TRUE(a.manager.confirm(active, data, now));
  EXPECT_EQ(lose(a), Messages{Message::rtu});
  wait(b);
  EXPECT_EQ(deliver(b, a), Messages{Message::rep});
  EXPECT_EQ(deliver(a, b), Messages{Message::rtu});
  const auto event = b.event();
  EXPECT_EQ(event.kind, EventKind::established);
  EXPECT_EQ(event.private_data[1], std::byte{8});
  EXPECT_EQ(b.manager.deadline(), kNever);
}

TEST_F(Establish, ARepThatIsNeverConfirmedIsGivenUp) {
  connect();
  ASSERT_TRUE(b.manager.reply(passive, reply(), now));
  const TimePoint begin = now;
  const Duration interval = b.manager.deadline() - now;
  while (b.host.events.empty()) wait(b);
  EXPECT_EQ(lose(b), (Messages{Message::rep, Message::rep, Message::rep}));
  EXPECT_EQ(now - begin, 16 * interval) << "an RTU may still come when no REP goes out any more";
  const auto event = b.event();
  EXPECT_EQ(event.kind, EventKind::unreachable);
  EXPECT_EQ(event.reason.id, ReasonId::cm_rep_timeout);
}

TEST_F(Establish, TheRtuIsSentThreeTimesUnasked) {
  connect();
  ASSERT_TRUE(b.manager.reply(passive, reply(), now));
  deliver(b, a);
  a.host.take_events();
  ASSERT_TRUE(a.manager.confirm(active, {}, now));
  EXPECT_EQ(lose(a), Messages{Message::rtu});
  wait(a);
  EXPECT_EQ(lose(a), Messages{Message::rtu});
  wait(a);
  EXPECT_EQ(a.manager.deadline(), kNever);
  EXPECT_EQ(deliver(a, b), Messages{Message::rtu});
  EXPECT_EQ(b.event().kind, EventKind::established);
}

TEST_F(Establish, DataBeforeTheRtuEstablishes) {
  connect();
  ASSERT_TRUE(b.manager.reply(passive, reply(), now));
  deliver(b, a);
  ASSERT_TRUE(b.manager.established(passive, now));
  EXPECT_EQ(b.event().kind, EventKind::established);
  EXPECT_EQ(b.manager.established(passive, now).error().error, EISCONN);
  ASSERT_TRUE(a.manager.confirm(active, {}, now));
  deliver(a, b);
  EXPECT_TRUE(b.host.events.empty());
}

TEST_F(Establish, AnMraBuysTime) {
  connect();
  ASSERT_TRUE(b.manager.delay(passive, 22, {}, now));
  deliver(b, a);
  const auto event = a.event();
  EXPECT_EQ(event.kind, EventKind::delayed);
  EXPECT_EQ(event.service_timeout, 22);
  EXPECT_EQ(a.manager.state(active), State::mra_req_received);
  EXPECT_EQ(a.manager.deadline(), now + duration_of(22) + 2 * duration_of(16));
  ASSERT_TRUE(b.manager.reply(passive, reply(), now));
  deliver(b, a);
  EXPECT_EQ(a.event().kind, EventKind::reply);
  ASSERT_TRUE(a.manager.delay(active, 21, {}, now));
  deliver(a, b);
  EXPECT_EQ(b.manager.state(passive), State::mra_rep_received);
  EXPECT_EQ(b.event().about, About::rep);
  ASSERT_TRUE(a.manager.confirm(active, {}, now));
  deliver(a, b);
  EXPECT_EQ(b.event().kind, EventKind::established);
}

TEST_F(Establish, NoPeerIsRememberedForHours) {
  active = *a.manager.connect(request(), now);
  auto req = a.host.take_sent().front();
  req.mad[mad::kHeaderBytes + 47] = std::byte{0xff};  // local response timeout 31: 2.4 hours
  b.manager.receive(turned_round(req.to), req.mad, now);
  ASSERT_TRUE(b.manager.reply(b.event().id, reply(), now));
  EXPECT_LE(b.manager.deadline() - now, std::chrono::seconds(10));
}

TEST_F(Establish, RefusesWhatDoesNotFit) {
  Request wish = request();
  const std::vector<std::byte> data(93);
  wish.private_data = data;
  EXPECT_EQ(a.manager.connect(wish, now).error().reason.id, ReasonId::cm_data_too_long);
  wish.private_data = {};
  wish.endpoint.qpn = Qpn(0x1000000);
  EXPECT_EQ(a.manager.connect(wish, now).error().reason.id, ReasonId::cm_bad_value);
  EXPECT_EQ(a.manager.size(), 0U);
  connect();
  EXPECT_EQ(a.manager.confirm(active, {}, now).error().error, EINVAL);
  EXPECT_EQ(a.manager.confirm(Id(1), {}, now).error().error, ENOENT);
  Reply answer = reply();
  answer.endpoint.starting_psn = 1 << 24;
  EXPECT_EQ(b.manager.reply(passive, answer, now).error().error, EINVAL);
}

}  // namespace
}  // namespace softrnic::cm
