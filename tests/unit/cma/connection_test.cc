// Connections between two managers, through real CM messages.
#include "base/reason_id.h"
#include "cma/ip_header.h"
#include "tests/unit/cma/network.h"

namespace softrnic::cma {
namespace {

std::vector<std::byte> data(std::size_t size, unsigned char value) { return {size, std::byte{value}}; }

class Connections : public TwoNodes {
 protected:
  void request(const ConnectionParameters& wanted, PortSpace space = PortSpace::tcp) {
    listening = server.listener(address("0.0.0.0", 7174), space);
    active = client.routed(address("10.0.0.1", 7174), space);
    ASSERT_TRUE(client.manager.connect(active, wanted, {1, 2}));
  }
  Event take_request() {
    network.deliver();
    const Event event = server.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
    passive = event.id;
    return event;
  }
  void accept(const ConnectionParameters& parameters) {
    ASSERT_TRUE(server.manager.accept(passive, 300, parameters, {}));
    network.deliver();
  }
  /// All of it, without loss.
  void connect() {
    request({.qpn = 0x222});
    take_request();
    accept({.qpn = 0x111});
    client.expect(RDMA_CM_EVENT_CONNECT_RESPONSE);
    ASSERT_TRUE(client.manager.accept(active, 0, std::nullopt, {}));
    network.deliver();
    server.expect(RDMA_CM_EVENT_ESTABLISHED);
  }
  State state(Node& node, IdNumber id) { return node.manager.view(id)->state; }

