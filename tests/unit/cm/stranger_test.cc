// Attacks by hosts that are no peer of a connection, and by those that forge its peer's address.
#include <algorithm>

#include "base/reason_id.h"
#include "tests/unit/cm/pair.h"

namespace softrnic::cm {
namespace {

class Stranger : public Pair {
 protected:
  static mad::Address third_host() {
    mad::Address from;
    from.local = path().remote;
    from.remote = wire::Gid::from_ipv4_be(0x0300000a);
    return from;
  }
  /// What a host off the path writes when it knows the addresses.
  static mad::Address as_peer_of_b() {
    mad::Address from = third_host();
    from.remote = path().local;
    return from;
  }
  static mad::Address as_peer_of_a() { return turned_round(as_peer_of_b()); }

  static Req forged_req(const mad::Address& from, std::uint32_t qpn) {
    Req req;
    req.local_id = 0x1000000 + qpn;
    req.service_id = kService;
    req.ca_guid = 0xa;
    req.qpn = Qpn(qpn);
    req.mtu = 3;
    req.primary.local_gid = from.remote;
    req.primary.remote_gid = from.local;
    return req;
  }
  template <typename M>
  static mad::Mad forged(Id local, Id remote) {
    M message;
    message.local_id = local.value;
    message.remote_id = remote.value;
    return encode(message, 7);
  }

