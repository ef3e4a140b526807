#include "base/reason_id.h"
#include "mad/class_port_info.h"
#include "tests/unit/cm/pair.h"

namespace softrnic::cm {
namespace {

using ManagerOf = Pair;

mad::Address somewhere(std::uint32_t last = 1) {
  mad::Address from;
  from.local = wire::Gid::from_ipv4_be(0x0200000a);
  from.remote = wire::Gid::from_ipv4_be(last << 24 | 0x0a);
  return from;
}

Req req_number(std::uint32_t number) {
  Req req;
  req.primary.local_gid = somewhere().remote;
  req.primary.remote_gid = somewhere().local;
  req.local_id = number;
  req.service_id = kService;
  req.ca_guid = 0xa;
  req.qpn = Qpn(number);
  req.mtu = 3;
  return req;
}

TEST_F(ManagerOf, ClassPortInfoIsAnswered) {
  mad::Mad ask{};
  mad::Header header;
  header.management_class = mad::ManagementClass::communication;
  header.class_version = kClassVersion;
  header.method = mad::Method::get;
  header.attribute = mad::kClassPortInfo;
  header.transaction = 0x1234;
  const auto answer = [&] {
    mad::encode_header(header, ask);
    b.manager.receive(somewhere(), ask, now);
    const auto sent = b.host.take_sent();
    EXPECT_EQ(sent.size(), 1U);
    return sent.front().mad;
  };
  mad::Mad mad = answer();
  EXPECT_EQ(mad::parse_header(mad)->method, mad::Method::get_response);
  EXPECT_EQ(mad::parse_header(mad)->transaction, 0x1234U);
  EXPECT_EQ(mad::parse_header(mad)->status, 0);
  EXPECT_EQ(mad::decode_class_port_info(Bytes(mad).subspan(mad::kHeaderBytes)).class_version, kClassVersion);
  header.attribute = 0x99;
  EXPECT_EQ(mad::parse_header(answer())->status, 3 << 2);
  header.class_version = 9;
  EXPECT_EQ(mad::parse_header(answer())->status, 1 << 2);
}

TEST_F(ManagerOf, NoiseIsDroppedAndExplained) {
  mad::Mad mad = encode(Rtu{}, 1);
  b.manager.receive(somewhere(), Bytes(mad).first(100), now);
  EXPECT_EQ(b.host.reasons.back().id, ReasonId::cm_drop_malformed);
  mad[2] = std::byte{1};
  b.manager.receive(somewhere(), mad, now);
  EXPECT_EQ(b.host.reasons.back().id, ReasonId::cm_drop_malformed);
  mad = encode(Drep{}, 1);
  b.manager.receive(somewhere(), mad, now);
  EXPECT_EQ(b.host.reasons.back().id, ReasonId::cm_drop_unknown_id);
  mad[17] = std::byte{0x33};
  b.manager.receive(somewhere(), mad, now);
  EXPECT_EQ(b.host.reasons.back().id, ReasonId::cm_drop_unknown);
  EXPECT_EQ(b.host.reasons.size(), 4U);
  EXPECT_TRUE(b.host.sent.empty());
  EXPECT_TRUE(b.host.events.empty());
}

TEST_F(ManagerOf, RangesOfListenersDoNotOverlap) {
  EXPECT_EQ(b.manager.listen(kService).error().error, EADDRINUSE);
  EXPECT_EQ(b.manager.listen(ServiceId(0x1060000), ~0xffffULL).error().error, EADDRINUSE);
  b.manager.unlisten(listener);
  const auto range = b.manager.listen(ServiceId(0x1060000), ~0xffffULL);
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(b.manager.listen(kService).error().error, EADDRINUSE);
  b.manager.receive(somewhere(), encode(req_number(1), 1), now);
  EXPECT_EQ(b.event().listener, *range);
  b.manager.unlisten(*range);
  EXPECT_TRUE(b.manager.listen(kService).has_value());
}

TEST_F(ManagerOf, RefusedRequestsAreBounded) {
  End small(0xb, {.refused = 5, .refused_peer = 3, .connections = 100});
  ASSERT_TRUE(small.manager.listen(kService));
  small.host.on_event = [&](const testing::CmEvent& event) {
    if (event.kind == EventKind::request) {
      EXPECT_TRUE(small.manager.reject(event.id, {.reason = RejectReason::no_resources}, now));
    }
    small.manager.destroy(event.id, now);
  };
  const auto ask = [&](std::uint32_t peer, const mad::Mad& mad) {
    small.manager.receive(somewhere(peer), mad, now);
    EXPECT_EQ(lose(small).size(), 1U) << "each is answered";
    return small.manager.size();
  };
  for (std::uint32_t i = 1; i <= 3; ++i) EXPECT_EQ(ask(1, encode(req_number(i), i)), i);
  EXPECT_EQ(ask(1, encode(req_number(4), 4)), 3U);
  SidrReq question;
  question.service_id = kService;
  for (question.request_id = 1; question.request_id <= 2; ++question.request_id)
    EXPECT_EQ(ask(3, encode(question, 1)), 3U + question.request_id);
  EXPECT_EQ(ask(3, encode(question, 1)), 5U);
  EXPECT_EQ(small.host.take_events().size(), 7U);
  EXPECT_EQ(ask(1, encode(req_number(1), 1)), 5U);
  EXPECT_TRUE(small.host.events.empty()) << "the first one is remembered";
  ask(1, encode(req_number(4), 4));
  EXPECT_EQ(small.event().kind, EventKind::request);
  while (small.manager.deadline() != kNever) wait(small);
  EXPECT_EQ(small.manager.size(), 0U);
}

TEST_F(ManagerOf, AllIdsTogetherAreBounded) {
  End small(0xb, {.half_open = 5, .half_open_peer = 5, .connections = 2});
  ASSERT_TRUE(small.manager.connect(request(1), now));
  ASSERT_TRUE(small.manager.connect(request(2), now));
  EXPECT_EQ(small.manager.connect(request(3), now).error().error, EMFILE);
  EXPECT_EQ(small.manager.request_service_id({}, now).error().reason.id, ReasonId::cm_too_many_ids);
  ASSERT_FALSE(small.manager.listen(kService).has_value());
}

TEST_F(ManagerOf, AFullTableDropsRequests) {
  End small(0xb, {.half_open = 5, .half_open_peer = 5, .connections = 1});
  ASSERT_TRUE(small.manager.listen(kService));
  ASSERT_TRUE(small.manager.connect(request(1), now));
  small.host.take_sent();
  small.manager.receive(somewhere(), encode(req_number(1), 1), now);
  EXPECT_EQ(small.host.reasons.back().id, ReasonId::cm_too_many_ids);
  EXPECT_TRUE(small.host.sent.empty());
  EXPECT_TRUE(small.host.events.empty());
}

TEST_F(ManagerOf, AHostMayDestroyFromItsEvent) {
  b.host.on_event = [&](const testing::CmEvent& event) { b.manager.destroy(event.id, now); };
  active = *a.manager.connect(request(), now);
  deliver(a, b);
  a.host.on_event = [&](const testing::CmEvent& event) { a.manager.destroy(event.id, now); };
  EXPECT_EQ(deliver(b, a), Messages{Message::rej});
  Request slow = request(0x99);
  slow.max_cm_retries = 0;
  (void)*a.manager.connect(slow, now);
  wait(a);
  expect_forgotten();
}

TEST_F(ManagerOf, OneManagerConnectsToItself) {
  Request wish = request();
  std::swap(wish.path.local, wish.path.remote);
  wish.path.remote = wish.path.local;
  active = *b.manager.connect(wish, now);
  deliver(b, b);
  passive = b.event().id;
  ASSERT_TRUE(b.manager.reply(passive, reply(), now));
  deliver(b, b);
  EXPECT_EQ(b.event().id, active);
  ASSERT_TRUE(b.manager.confirm(active, {}, now));
  deliver(b, b);
  EXPECT_EQ(b.event().kind, EventKind::established);
  b.manager.destroy(active, now);
  deliver(b, b);
  EXPECT_EQ(b.event().kind, EventKind::disconnect_request);
  b.manager.destroy(passive, now);
  deliver(b, b);
  expect_forgotten();
}

}  // namespace
}  // namespace softrnic::cm