  IdNumber listening = 0, active = 0, passive = 0;
};

TEST_F(Connections, ParametersArriveAsTheOtherSideHasToUseThem) {
  request({.private_data = data(56, 7),
           .qpn = 0x222,
           .responder_resources = 3,
           .initiator_depth = 200,
           .retry_count = 10,
           .rnr_retry_count = 9,
           .flow_control = true,
           .srq = true});
  const Event asked = take_request();
  EXPECT_EQ(asked.cookie, 100U);  // the listener's
  EXPECT_EQ(asked.listener, listening);
  EXPECT_EQ(asked.parameters.private_data, data(56, 7));
  EXPECT_EQ(asked.parameters.qpn, 0x222U);
  EXPECT_EQ(asked.parameters.responder_resources, 128);  // within the device
  EXPECT_EQ(asked.parameters.initiator_depth, 3);
  EXPECT_EQ(asked.parameters.retry_count, 7);
  EXPECT_EQ(asked.parameters.rnr_retry_count, 7);
  EXPECT_TRUE(asked.parameters.flow_control && asked.parameters.srq);
  EXPECT_EQ(asked.ece, (cm::Ece{1, 2}));
  const IdView seen = *server.manager.view(passive);
  EXPECT_EQ(seen.source, address("10.0.0.1", 7174));
  EXPECT_EQ(seen.destination, client.manager.view(active)->source);
  EXPECT_EQ(seen.path.mtu, IBV_MTU_1024);

  accept({.private_data = data(196, 8), .qpn = 0x111, .responder_resources = 2, .initiator_depth = 9});
  const Event answered = client.expect(RDMA_CM_EVENT_CONNECT_RESPONSE);
  EXPECT_EQ(answered.cookie, 200U);
  EXPECT_EQ(answered.parameters.private_data, data(196, 8));
  EXPECT_EQ(answered.parameters.qpn, 0x111U);
  EXPECT_EQ(answered.parameters.responder_resources, 3);  // what the peer starts: 9, but this side offered 3
  EXPECT_EQ(answered.parameters.initiator_depth, 2);
  ASSERT_TRUE(client.manager.accept(active, 0, std::nullopt, {}));
  network.deliver();
  EXPECT_EQ(server.expect(RDMA_CM_EVENT_ESTABLISHED).cookie, 300U);
}

TEST_F(Connections, AttributesOfTheTwoQueuePairsFit) {
  connect();
  const auto of = [](Node& node, IdNumber id, ibv_qp_state to) {
    const auto attributes = node.manager.init_qp_attributes(id, to);
    EXPECT_TRUE(attributes);
    return attributes ? *attributes : QpAttributes{};
  };
  const QpAttributes a = of(client, active, IBV_QPS_RTR), b = of(server, passive, IBV_QPS_RTR);
  const QpAttributes c = of(client, active, IBV_QPS_RTS), d = of(server, passive, IBV_QPS_RTS);
  EXPECT_EQ(a.mask, b.mask);
  EXPECT_EQ(a.mask, unsigned{IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER});
  EXPECT_EQ(c.mask, unsigned{IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                             IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC});
  EXPECT_EQ(a.rq_psn, d.sq_psn);
  EXPECT_EQ(b.rq_psn, c.sq_psn);
  EXPECT_NE(a.rq_psn, b.rq_psn);
  EXPECT_EQ(a.dest_qpn, 0x111U);
  EXPECT_EQ(b.dest_qpn, 0x222U);
  EXPECT_EQ(a.address.gid, address("10.0.0.1").host);
  EXPECT_EQ(b.address.gid, address("10.0.0.2").host);
  EXPECT_EQ(c.timeout, 19);
  EXPECT_EQ(d.timeout, 19);
  const QpAttributes init = of(client, active, IBV_QPS_INIT);
  EXPECT_EQ(init.mask, unsigned{IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS});
  EXPECT_EQ(init.access_flags, unsigned{IBV_ACCESS_REMOTE_WRITE});  // nobody may read: no responder resources
  EXPECT_FALSE(client.manager.init_qp_attributes(active, IBV_QPS_SQD));
}

TEST_F(Connections, DisconnectedOnceOnEachSide) {
  connect();
  ASSERT_TRUE(client.manager.disconnect(active));
  network.deliver();
  EXPECT_EQ(client.expect(RDMA_CM_EVENT_DISCONNECTED).status, 0);
  EXPECT_EQ(server.expect(RDMA_CM_EVENT_DISCONNECTED).status, 0);
  EXPECT_TRUE(server.manager.disconnect(passive));  // what programs do when they hear of it
  network.deliver();
  EXPECT_EQ(state(server, passive), State::disconnect);
  ASSERT_TRUE(network.run([&] {
    return client.manager.view(active)->state == State::disconnect && client.posts[client.channel] == 5;
  }));
  EXPECT_EQ(client.expect(RDMA_CM_EVENT_TIMEWAIT_EXIT).status, 0);
  EXPECT_FALSE(client.manager.next_event(client.channel));
}

TEST_F(Connections, CrossingDisconnectsAreOneEventASide) {
  connect();
  ASSERT_TRUE(client.manager.disconnect(active));
  ASSERT_TRUE(server.manager.disconnect(passive));
  network.deliver();
  EXPECT_EQ(client.expect(RDMA_CM_EVENT_DISCONNECTED).status, 0);
  EXPECT_EQ(server.expect(RDMA_CM_EVENT_DISCONNECTED).status, 0);
  EXPECT_FALSE(client.manager.next_event(client.channel));
  EXPECT_FALSE(server.manager.next_event(server.channel));
}

TEST_F(Connections, DestroyingAnIdDisconnectsItsPeer) {
  connect();
  ASSERT_TRUE(server.manager.destroy(passive));
  network.deliver();
  EXPECT_EQ(client.expect(RDMA_CM_EVENT_DISCONNECTED).status, 0);
}

TEST_F(Connections, AnOwnerWhoDiesLeavesNothing) {
  connect();
  client.manager.abandon({client.channel});
  EXPECT_EQ(client.manager.ids(), 0U);
  network.deliver();
  EXPECT_EQ(server.expect(RDMA_CM_EVENT_DISCONNECTED).status, 0);
}

TEST_F(Connections, RejectedWithDataAndReason) {
  request({.qpn = 1});
  take_request();
  ASSERT_TRUE(server.manager.reject(passive, cm::RejectReason::consumer_defined, data(148, 9)));
  network.deliver();
  const Event event = client.expect(RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(event.status, 28);
  EXPECT_EQ(event.parameters.private_data, data(148, 9));
  EXPECT_NE(event.reason.id, ReasonId::none);
}

TEST_F(Connections, NobodyListens) {
  active = client.routed(address("10.0.0.1", 9));
  ASSERT_TRUE(client.manager.connect(active, {.qpn = 1}, {}));
  network.deliver();
  const Event event = client.expect(RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(event.status, 8);
  EXPECT_EQ(event.reason.id, ReasonId::cm_rejected_no_listener);
}

TEST_F(Connections, ListenersAreFoundByAddress) {
  const IdNumber specific = server.listener(address("10.0.0.1", 7000));
  const IdNumber ipv6 = server.listener(address("fd00::1", 7000));
  const IdNumber dual = server.make_id(PortSpace::tcp, 5);
  ASSERT_TRUE(server.manager.bind(dual, address("::", 7001)));
  ASSERT_TRUE(server.manager.listen(dual, 0));
  const struct {
    const char* to;
    std::uint16_t port;
    IdNumber listener;
  } rows[] = {{"10.0.0.1", 7000, specific},
              {"fd00::1", 7000, ipv6},
              {"10.0.0.1", 7001, dual},
              {"fd00::1", 7001, dual}};
  for (const auto& row : rows) {
    const IdNumber id = client.routed(address(row.to, row.port));
    ASSERT_TRUE(client.manager.connect(id, {.qpn = id}, {}));
    network.deliver();
    const Event event = server.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
    EXPECT_EQ(event.listener, row.listener) << row.to << " " << row.port;
    EXPECT_EQ(server.manager.view(event.id)->source, address(row.to, row.port));
  }
}

TEST_F(Connections, AListenerThatGoesRejectsWhatNobodyFetched) {
  request({.qpn = 1});
  network.deliver();
  ASSERT_TRUE(server.manager.destroy(listening));
  EXPECT_EQ(server.manager.ids(), 0U);
  network.deliver();
  client.expect(RDMA_CM_EVENT_REJECTED);
  active = client.routed(address("10.0.0.1", 7174));
  ASSERT_TRUE(client.manager.connect(active, {.qpn = 2}, {}));
  network.deliver();
  EXPECT_EQ(client.expect(RDMA_CM_EVENT_REJECTED).status, 8);
}

TEST_F(Connections, PrivateDataHasItsLimits) {
  listening = server.listener(address("0.0.0.0", 7174));
  active = client.routed(address("10.0.0.1", 7174));
  const auto refused = client.manager.connect(active, {.private_data = data(57, 0), .qpn = 1}, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error, EINVAL);
  EXPECT_EQ(state(client, active), State::route_resolved);
  ASSERT_TRUE(client.manager.connect(active, {.qpn = 1}, {}));
  take_request();
  EXPECT_FALSE(server.manager.accept(passive, 0, ConnectionParameters{.private_data = data(197, 0)}, {}));
  EXPECT_FALSE(server.manager.reject(passive, cm::RejectReason::consumer_defined, data(149, 0)));
  EXPECT_FALSE(server.manager.accept(passive, 0, std::nullopt, {}));
}

TEST_F(Connections, SilenceIsUnreachable) {
  active = client.routed(address("10.0.0.1", 9));
  network.lose = [] { return true; };
  ASSERT_TRUE(client.manager.connect(active, {.qpn = 1}, {}));
  bool told = false;
  for (int minutes = 0; minutes < 10 && !told; ++minutes)
    told = network.run([&] { return client.posts[client.channel] == 3; });
  ASSERT_TRUE(told);
  EXPECT_EQ(client.expect(RDMA_CM_EVENT_UNREACHABLE).status, -ETIMEDOUT);
}

TEST_F(Connections, ALossyNetworkOnlyTakesLonger) {
  std::uint32_t dice = 7;  // half of the messages
  network.lose = [&] { return (dice = dice * 1664525 + 1013904223) >> 31 != 0; };
  request({.qpn = 0x222});
  ASSERT_TRUE(network.run([&] { return server.posts[server.channel] == 1; }));
  passive = server.expect(RDMA_CM_EVENT_CONNECT_REQUEST).id;
  ASSERT_TRUE(server.manager.accept(passive, 300, ConnectionParameters{.qpn = 0x111}, {}));
  ASSERT_TRUE(network.run([&] { return client.posts[client.channel] == 3; }));
  client.expect(RDMA_CM_EVENT_CONNECT_RESPONSE);
  ASSERT_TRUE(client.manager.accept(active, 0, std::nullopt, {}));
  ASSERT_TRUE(network.run([&] { return server.posts[server.channel] == 2; }));
  server.expect(RDMA_CM_EVENT_ESTABLISHED);
  ASSERT_TRUE(client.manager.disconnect(active));
  ASSERT_TRUE(
      network.run([&] { return server.posts[server.channel] >= 3 && client.posts[client.channel] >= 4; }));
  EXPECT_EQ(server.expect(RDMA_CM_EVENT_DISCONNECTED).status, 0);
  EXPECT_EQ(client.expect(RDMA_CM_EVENT_DISCONNECTED).status, 0);
}

// The peer gives up after 16 times 8 s of silence; a program may think longer than that.
TEST_F(Connections, AProgramMayTakeItsTime) {
  request({.qpn = 0x222});
  take_request();
  for (int minutes = 0; minutes < 5; ++minutes) network.run([] { return false; });
  EXPECT_FALSE(client.manager.next_event(client.channel));
  accept({.qpn = 0x111});
  client.expect(RDMA_CM_EVENT_CONNECT_RESPONSE);
}

TEST_F(Connections, DatagramsLearnTheQueuePair) {
  request({.private_data = data(180, 5), .qpn = 0x222}, PortSpace::udp);
  const Event asked = take_request();
  EXPECT_EQ(asked.parameters.private_data, data(180, 5));
  accept({.private_data = data(136, 6), .qpn = 0x111, .qkey = 77});
  const Event event = client.expect(RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(event.parameters.qpn, 0x111U);
  EXPECT_EQ(event.parameters.qkey, unsigned{RDMA_UDP_QKEY});
  EXPECT_EQ(event.parameters.private_data, data(136, 6));
  EXPECT_EQ(event.address.gid, address("10.0.0.1").host);
  const auto attributes = client.manager.init_qp_attributes(active, IBV_QPS_INIT);
  ASSERT_TRUE(attributes);
  EXPECT_EQ(attributes->mask, unsigned{IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY});
  EXPECT_EQ(attributes->qkey, unsigned{RDMA_UDP_QKEY});
}

TEST_F(Connections, DatagramsAreRefused) {
  request({.qpn = 1}, PortSpace::udp);
  take_request();
  ASSERT_TRUE(server.manager.reject(passive, cm::RejectReason::consumer_defined, {}));
  network.deliver();
  EXPECT_EQ(client.expect(RDMA_CM_EVENT_UNREACHABLE).status, static_cast<int>(cm::SidrStatus::rejected));
}

TEST_F(Connections, LoopbackAddressesLeadToTheDeviceItself) {
  listening = server.listener(address("0.0.0.0", 7174));
  active = server.routed(address("127.0.0.1", 7174));
  const IdView view = *server.manager.view(active);
  EXPECT_EQ(view.binding.gid, address("10.0.0.1").host);
  EXPECT_EQ(view.destination_gid, address("10.0.0.1").host);
  EXPECT_EQ(view.source.host, address("127.0.0.1").host);
  ASSERT_TRUE(server.manager.connect(active, {.qpn = 1}, {}));
  take_request();
  EXPECT_EQ(server.manager.view(passive)->source, address("127.0.0.1", 7174));
}

TEST_F(Connections, AListenerOnLoopbackHasNoDeviceButItsConnectionsHave) {
  listening = server.listener(address("127.0.0.1", 7174));
  EXPECT_EQ(server.manager.view(listening)->binding.device, 0U) << "as on Linux";
  active = server.routed(address("127.0.0.1", 7174));
  ASSERT_TRUE(server.manager.connect(active, {.qpn = 1}, {}));
  take_request();
  EXPECT_EQ(server.manager.view(passive)->binding.gid, address("10.0.0.1").host);
}

TEST_F(Connections, WhoListensElsewhereIsNamed) {
  listening = server.listener(address("127.0.0.1", 7174));
  active = client.routed(address("10.0.0.1", 7174));
  ASSERT_TRUE(client.manager.connect(active, {.qpn = 1}, {}));
  network.deliver();
  ASSERT_TRUE(network.run([&] { return client.posts[client.channel] > 2; }));
  EXPECT_EQ(client.expect(RDMA_CM_EVENT_REJECTED).status,
            static_cast<int>(cm::RejectReason::invalid_service_id));
  EXPECT_EQ(server.explained.back(), ReasonId::cma_listener_elsewhere);
}

TEST(Loopback, ADeviceOfItsNetdevTakesTheWholeRange) {
  Network network;
  Node node{network, 0x33, {"127.0.0.1", "::1"}};
  for (const char* text : {"127.0.0.1", "127.0.0.2", "127.255.0.1"}) {
    const IdNumber listening = node.listener(address(text, 7174));
    const IdNumber active = node.routed(address(text, 7174));
    EXPECT_EQ(node.manager.view(active)->destination_gid, address("127.0.0.1").host) << text;
    ASSERT_TRUE(node.manager.connect(active, {.qpn = 1}, {}));
    network.deliver();
    const Event event = node.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
    EXPECT_EQ(node.manager.view(event.id)->source, address(text, 7174)) << text;
    EXPECT_TRUE(node.manager.destroy(event.id));
    EXPECT_TRUE(node.manager.destroy(active));
    EXPECT_TRUE(node.manager.destroy(listening));
  }
}

}  // namespace
}  // namespace softrnic::cma