  /// The host at `b` accepts whoever asks.
  void accept_all() {
    b.host.on_event = [this](const testing::CmEvent& event) {
      if (event.kind == EventKind::request) (void)b.manager.reply(event.id, reply(0x5000), now);
    };
  }
  void expect_untouched() {
    EXPECT_EQ(a.manager.state(active), State::established);
    EXPECT_EQ(b.manager.state(passive), State::established);
  }
  std::size_t sent_to_a() {
    const auto sent = b.host.take_sent();
    return static_cast<std::size_t>(
        std::ranges::count(sent, path().local, [](const CmHost::Sent& entry) { return entry.to.remote; }));
  }
};

TEST_F(Stranger, CannotEndAConnectionByNamingItsQueuePair) {
  establish();
  accept_all();
  for (std::uint32_t qpn = 0; qpn < 0x10000; ++qpn)
    b.manager.receive(third_host(), encode(forged_req(third_host(), qpn), qpn), now);
  expect_untouched();
  EXPECT_EQ(sent_to_a(), 0U);
}

// A REQ proves nothing: its source address may be forged, and who forges it learns no number of ours.
TEST_F(Stranger, CannotEndAConnectionByNamingItsQueuePairInThePeersName) {
  establish();
  accept_all();
  for (std::uint32_t qpn = 0; qpn < 0x10000; ++qpn)
    b.manager.receive(as_peer_of_b(), encode(forged_req(as_peer_of_b(), qpn), qpn), now);
  expect_untouched();
  deliver(b, a);  // what the forger has set off reaches the peer
  deliver(a, b);
  expect_untouched();
}

TEST_F(Stranger, CannotEndAConnectionThoughItKnowsBothIds) {
  establish();
  const auto everything = [&](End& end, const mad::Address& from, Id theirs, Id ours) {
    Dreq dreq;
    dreq.local_id = theirs.value;
    dreq.remote_id = ours.value;
    dreq.remote_qpn = Qpn(&end == &a ? 0x11 : 0x22);
    Rej by_guid;
    by_guid.local_id = theirs.value;
    by_guid.reason = RejectReason::timeout;
    store_be64(by_guid.additional_info.data(), &end == &a ? 0xb : 0xa);
    for (const mad::Mad& mad :
         {encode(dreq, 7), forged<Rej>(theirs, ours), encode(by_guid, 7), forged<Drep>(theirs, ours),
          forged<Rtu>(theirs, ours), forged<Rep>(theirs, ours), forged<Mra>(theirs, ours),
          forged<Lap>(theirs, ours), forged<Apr>(theirs, ours)})
      end.manager.receive(from, mad, now);
  };
  everything(b, third_host(), active, passive);
  mad::Address elsewhere = turned_round(third_host());
  elsewhere.local = path().local;
  elsewhere.remote = third_host().remote;
  everything(a, elsewhere, passive, active);
  mad::Address other_address = as_peer_of_b();
  other_address.local = wire::Gid::from_ipv4_be(0x0900000a);
  everything(b, other_address, active, passive);
  expect_untouched();
  EXPECT_TRUE(a.host.events.empty());
  EXPECT_TRUE(b.host.events.empty());
  EXPECT_EQ(sent_to_a(), 4U) << "to the message with another address of ours: answers to what is for nobody";
}

// 12.6.7.2: a REJ for a time-out may name its sender's CA GUID in place of our ID, as long as that may be
// unknown there.
TEST_F(Stranger, CannotEndAConnectionByItsPeersIdAlone) {
  establish();
  Rej rej;
  rej.local_id = active.value;
  rej.reason = RejectReason::timeout;
  store_be64(rej.additional_info.data(), 0xa);
  b.manager.receive(as_peer_of_b(), encode(rej, 7), now);
  expect_untouched();
}

TEST_F(Stranger, IsNotHeardWhileAConnectionComesAbout) {
  const mad::Address elsewhere = [] {
    mad::Address from;
    from.local = path().local;
    from.remote = wire::Gid::from_ipv4_be(0x0300000a);
    return from;
  }();
  connect();
  a.manager.receive(elsewhere, forged<Rej>(Id(9), active), now);
  a.manager.receive(elsewhere, forged<Mra>(Id(9), active), now);
  a.manager.receive(elsewhere, forged<Rep>(Id(9), active), now);
  EXPECT_EQ(a.manager.state(active), State::req_sent);
  b.manager.receive(third_host(), forged<Rej>(active, passive), now);
  EXPECT_EQ(b.manager.state(passive), State::req_received);
  ASSERT_TRUE(b.manager.reply(passive, reply(), now));
  b.manager.receive(third_host(), forged<Rtu>(active, passive), now);
  b.manager.receive(third_host(), forged<Rej>(active, passive), now);
  b.manager.receive(third_host(), forged<Mra>(active, passive), now);
  EXPECT_EQ(b.manager.state(passive), State::rep_sent);
  EXPECT_EQ(b.host.reasons.back().id, ReasonId::cm_drop_wrong_peer);
  deliver(b, a);
  EXPECT_EQ(a.event().kind, EventKind::reply);
}

TEST_F(Stranger, DoesNotAnswerAServiceQuestion) {
  SidrRequest question;
  question.service_id = kService;
  question.path = path();
  active = *a.manager.request_service_id(question, now);
  SidrRep rep;
  rep.request_id = active.value;
  mad::Address elsewhere = as_peer_of_a();
  elsewhere.remote = third_host().remote;
  a.manager.receive(elsewhere, encode(rep, 7), now);
  EXPECT_TRUE(a.host.events.empty());
  a.manager.receive(as_peer_of_a(), encode(rep, 7), now);
  EXPECT_EQ(a.event().kind, EventKind::service_id_reply);
}

// Else the communication ID of an honest peer could be taken before it asks, and its REQ would pass for a
// repetition.
TEST_F(Stranger, CannotTakeAnothersCommunicationId) {
  active = *a.manager.connect(request(), now);
  Req req = forged_req(third_host(), 0x99);
  req.local_id = active.value;
  b.manager.receive(third_host(), encode(req, 7), now);
  b.host.take_events();
  deliver(a, b);
  EXPECT_EQ(b.event().kind, EventKind::request);
}

TEST_F(Stranger, CannotNameSomebodyElseAsTheWayToItsQueuePair) {
  Req req = forged_req(third_host(), 0x99);
  req.primary.local_gid = path().local;
  b.manager.receive(third_host(), encode(req, 7), now);
  EXPECT_TRUE(b.host.events.empty());
  EXPECT_EQ(b.host.reasons.back().id, ReasonId::cm_foreign_path);
  const auto sent = b.host.take_sent();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].to.remote, third_host().remote);
  EXPECT_EQ(decode<Rej>(sent[0].mad).reason, RejectReason::unsupported_request);
}

TEST_F(Stranger, ReplaysOfAWholeConnectionEndNothing) {
  std::vector<CmHost::Sent> seen;
  a.host.on_send = [&](const CmHost::Sent& sent) { seen.push_back(sent); };
  establish();
  ASSERT_TRUE(a.manager.disconnect(active, {}, now));
  deliver(a, b);
  b.manager.destroy(b.event().id, now);
  deliver(b, a);
  a.manager.destroy(a.event().id, now);
  expect_forgotten();
  a.host.on_send = nullptr;
  a.host.take_events(), b.host.take_events();
  establish();
  ASSERT_EQ(seen.size(), 3U);  // REQ, RTU, DREQ
  for (const CmHost::Sent& sent : seen) {
    b.manager.receive(turned_round(sent.to), sent.mad, now);
    mad::Address elsewhere = turned_round(sent.to);
    elsewhere.remote = third_host().remote;
    b.manager.receive(elsewhere, sent.mad, now);
  }
  for (int round = 0; round < 3; ++round) deliver(b, a), deliver(a, b);
  expect_untouched();
}

}  // namespace
}  // namespace softrnic::cm
