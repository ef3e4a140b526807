// rdma_cm where a host has a RoCE device and one of iWARP.
#include "base/reason_id.h"
#include "tests/unit/cma/network.h"

namespace softrnic::cma {
namespace {

/// A RoCE device and one of iWARP at the same addresses.
class BothKinds : public TwoNodes {
 protected:
  void SetUp() override {
    server.become_iwarp(true);
    client.become_iwarp(true);
  }
  IdNumber id_of(Node& node, const std::string& device) {
    const auto id = node.manager.create(
        {1, node.channel, static_cast<std::uint16_t>(PortSpace::tcp), IBV_QPT_RC, device});
    EXPECT_TRUE(id);
    return id ? *id : 0;
  }
  IdNumber routed(const std::string& device) {
    const IdNumber id = id_of(client, device);
    EXPECT_TRUE(client.manager.resolve_address(id, {}, address("10.0.0.1", 7174), std::chrono::seconds(2)));
    client.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
    EXPECT_TRUE(client.manager.resolve_route(id, std::chrono::seconds(2)));
    client.expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
    return id;
  }
};

TEST_F(BothKinds, TheDeviceThatWasMadeFirst) {
  EXPECT_EQ(client.manager.view(routed(""))->binding.kind, device::Kind::roce_v2);
  EXPECT_EQ(client.manager.view(routed("iw0"))->binding.kind, device::Kind::iwarp);
}

TEST_F(BothKinds, AWildcardListensOnBoth) {
  server.listener(address("0.0.0.0", 7174));
  for (const char* const device : {"", "iw0"}) {
    const IdNumber id = routed(device);
    ASSERT_EQ(error_of(client.manager.connect(id, parameters(), {})), 0);
    network.deliver();
    const Event event = server.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
    EXPECT_EQ(server.manager.view(event.id)->binding.has_streams(), *device != 0);
  }
}

TEST_F(BothKinds, WhoSeesOneDeviceListensThereAlone) {
  const IdNumber id = id_of(server, "iw0");
  ASSERT_EQ(error_of(server.manager.bind(id, address("0.0.0.0", 7174))), 0);
  ASSERT_EQ(error_of(server.manager.listen(id, 1)), 0);
  ASSERT_EQ(error_of(client.manager.connect(routed(""), parameters(), {})), 0);
  EXPECT_TRUE(network.run([&] { return client.posts[client.channel] == 3; }));
  client.expect(RDMA_CM_EVENT_REJECTED);
  ASSERT_EQ(error_of(client.manager.connect(routed("iw0"), parameters(), {})), 0);
  network.deliver();
  server.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
}

TEST_F(BothKinds, TheWildcardGoesWithoutAPortOfTcpThatIsTaken) {
  server.streams.refuse_to_listen = EADDRINUSE;
  server.streams.refuse_at = address("127.0.0.1").host;
  server.listener(address("0.0.0.0", 7174));
  EXPECT_EQ(server.explained, std::vector{ReasonId::iwcm_listen});
  EXPECT_EQ(server.streams.listening(), 0U) << "nor does it listen by TCP at some addresses";
}

// All or none, also when addresses come and go.
TEST_F(BothKinds, WhoGoesWithoutTcpGetsItAsAWhole) {
  server.streams.refuse_to_listen = EADDRINUSE;
  server.streams.refuse_at = address("127.0.0.1").host;
  server.listener(address("0.0.0.0", 7174));
  server.manager.devices_changed({server.device});
  EXPECT_EQ(server.streams.listening(), 0U);
  server.streams.refuse_to_listen = 0;
  server.manager.devices_changed({server.device});
  EXPECT_EQ(server.streams.listening(), 2U) << "10.0.0.1 and 127.0.0.1";
}

TEST_F(BothKinds, WhatElseKeepsTcpFromListeningIsTold) {
  for (const int error : {EACCES, EMFILE, ENOBUFS}) {
    server.streams.refuse_to_listen = error;
    const IdNumber id = id_of(server, "");
    ASSERT_EQ(error_of(server.manager.bind(id, address("0.0.0.0", 7174))), 0);
    EXPECT_EQ(error_of(server.manager.listen(id, 1)), error);
    EXPECT_TRUE(server.manager.destroy(id));
  }
  EXPECT_TRUE(server.explained.empty());
}

TEST_F(BothKinds, DatagramsGoByTheDeviceThatHasThem) {
  const IdNumber id = client.routed(address("10.0.0.1", 7174), PortSpace::udp);
  EXPECT_EQ(client.manager.view(id)->binding.kind, device::Kind::roce_v2);
}

}  // namespace
}  // namespace softrnic::cma
