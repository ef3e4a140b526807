// Requests that come before their listener.
#include <algorithm>

#include "base/reason_id.h"
#include "tests/unit/cma/network.h"

namespace softrnic::cma {
namespace {

class EarlyRequestsTest : public TwoNodes {
 protected:
  IdNumber bound_server(PortSpace space = PortSpace::tcp) {
    const IdNumber id = server.make_id(space, 100);
    EXPECT_TRUE(server.manager.bind(id, address("0.0.0.0", kPort)));
    return id;
  }
  IdNumber request(PortSpace space = PortSpace::tcp) {
    const IdNumber id = client.routed(address("10.0.0.1", kPort), space);
    EXPECT_TRUE(client.manager.connect(id, {.private_data = {std::byte{42}}, .qpn = next_qpn++}, {}));
    network.deliver();
    return id;
  }
  bool silent(Node& node) { return !node.manager.next_event(node.channel); }
  void expect_refusal(ReasonId why = ReasonId::cm_no_listener) {
    const Event event = client.expect(RDMA_CM_EVENT_REJECTED);
    EXPECT_EQ(event.status, static_cast<int>(cm::RejectReason::invalid_service_id));
    EXPECT_EQ(server.explained.back(), why);
    EXPECT_EQ(server.explained_peer.remote, address("10.0.0.2").host);
  }
  /// Milliseconds until the client hears something.
  std::int64_t wait_for_client() {
    const TimePoint begin = network.now;
    const int posts = client.posts[client.channel];
    EXPECT_TRUE(network.run([&] { return client.posts[client.channel] != posts; }));
    return std::chrono::duration_cast<std::chrono::milliseconds>(network.now - begin).count();
  }

  std::uint32_t next_qpn = 0x222;
};

TEST_F(EarlyRequestsTest, WaitForTheListenerOfABoundPort) {
  const IdNumber listening = bound_server();
  request();
  EXPECT_TRUE(silent(server) && silent(client));
  ASSERT_TRUE(server.manager.listen(listening, 1));
  const Event asked = server.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  EXPECT_EQ(asked.listener, listening);
  EXPECT_EQ(asked.parameters.private_data.at(0), std::byte{42});
  ASSERT_TRUE(server.manager.accept(asked.id, 300, ConnectionParameters{.qpn = 0x111}, {}));
  network.deliver();
  client.expect(RDMA_CM_EVENT_CONNECT_RESPONSE);
}

TEST_F(EarlyRequestsTest, OfDatagramsTheSame) {
  const IdNumber listening = bound_server(PortSpace::udp);
  request(PortSpace::udp);
  EXPECT_TRUE(silent(server) && silent(client));
  ASSERT_TRUE(server.manager.listen(listening, 1));
  server.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
}

TEST_F(EarlyRequestsTest, AreRefusedInTheEnd) {
  const IdNumber listening = bound_server();
  request();
  EXPECT_EQ(wait_for_client(), 200);
  expect_refusal();
  ASSERT_TRUE(server.manager.listen(listening, 1));
  EXPECT_TRUE(silent(server));
}

TEST_F(EarlyRequestsTest, APortThatNobodyHasRefusesAtOnce) {
  request();
  expect_refusal();
}

TEST_F(EarlyRequestsTest, APortThatAClientHasRefusesAtOnce) {
  const IdNumber other = server.make_id();
  ASSERT_TRUE(server.manager.bind(other, address("10.0.0.1", kPort)));
  ASSERT_TRUE(server.manager.resolve_address(other, {}, address("10.0.0.2", 1), std::chrono::seconds(2)));
  server.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
  request();
  expect_refusal();
}

TEST_F(EarlyRequestsTest, ASecondListenerOfAConnectedProgramIsWaitedFor) {
  const IdNumber first = server.listener(address("0.0.0.0", kPort));
  request();
  const Event asked = server.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  ASSERT_TRUE(server.manager.accept(asked.id, 300, ConnectionParameters{.qpn = 0x111}, {}));
  ASSERT_TRUE(server.manager.destroy(first));
  network.deliver();
  client.expect(RDMA_CM_EVENT_CONNECT_RESPONSE);
  request();
  EXPECT_TRUE(silent(client));
  server.listener(address("0.0.0.0", kPort));
  server.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
}

TEST_F(EarlyRequestsTest, InAnotherPortSpaceOfAConnectedProgramTheyWait) {
  server.listener(address("0.0.0.0", kPort));
  request();
  server.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  request(PortSpace::udp);
  EXPECT_TRUE(silent(client));
  server.listener(address("0.0.0.0", kPort), PortSpace::udp);
  server.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
}

TEST_F(EarlyRequestsTest, TheEndOfTheProgramRefusesThem) {
  bound_server();
  request();
  request();
  server.manager.abandon({server.channel});
  network.deliver();
  expect_refusal();
  expect_refusal();
  request();
  expect_refusal();
}

TEST_F(EarlyRequestsTest, ARepeatedRequestIsToldOnce) {
  const IdNumber listening = bound_server();
  request();
  std::deque<Network::Packet> again;
  const IdNumber id = client.routed(address("10.0.0.1", kPort));
  ASSERT_TRUE(client.manager.connect(id, {.qpn = next_qpn++}, {}));
  again = network.packets;
  network.deliver();
  network.packets = again;
  network.deliver();
  ASSERT_TRUE(server.manager.listen(listening, 1));
  server.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  server.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  EXPECT_TRUE(silent(server));
}

TEST_F(EarlyRequestsTest, WhoGivesUpIsForgotten) {
  const IdNumber listening = bound_server();
  const IdNumber id = request();
  ASSERT_TRUE(client.manager.destroy(id));
  network.deliver();
  ASSERT_TRUE(server.manager.listen(listening, 1));
  EXPECT_TRUE(silent(server));
}

TEST_F(EarlyRequestsTest, AnotherAddressOfThePortHearsNothing) {
  const IdNumber listening = server.make_id();
  ASSERT_TRUE(server.manager.bind(listening, address("fd00::1", kPort)));
  request();
  ASSERT_TRUE(server.manager.listen(listening, 1));
  EXPECT_TRUE(silent(server) && silent(client));
  wait_for_client();
  expect_refusal(ReasonId::cma_listener_elsewhere);
}

TEST_F(EarlyRequestsTest, OnlySoManyWait) {
  bound_server();
  for (int i = 0; i < 256; ++i) request();
  EXPECT_TRUE(silent(client));
  request();
  expect_refusal();
}

}  // namespace
}  // namespace softrnic::cma
