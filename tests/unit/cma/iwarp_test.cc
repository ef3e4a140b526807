// rdma_cm on iWARP devices: the same calls, connections of TCP, and the events that Linux tells there.
#include "base/reason_id.h"
#include "tests/unit/cma/network.h"

namespace softrnic::cma {
namespace {

std::string text(const Event& event) {
  const std::vector<std::byte>& data = event.parameters.private_data;
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

class Iwarp : public TwoNodes {
 protected:
  void SetUp() override {
    server.become_iwarp();
    client.become_iwarp();
  }
  /// A request that the server's program has fetched.
  Event request(const std::string& data = {}) {
    listener = server.listener(address("10.0.0.1", 7174));
    active = client.routed(address("10.0.0.1", 7174));
    EXPECT_EQ(error_of(client.manager.connect(active, parameters(data), {})), 0);
    network.deliver();
    Event event = server.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
    passive = event.id;
    return event;
  }
  void establish() {
    request();
    ASSERT_EQ(error_of(server.manager.accept(passive, 300, parameters(), {})), 0);
    network.deliver();
    const Event event = client.expect(RDMA_CM_EVENT_ESTABLISHED);
    EXPECT_TRUE(event.has_stream);
    ASSERT_EQ(error_of(server.manager.has_stream(passive)), 0);
    EXPECT_FALSE(server.expect(RDMA_CM_EVENT_ESTABLISHED).has_stream);
  }
  IdNumber listener = 0, active = 0, passive = 0;
};

TEST_F(Iwarp, ConnectsWithoutAConnectResponse) {
  const Event asked = request("hello");
  EXPECT_EQ(text(asked), "hello");
  EXPECT_EQ(asked.parameters.responder_resources, 5) << "what the peer would like to start";
  EXPECT_EQ(asked.parameters.initiator_depth, 3);
  EXPECT_FALSE(client.manager.handover(active));
  EXPECT_EQ(error_of(server.manager.accept(passive, 300, std::nullopt, {})), EINVAL);
  ASSERT_EQ(error_of(server.manager.accept(passive, 300, parameters("welcome", 2, 9), {})), 0);
  const auto ours = server.manager.handover(passive);
  ASSERT_TRUE(ours);
  EXPECT_FALSE(ours->initiator);
  EXPECT_EQ(ours->agreement.ord, 3);
  EXPECT_FALSE(server.manager.next_event(server.channel)) << "the program has no stream yet";
  EXPECT_EQ(error_of(server.manager.notify(passive, IBV_EVENT_COMM_EST)), 0) << "as the kernel, of any event";
  EXPECT_FALSE(server.manager.next_event(server.channel));
  ASSERT_EQ(error_of(server.manager.has_stream(passive)), 0);
  EXPECT_EQ(server.expect(RDMA_CM_EVENT_ESTABLISHED).cookie, 300U);
  network.deliver();
  const Event event = client.expect(RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(text(event), "welcome");
  EXPECT_EQ(event.parameters.initiator_depth, 2);
  EXPECT_EQ(event.parameters.responder_resources, 3);
  ASSERT_TRUE(client.manager.handover(active));
  EXPECT_TRUE(client.manager.handover(active)->initiator);
  EXPECT_FALSE(client.manager.view(active)->has_path) << "TCP finds its way";
  const auto seen = server.manager.view(passive);
  EXPECT_EQ(seen->source.host, address("10.0.0.1").host);
  EXPECT_EQ(seen->source.port, 7174);
  EXPECT_EQ(seen->destination.host, address("10.0.0.2").host);
  EXPECT_EQ(seen->destination.port, client.manager.view(active)->source.port);
}

// CRCs are for both directions, markers for what the one receives that asks for them (RFC 5044 7.1.1).
TEST_F(Iwarp, DevicesAskForCrcsAndMarkers) {
  server.device.mpa.markers = true;
  server.manager.devices_changed({server.device});
  client.device.mpa.crc = true;
  client.manager.devices_changed({client.device});
  request();
  ASSERT_EQ(error_of(server.manager.accept(passive, 300, parameters(), {})), 0);
  network.deliver();
  client.expect(RDMA_CM_EVENT_ESTABLISHED);
  const iwarp::MpaAgreement here = client.manager.handover(active)->agreement;
  const iwarp::MpaAgreement there = server.manager.handover(passive)->agreement;
  EXPECT_TRUE(here.crc && there.crc);
  EXPECT_TRUE(here.markers_out && there.markers_in);
  EXPECT_FALSE(here.markers_in || there.markers_out);
}

TEST_F(Iwarp, IPv6) {
  server.listener(address("::", 7174));
  active = client.routed(address("fd00::1", 7174));
  ASSERT_EQ(error_of(client.manager.connect(active, parameters(), {})), 0);
  network.deliver();
  const Event asked = server.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  EXPECT_EQ(server.manager.view(asked.id)->source.host, address("fd00::1").host);
}

TEST_F(Iwarp, EndsWhenTheStreamDoes) {
  establish();
  const auto handover = client.manager.handover(active);
  client.streams.take(handover->stream);
  EXPECT_EQ(client.manager.id_with_token(handover->token), active);
  EXPECT_EQ(error_of(client.manager.disconnect(active)), 0);
  EXPECT_FALSE(client.manager.next_event(client.channel));
  EXPECT_TRUE(client.manager.streams().stream_over(handover->token));
  EXPECT_EQ(client.expect(RDMA_CM_EVENT_DISCONNECTED).status, 0);
  EXPECT_FALSE(client.manager.handover(active));
  EXPECT_EQ(error_of(client.manager.disconnect(active)), 0) << "once more is no mistake";
}

TEST_F(Iwarp, ADisconnectBeforeTheProgramHasItsStreamEndsIt) {
  establish();
  EXPECT_EQ(error_of(client.manager.disconnect(active)), 0);
  EXPECT_EQ(client.expect(RDMA_CM_EVENT_DISCONNECTED).status, 0);
  EXPECT_FALSE(client.manager.handover(active)) << "ESTABLISHED, fetched late, has none";
  EXPECT_EQ(client.streams.open_streams(), 0U);
}

TEST_F(Iwarp, ADisconnectOnTheWayEndsWhatComesAbout) {
  request();
  EXPECT_EQ(error_of(client.manager.disconnect(active)), 0);
  ASSERT_EQ(error_of(server.manager.accept(passive, 300, parameters(), {})), 0);
  network.deliver();
  client.expect(RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(client.expect(RDMA_CM_EVENT_DISCONNECTED).status, 0);
}

TEST_F(Iwarp, AStreamThatEndsBeforeItIsConfirmedIsHeardOfAllTheSame) {
  request();
  ASSERT_EQ(error_of(server.manager.accept(passive, 300, parameters(), {})), 0);
  const auto handover = server.manager.handover(passive);
  server.streams.take(handover->stream);
  EXPECT_TRUE(server.manager.streams().stream_over(handover->token));
  EXPECT_FALSE(server.manager.next_event(server.channel));
  ASSERT_EQ(error_of(server.manager.has_stream(passive)), 0);
  server.expect(RDMA_CM_EVENT_ESTABLISHED);
  server.expect(RDMA_CM_EVENT_DISCONNECTED);
}

TEST_F(Iwarp, ADisconnectEndsAlsoWhenNobodySaysSo) {
  establish();
  client.streams.take(client.manager.handover(active)->stream);
  EXPECT_EQ(error_of(client.manager.disconnect(active)), 0);
  EXPECT_TRUE(network.run([&] { return client.posts[client.channel] == 4; }));
  const Event event = client.expect(RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(event.status, -ETIMEDOUT);
  EXPECT_EQ(event.reason.id, ReasonId::iwcm_disconnect);
}

TEST_F(Iwarp, Rejected) {
  request();
  const std::string why = "full";
  ASSERT_EQ(error_of(server.manager.reject(passive, cm::RejectReason::consumer_defined,
                                           std::as_bytes(std::span(why)))),
            0);
  network.deliver();
  const Event event = client.expect(RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(event.status, -ECONNREFUSED);
  EXPECT_EQ(text(event), why);
}

TEST_F(Iwarp, NobodyListens) {
  active = client.routed(address("10.0.0.1", 7175));
  ASSERT_EQ(error_of(client.manager.connect(active, parameters(), {})), 0);
  EXPECT_TRUE(network.run([&] { return client.posts[client.channel] == 3; }));
  const Event event = client.expect(RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(event.status, -ECONNREFUSED);
  EXPECT_EQ(event.reason.id, ReasonId::iwcm_connect);
}

// perftest and qperf tell their client by TCP that they are ready, and call rdma_listen afterwards.
TEST_F(Iwarp, AConnectThatIsFasterThanTheListener) {
  active = client.routed(address("10.0.0.1", 7174));
  ASSERT_EQ(error_of(client.manager.connect(active, parameters("early"), {})), 0);
  network.deliver();
  EXPECT_FALSE(client.manager.next_event(client.channel));
  server.listener(address("10.0.0.1", 7174));
  EXPECT_TRUE(network.run([&] { return server.posts[server.channel] == 1; }));
  EXPECT_EQ(text(server.expect(RDMA_CM_EVENT_CONNECT_REQUEST)), "early");
}

TEST_F(Iwarp, NobodyAnswers) {
  network.tcp.silent = true;
  active = client.routed(address("10.0.0.1", 7175));
  ASSERT_EQ(error_of(client.manager.connect(active, parameters(), {})), 0);
  EXPECT_TRUE(network.run([&] { return client.posts[client.channel] == 3; }));
  EXPECT_EQ(client.expect(RDMA_CM_EVENT_UNREACHABLE).status, -ETIMEDOUT);
}

TEST_F(Iwarp, APeerThatGivesUpIsNotHeardOfUnlessNothingElseIs) {
  listener = server.listener(address("10.0.0.1", 7174));
  const IdNumber clients[] = {client.routed(address("10.0.0.1", 7174)),
                              client.routed(address("10.0.0.1", 7174))};
  for (const IdNumber id : clients) ASSERT_EQ(error_of(client.manager.connect(id, parameters(), {})), 0);
  network.deliver();
  EXPECT_EQ(server.manager.ids(), 3U);
  for (const IdNumber id : clients) EXPECT_EQ(error_of(client.manager.destroy(id)), 0);
  network.deliver();
  EXPECT_EQ(server.manager.ids(), 2U);
  EXPECT_EQ(server.streams.open_streams(), 0U);
  passive = server.expect(RDMA_CM_EVENT_CONNECT_REQUEST).id;
  EXPECT_FALSE(server.manager.next_event(server.channel));
  EXPECT_EQ(error_of(server.manager.accept(passive, 1, parameters(), {})), ECONNRESET);
}

TEST_F(Iwarp, APeerThatGivesUpLaterIsHeardOfWithTheAnswer) {
  request();
  EXPECT_EQ(error_of(client.manager.destroy(active)), 0);
  network.deliver();
  EXPECT_EQ(error_of(server.manager.accept(passive, 1, parameters(), {})), ECONNRESET);
  EXPECT_EQ(error_of(server.manager.destroy(passive)), 0);
}

TEST_F(Iwarp, AListenerThatGoesRejectsWhatNobodyHasFetched) {
  listener = server.listener(address("10.0.0.1", 7174));
  active = client.routed(address("10.0.0.1", 7174));
  ASSERT_EQ(error_of(client.manager.connect(active, parameters(), {})), 0);
  network.deliver();
  EXPECT_EQ(error_of(server.manager.destroy(listener)), 0);
  network.deliver();
  EXPECT_EQ(client.expect(RDMA_CM_EVENT_REJECTED).status, -ECONNREFUSED);
  EXPECT_EQ(server.streams.listening() + server.streams.open_streams(), 0U);
}

TEST_F(Iwarp, AMigratedListenerTakesItsRequestsAlong) {
  listener = server.listener(address("10.0.0.1", 7174));
  active = client.routed(address("10.0.0.1", 7174));
  ASSERT_EQ(error_of(client.manager.connect(active, parameters(), {})), 0);
  network.deliver();
  const ChannelNumber other = server.manager.open_channel();
  ASSERT_TRUE(server.manager.migrate(listener, other));
  const auto event = server.manager.next_event(other);
  ASSERT_TRUE(event);
  EXPECT_EQ(server.manager.channel_of(event->id), other);
  ASSERT_EQ(error_of(server.manager.accept(event->id, 1, parameters(), {})), 0);
}

TEST_F(Iwarp, TheWildcardIsEachAddressOfTheDevice) {
  server.listener(address("0.0.0.0", 7174));
  EXPECT_EQ(server.streams.listening(), 2U) << "10.0.0.1 and 127.0.0.1";
  server.listener(address("::", 7175));
  EXPECT_EQ(server.streams.listening(), 2U + 4U);
  device::DeviceInfo more = server.device;
  more.port.addresses.push_back({address("10.0.0.9").host, 2});
  server.manager.devices_changed({more});
  EXPECT_EQ(server.streams.listening(), 3U + 5U);
  server.manager.devices_changed({});
  EXPECT_EQ(server.streams.listening(), 0U);
}

TEST_F(Iwarp, APortThatAnotherProgramHas) {
  server.streams.refuse_to_listen = EADDRINUSE;
  for (const char* const at : {"10.0.0.1", "0.0.0.0"}) {
    const IdNumber id = server.make_id();
    ASSERT_EQ(error_of(server.manager.bind(id, address(at, 7174))), 0);
    EXPECT_EQ(error_of(server.manager.listen(id, 1)), EADDRINUSE) << at;
    EXPECT_EQ(server.manager.view(id)->state, State::address_bound);
    EXPECT_TRUE(server.manager.destroy(id));
  }
}

// Else another user of the host could take what clients send to the addresses that are left.
TEST_F(Iwarp, AWildcardListensAtAllAddressesOrNone) {
  server.streams.refuse_at = address("127.0.0.1").host;
  for (const int error : {EADDRINUSE, EMFILE}) {
    server.streams.refuse_to_listen = error;
    const IdNumber id = server.make_id();
    ASSERT_EQ(error_of(server.manager.bind(id, address("::", 7174))), 0);
    EXPECT_EQ(error_of(server.manager.listen(id, 1)), error);
    EXPECT_EQ(server.streams.listening(), 0U);
    EXPECT_TRUE(server.manager.destroy(id));
  }
  server.streams.refuse_to_listen = EADDRNOTAVAIL;
  server.listener(address("::", 7174));
  EXPECT_EQ(server.streams.listening(), 3U) << "it is about to go, or to come";
}

TEST_F(Iwarp, AListenerThatIsBeingDestroyedTakesNoRequest) {
  listener = server.listener(address("10.0.0.1", 7174));
  active = client.routed(address("10.0.0.1", 7174));
  ASSERT_TRUE(server.manager.quiesce(listener));
  ASSERT_EQ(error_of(client.manager.connect(active, parameters(), {})), 0);
  network.deliver();
  EXPECT_EQ(server.manager.ids(), 1U) << "nobody would ever hear of its id";
  EXPECT_EQ(client.expect(RDMA_CM_EVENT_REJECTED).status, -ECONNREFUSED);
}

TEST_F(Iwarp, NothingButReliableConnections) {
  IdNumber id = server.make_id(PortSpace::udp);
  EXPECT_EQ(error_of(server.manager.bind(id, address("10.0.0.1", 7174))), EADDRNOTAVAIL);
  id = client.routed(address("10.0.0.1", 7174));
  EXPECT_EQ(error_of(client.manager.join_multicast(id, 0, 0, address("224.0.0.9"))), EOPNOTSUPP);
}

TEST_F(Iwarp, QueuePairsComeToRtsByTheStream) {
  active = client.routed(address("10.0.0.1", 7174));
  const auto init = client.manager.init_qp_attributes(active, IBV_QPS_INIT);
  ASSERT_TRUE(init);
  EXPECT_EQ(init->mask, unsigned{IBV_QP_STATE | IBV_QP_ACCESS_FLAGS});
  EXPECT_EQ(client.manager.init_qp_attributes(active, IBV_QPS_RTS)->mask, 0U);
}

/// Both ends on one host, whose manager knows both.
class IwarpOnOneHost : public Iwarp {
 protected:
  /// Accepts a connection from `from` to `to`, with these parameters of both sides.
  void connect(const ConnectionParameters& from, const ConnectionParameters& to) {
    if (listener == 0) listener = server.listener(address("10.0.0.1", 7174));
    active = server.routed(address("10.0.0.1", 7174));
    ASSERT_EQ(error_of(server.manager.connect(active, from, {})), 0);
    network.deliver();
    passive = server.expect(RDMA_CM_EVENT_CONNECT_REQUEST).id;
    ASSERT_EQ(error_of(server.manager.accept(passive, 300, to, {})), 0);
    network.deliver();
    EXPECT_TRUE(server.expect(RDMA_CM_EVENT_ESTABLISHED).has_stream);
  }
  std::optional<iwarp::SameHostPeer> peer_of(IdNumber id) const {
    return server.manager.handover(id)->same_host;
  }
  static ConnectionParameters of_qp(std::uint32_t qpn, bool stream_only = false) {
    ConnectionParameters out = parameters();
    out.qpn = qpn;
    out.stream_only = stream_only;
    return out;
  }
};

TEST_F(IwarpOnOneHost, EachEndLearnsOfTheOther) {
  connect(of_qp(0x111), of_qp(0x222));
  const auto here = peer_of(active), there = peer_of(passive);
  ASSERT_TRUE(here && there);
  EXPECT_EQ(here->qpn.value, 0x222U);
  EXPECT_EQ(there->qpn.value, 0x111U);
  EXPECT_EQ(here->send_psn, there->receive_psn);
  EXPECT_EQ(here->receive_psn, there->send_psn);
  EXPECT_LE(here->send_psn | here->receive_psn, 0xffffffU);
  connect(of_qp(0x111), of_qp(0x222));
  EXPECT_NE(peer_of(active)->send_psn, here->send_psn) << "a stray packet is none of the next connection";
}

TEST_F(IwarpOnOneHost, EitherEndMayHoldToTheStream) {
  connect(of_qp(0x111, true), of_qp(0x222));
  EXPECT_FALSE(peer_of(active) || peer_of(passive));
  connect(of_qp(0x111), of_qp(0x222, true));
  EXPECT_FALSE(peer_of(active) || peer_of(passive));
  connect(of_qp(0x111), of_qp(0));
  EXPECT_FALSE(peer_of(active) || peer_of(passive)) << "a queue pair that is not named cannot be found";
}

TEST_F(IwarpOnOneHost, ProgramsOfDifferentUsersGoByTheStream) {
  listener = server.listener(address("10.0.0.1", 7174));
  const auto other = server.manager.create(
      {.channel = server.channel, .port_space = RDMA_PS_TCP, .qp_type = IBV_QPT_RC, .user = 1001});
  ASSERT_TRUE(other);
  active = *other;
  ASSERT_EQ(error_of(server.manager.bind(active, address("10.0.0.1"))), 0);
  ASSERT_EQ(error_of(server.manager.resolve_address(active, {}, address("10.0.0.1", 7174), {})), 0);
  network.deliver();
  server.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
  ASSERT_EQ(error_of(server.manager.resolve_route(active, std::chrono::seconds(2))), 0);
  server.expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
  ASSERT_EQ(error_of(server.manager.connect(active, of_qp(0x111), {})), 0);
  network.deliver();
  passive = server.expect(RDMA_CM_EVENT_CONNECT_REQUEST).id;
  ASSERT_EQ(error_of(server.manager.accept(passive, 300, of_qp(0x222), {})), 0);
  network.deliver();
  EXPECT_FALSE(peer_of(active) || peer_of(passive));
}

TEST_F(Iwarp, OfAnotherHostNothingIsKnown) {
  establish();
  EXPECT_FALSE(server.manager.handover(passive)->same_host || client.manager.handover(active)->same_host);
}

TEST_F(Iwarp, TheProgramThatGoesLeavesNothing) {
  establish();
  client.manager.abandon({client.channel});
  server.manager.abandon({server.channel});
  EXPECT_EQ(server.manager.streams().size() + client.manager.streams().size(), 0U);
  EXPECT_EQ(server.streams.open_streams() + client.streams.open_streams(), 0U);
}

TEST_F(Iwarp, ADeviceThatGoesIsToldOnce) {
  establish();
  client.manager.devices_changed({});
  client.expect(RDMA_CM_EVENT_DEVICE_REMOVAL);
  EXPECT_TRUE(client.manager.streams().stream_over(client.manager.handover(active)->token));
  EXPECT_FALSE(client.manager.next_event(client.channel));
}

}  // namespace
}  // namespace softrnic::cma
