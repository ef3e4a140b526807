#include "base/reason_id.h"
#include "tests/unit/cm/pair.h"

namespace softrnic::cm {
namespace {

using Disconnects = Pair;

TEST_F(Disconnects, DreqAndDrep) {
  establish();
  const std::array<std::byte, 1> data{std::byte{5}};
  ASSERT_TRUE(a.manager.disconnect(active, data, now));
  EXPECT_EQ(a.manager.disconnect(active, {}, now).error().error, EINVAL);
  EXPECT_EQ(deliver(a, b), Messages{Message::dreq});
  const auto asked = b.event();
  EXPECT_EQ(asked.kind, EventKind::disconnect_request);
  EXPECT_EQ(asked.private_data[0], std::byte{5});
  EXPECT_EQ(asked.private_data.size(), kDreqPrivateData);
  ASSERT_TRUE(b.manager.disconnect_reply(passive, {}, now));
  EXPECT_EQ(deliver(b, a), Messages{Message::drep});
  EXPECT_EQ(a.event().kind, EventKind::disconnect_reply);
  wait(a);
  EXPECT_EQ(a.event().kind, EventKind::timewait_exit);
  EXPECT_EQ(a.manager.state(active), State::idle);
  wait(b);
  EXPECT_EQ(b.event().kind, EventKind::timewait_exit);
  a.manager.destroy(active, now);
  b.manager.destroy(passive, now);
  expect_forgotten();
}

TEST_F(Disconnects, ALostDrepIsSentAgainInTimewaitAndAfterIt) {
  establish();
  ASSERT_TRUE(a.manager.disconnect(active, {}, now));
  const auto dreq = a.host.take_sent().front();
  const auto again = [&] { b.manager.receive(turned_round(dreq.to), dreq.mad, now); };
  again();
  const std::array<std::byte, 1> data{std::byte{9}};
  ASSERT_TRUE(b.manager.disconnect_reply(passive, data, now));
  const auto drep = b.host.take_sent().front();
  again();
  EXPECT_EQ(b.host.take_sent().front().mad, drep.mad);
  b.manager.destroy(passive, now);
  wait(b);
  EXPECT_EQ(b.manager.size(), 0U);
  again();
  EXPECT_EQ(deliver(b, a), Messages{Message::drep});
  EXPECT_EQ(a.event().kind, EventKind::disconnect_reply);
}

TEST_F(Disconnects, CrossingDreqsEndBothSidesOnce) {
  establish();
  ASSERT_TRUE(a.manager.disconnect(active, {}, now));
  ASSERT_TRUE(b.manager.disconnect(passive, {}, now));
  const auto from_a = a.host.take_sent();
  EXPECT_EQ(deliver(b, a), Messages{Message::dreq});
  b.manager.receive(turned_round(from_a[0].to), from_a[0].mad, now);
  EXPECT_EQ(deliver(a, b), Messages{Message::drep});
  EXPECT_EQ(deliver(b, a), Messages{Message::drep});
  EXPECT_EQ(a.event().kind, EventKind::disconnect_reply);
  EXPECT_EQ(b.event().kind, EventKind::disconnect_reply);
}

TEST_F(Disconnects, ADreqThatNobodyAnswersEndsTheConnectionAllTheSame) {
  establish();
  ASSERT_TRUE(a.manager.disconnect(active, {}, now));
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(lose(a), Messages{Message::dreq});
    wait(a);
  }
  const auto event = a.event();
  EXPECT_EQ(event.kind, EventKind::disconnect_timeout);
  EXPECT_EQ(event.reason.id, ReasonId::cm_dreq_timeout);
}

TEST_F(Disconnects, ADreqInPlaceOfTheRtuIsTaken) {
  connect();
  ASSERT_TRUE(b.manager.reply(passive, reply(), now));
  deliver(b, a);
  a.host.take_events();
  ASSERT_TRUE(a.manager.confirm(active, {}, now));
  lose(a);
  ASSERT_TRUE(a.manager.disconnect(active, {}, now));
  deliver(a, b);
  EXPECT_EQ(b.event().kind, EventKind::disconnect_request);
}

TEST_F(Disconnects, ADreqForAnotherQueuePairIsDropped) {
  establish();
  ASSERT_TRUE(a.manager.disconnect(active, {}, now));
  auto dreq = a.host.take_sent().front();
  dreq.mad[mad::kHeaderBytes + 10] ^= std::byte{1};
  b.manager.receive(turned_round(dreq.to), dreq.mad, now);
  EXPECT_EQ(b.manager.state(passive), State::established);
  EXPECT_EQ(b.host.reasons.back().id, ReasonId::cm_drop_wrong_qpn);
}

TEST_F(Disconnects, DestroyingTellsThePeerWhatItHasToKnow) {
  struct Case {
    State state;
    bool destroy_active;
    Message farewell;
    EventKind told;
  };
  const Case cases[] = {
      {State::req_received, true, Message::rej, EventKind::rejected},
      {State::req_received, false, Message::rej, EventKind::rejected},
      {State::rep_sent, false, Message::rej, EventKind::rejected},
      {State::rep_received, true, Message::rej, EventKind::rejected},
      {State::established, true, Message::dreq, EventKind::disconnect_request},
      {State::established, false, Message::dreq, EventKind::disconnect_request},
      {State::dreq_received, false, Message::drep, EventKind::disconnect_reply},
  };
  std::uint32_t qpn = 0x100;
  for (const Case& entry : cases) {
    SCOPED_TRACE(std::string(name_of(entry.state)) + (entry.destroy_active ? " active" : " passive"));
    active = *a.manager.connect(request(qpn++), now);
    deliver(a, b);
    passive = b.event().id;
    if (entry.state != State::req_received) {
      ASSERT_TRUE(b.manager.reply(passive, reply(qpn), now));
    }
    if (entry.state != State::req_received && entry.state != State::rep_sent) deliver(b, a);
    if (entry.state == State::established || entry.state == State::dreq_received) {
      ASSERT_TRUE(a.manager.confirm(active, {}, now));
      deliver(a, b);
    }
    if (entry.state == State::dreq_received) {
      ASSERT_TRUE(a.manager.disconnect(active, {}, now));
      deliver(a, b);
    }
    a.host.take_events(), b.host.take_events(), lose(b);
    End& near = entry.destroy_active ? a : b;
    End& far = entry.destroy_active ? b : a;
    near.manager.destroy(entry.destroy_active ? active : passive, now);
    EXPECT_EQ(deliver(near, far), Messages{entry.farewell});
    EXPECT_EQ(far.event().kind, entry.told);
    far.manager.destroy(entry.destroy_active ? passive : active, now);
    deliver(far, near);
    EXPECT_TRUE(near.host.events.empty());
    expect_forgotten();
  }
}

TEST_F(Disconnects, ADestroyedIdKeepsAskingThePeerToDisconnect) {
  establish();
  a.manager.destroy(active, now);
  EXPECT_EQ(lose(a), Messages{Message::dreq});
  EXPECT_EQ(a.manager.state(active), std::nullopt);
  wait(a);
  EXPECT_EQ(deliver(a, b), Messages{Message::dreq});
  EXPECT_EQ(b.event().kind, EventKind::disconnect_request);
  b.manager.destroy(passive, now);
  deliver(b, a);
  EXPECT_TRUE(a.host.events.empty());
  expect_forgotten();
}

TEST_F(Disconnects, LapIsAnsweredWithARefusal) {
  establish();
  const auto ask = [&](std::uint32_t qpn, std::uint32_t id) {
    Lap lap;
    lap.local_id = active.value;
    lap.remote_id = id;
    lap.remote_qpn = Qpn(qpn);
    mad::Address from;
    from.local = path().remote;
    from.remote = path().local;
    b.manager.receive(from, encode(lap, 5), now);
    return decode<Apr>(b.host.take_sent().front().mad).status;
  };
  EXPECT_EQ(ask(0x22, passive.value), AprStatus::not_supported);
  EXPECT_EQ(ask(0x23, passive.value), AprStatus::wrong_qpn);
  EXPECT_EQ(ask(0x22, 1), AprStatus::invalid_id);
  EXPECT_EQ(b.host.reasons.back().id, ReasonId::cm_alternate_path);
}

}  // namespace
}  // namespace softrnic::cm
