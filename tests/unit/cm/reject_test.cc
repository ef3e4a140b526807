#include "base/reason_id.h"
#include "base/reason_words.h"
#include "tests/unit/cm/pair.h"

namespace softrnic::cm {
namespace {

class Reject : public Pair {
 protected:
  /// The REJ that `b` answers a REQ with, after `change` has been done to it.
  template <typename Change>
  Rej answer_to(Change change) {
    active = *a.manager.connect(request(), now);
    const auto sent = a.host.take_sent().front();
    Req req = decode<Req>(sent.mad);
    change(req);
    b.manager.receive(turned_round(sent.to), encode(req, 77), now);
    EXPECT_EQ(b.host.sent.size(), 1U);
    const auto rej = b.host.take_sent().front();
    EXPECT_EQ(rej.message(), Message::rej);
    EXPECT_EQ(load_be64(&rej.mad[8]), 77U);
    return decode<Rej>(rej.mad);
  }
};

TEST_F(Reject, NobodyListens) {
  const Rej rej = answer_to([](Req& req) { req.service_id = ServiceId(1); });
  EXPECT_EQ(rej.reason, RejectReason::invalid_service_id);
  EXPECT_EQ(rej.about, About::req);
  EXPECT_EQ(rej.local_id, 0U);
  EXPECT_EQ(rej.remote_id, active.value);
  EXPECT_EQ(b.host.reasons.back().id, ReasonId::cm_no_listener);
  EXPECT_EQ(b.manager.size(), 0U);
  mad::Address from;
  from.local = path().local;
  from.remote = path().remote;
  a.manager.receive(from, encode(rej, 77), now);
  const auto event = a.event();
  EXPECT_EQ(event.kind, EventKind::rejected);
  EXPECT_EQ(event.rejection, RejectReason::invalid_service_id);
  EXPECT_EQ(describe(event.reason),
            "nobody listens at the peer for service ID 0x1061c06 (reject reason 8, invalid service ID)");
  EXPECT_EQ(a.manager.state(active), State::idle);
}

TEST_F(Reject, ServicesAndMtusThatDoNotExist) {
  EXPECT_EQ(answer_to([](Req& req) { req.transport_service = kTransportRd; }).reason,
            RejectReason::invalid_transport_service);
  EXPECT_EQ(answer_to([](Req& req) { req.transport_service = 3, req.extended_transport = 5; }).reason,
            RejectReason::invalid_transport_service);
  EXPECT_EQ(answer_to([](Req& req) { req.mtu = 0; }).reason, RejectReason::invalid_mtu);
  EXPECT_EQ(answer_to([](Req& req) { req.mtu = 6; }).reason, RejectReason::invalid_mtu);
  EXPECT_EQ(b.manager.size(), 0U);
}

TEST_F(Reject, EveryReasonArrivesWithItsDataAndItsWords) {
  for (unsigned number = 1; number <= 35; ++number) {
    active = *a.manager.connect(request(0x100 + number), now);
    deliver(a, b);
    passive = b.event().id;
    const std::vector<std::byte> info(number % 73, std::byte{0xee});
    const std::array<std::byte, 148> data{std::byte{0x42}};
    const auto reason = static_cast<RejectReason>(number);
    ASSERT_TRUE(
        b.manager.reject(passive, {.reason = reason, .additional_info = info, .private_data = data}, now));
    deliver(b, a);
    const auto event = a.event();
    EXPECT_EQ(event.kind, EventKind::rejected);
    EXPECT_EQ(event.rejection, reason);
    EXPECT_EQ(event.additional_info.size(), reason == RejectReason::timeout ? 4 : info.size());
    EXPECT_TRUE(std::ranges::equal(event.private_data, data));
    EXPECT_NE(event.reason.id, ReasonId::none);
    EXPECT_EQ(a.manager.state(active),
              reason == RejectReason::stale_connection ? State::timewait : State::idle);
    a.manager.destroy(active, now);
    b.manager.destroy(passive, now);
    expect_forgotten();
  }
}

TEST_F(Reject, OfTheReply) {
  connect();
  ASSERT_TRUE(b.manager.reply(passive, reply(), now));
  const auto rep = b.host.take_sent().front();
  a.manager.receive(turned_round(rep.to), rep.mad, now);
  a.host.take_events();
  ASSERT_TRUE(a.manager.reject(active, {}, now));
  const auto rej = a.host.take_sent().front();
  EXPECT_EQ(decode<Rej>(rej.mad).about, About::rep);
  a.manager.receive(turned_round(rep.to), rep.mad, now);  // the REJ was lost
  EXPECT_EQ(a.host.sent.front().mad, rej.mad);
  deliver(a, b);
  const auto event = b.event();
  EXPECT_EQ(event.kind, EventKind::rejected);
  EXPECT_EQ(event.about, About::rep);
  EXPECT_EQ(event.reason.id, ReasonId::cm_rejected_by_program);
}

TEST_F(Reject, AfterAReplyThatWasLost) {
  active = *a.manager.connect(request(), now);
  const auto req = a.host.take_sent().front();
  b.manager.receive(turned_round(req.to), req.mad, now);
  passive = b.event().id;
  ASSERT_TRUE(b.manager.reply(passive, reply(), now));
  ASSERT_TRUE(b.manager.reject(passive, {}, now));
  EXPECT_EQ(decode<Rej>(b.host.sent.back().mad).about, About::other);
  lose(b);
  b.manager.receive(turned_round(req.to), req.mad, now);
  EXPECT_EQ(decode<Rej>(b.host.sent.back().mad).about, About::req);  // Linux takes no other before the REP
  deliver(b, a);
  EXPECT_EQ(a.event().rejection, RejectReason::consumer_defined);
}

TEST_F(Reject, ARepForNobodyIsRefused) {
  connect();
  ASSERT_TRUE(b.manager.reply(passive, reply(), now));
  a.manager.destroy(active, now);
  EXPECT_EQ(lose(a), Messages{Message::rej});
  deliver(b, a);
  EXPECT_EQ(deliver(a, b), Messages{Message::rej});
  EXPECT_EQ(b.event().rejection, RejectReason::invalid_communication_id);
}

TEST_F(Reject, AnRtuForARefusedReplyIsRefusedAgain) {
  connect();
  ASSERT_TRUE(b.manager.reply(passive, reply(), now));
  deliver(b, a);
  a.host.take_events();
  ASSERT_TRUE(b.manager.reject(passive, {}, now));
  lose(b);
  ASSERT_TRUE(a.manager.confirm(active, {}, now));
  deliver(a, b);
  EXPECT_EQ(deliver(b, a), Messages{Message::rej});
  EXPECT_EQ(a.event().kind, EventKind::rejected);
  EXPECT_EQ(a.manager.state(active), State::timewait);
}

class Reborn : public Pair {
 protected:
  Reborn() { reborn.host.next_number = 0x777; }
  /// The same adapter connects the same queue pair.
  Id connect_anew() {
    (void)*reborn.manager.connect(request(), now);
    deliver(reborn, b);
    const Id fresh = b.event().id;
    EXPECT_TRUE(b.manager.reply(fresh, reply(0x23), now));
    EXPECT_EQ(deliver(b, reborn), Messages{Message::rep});
    EXPECT_TRUE(reborn.manager.confirm(reborn.event().id, {}, now));
    return fresh;
  }
  End reborn{0xa};  ///< has forgotten everything
};

TEST_F(Reborn, ItsRtuEndsTheEarlierConnectionOfItsQueuePair) {
  establish();
  const Id fresh = connect_anew();
  EXPECT_EQ(b.manager.state(passive), State::established) << "a REQ alone may be forged";
  EXPECT_EQ(deliver(reborn, b), Messages{Message::rtu});
  EXPECT_EQ(b.event().id, fresh);
  EXPECT_EQ(b.manager.state(passive), State::dreq_sent);
  EXPECT_EQ(b.host.reasons.back().id, ReasonId::cm_stale_here);
  EXPECT_EQ(deliver(b, reborn), Messages{Message::dreq});
  EXPECT_EQ(deliver(reborn, b), Messages{Message::drep});
  const auto event = b.event();
  EXPECT_EQ(event.id, passive);
  EXPECT_EQ(event.kind, EventKind::disconnect_reply);
  EXPECT_EQ(b.manager.state(fresh), State::established);
}

TEST_F(Reborn, SoDoesDataBeforeTheRtu) {
  establish();
  const Id fresh = connect_anew();
  lose(reborn);
  ASSERT_TRUE(b.manager.established(fresh, now));
  EXPECT_EQ(b.manager.state(passive), State::dreq_sent);
  EXPECT_EQ(b.manager.state(fresh), State::established);
}

TEST_F(Reborn, AConnectionThatEndsAlreadyLeavesItsPlace) {
  establish();
  ASSERT_TRUE(b.manager.disconnect(passive, {}, now));
  lose(b);
  (void)connect_anew();
  deliver(reborn, b);
  EXPECT_EQ(b.event().kind, EventKind::established);
  End again(0xa);
  again.host.next_number = 0x9999;
  (void)*again.manager.connect(request(), now);
  deliver(again, b);
  const Id last = b.event().id;
  ASSERT_FALSE(b.manager.established(last, now).has_value());
  ASSERT_TRUE(b.manager.reply(last, reply(0x24), now));
  ASSERT_TRUE(b.manager.established(last, now));
  EXPECT_EQ(b.host.reasons.back().id, ReasonId::cm_stale_here) << "of the second one";
}

TEST_F(Reborn, AConnectionIsUnlikeThatOfAnotherAdapterOrAddress) {
  establish();
  End other(0xaa);
  other.host.next_number = 0x777;
  (void)*other.manager.connect(request(), now);
  deliver(other, b);
  const Id second = b.event().id;
  ASSERT_TRUE(b.manager.reply(second, reply(0x23), now));
  ASSERT_TRUE(b.manager.established(second, now));
  EXPECT_EQ(b.manager.state(passive), State::established);
}

TEST_F(Reject, AReplyFromAQueuePairThatIsConnectedIsStale) {
  establish();
  const Id second = *a.manager.connect(request(0x12), now);
  deliver(a, b);
  ASSERT_TRUE(b.manager.reply(b.event().id, reply(), now));  // QP 0x22 again
  deliver(b, a);
  const auto sent = lose(a);
  EXPECT_EQ(sent, (Messages{Message::rej, Message::dreq}));
  const auto event = a.event();
  EXPECT_EQ(event.id, second);
  EXPECT_EQ(event.rejection, RejectReason::stale_connection);
  EXPECT_EQ(a.manager.state(active), State::dreq_sent);
}

}  // namespace
}  // namespace softrnic::cm
