// Connections of InfiniBand ports: paths from a subnet administrator, GIDs behind IP addresses, partitions.
#include <infiniband/sa.h>

#include <cstring>

#include "base/reason_id.h"
#include "tests/unit/cma/infiniband_ports.h"

namespace softrnic::cma {
namespace {

TEST_F(InfinibandPorts, ConnectByIpAddressesAndTheirPathHasLids) {
  server.listener(address("10.0.0.1", kPort));
  const IdNumber active = client.routed(address("10.0.0.1", kPort));
  const IdView view = *client.manager.view(active);
  EXPECT_EQ(view.source.host, address("10.0.0.2").host) << "the program sees IP addresses";
  EXPECT_EQ(view.binding.gid, gid_of(client)) << "and paths GIDs";
  EXPECT_EQ(view.destination_gid, gid_of(server));
  EXPECT_EQ(view.path.local_lid, wire::Lid(0x20));
  EXPECT_EQ(view.path.remote_lid, wire::Lid(0x10));
  EXPECT_EQ(view.path.sl, 3);
  EXPECT_EQ(view.packet_life_time, 16);

  const IdNumber passive = requested(active);
  const IdView seen = *server.manager.view(passive);
  EXPECT_EQ(seen.source, address("10.0.0.1", kPort));
  EXPECT_EQ(seen.destination, view.source);
  EXPECT_EQ(seen.binding.device, 3U);
  EXPECT_EQ(seen.path.local_lid, wire::Lid(0x10));
  EXPECT_EQ(seen.path.remote_lid, wire::Lid(0x20));
  ASSERT_TRUE(server.manager.accept(passive, 300, ConnectionParameters{.qpn = 0x111}, {}));
  network.deliver();
  client.expect(RDMA_CM_EVENT_CONNECT_RESPONSE);
  ASSERT_TRUE(client.manager.accept(active, 0, std::nullopt, {}));
  network.deliver();
  server.expect(RDMA_CM_EVENT_ESTABLISHED);
  ASSERT_TRUE(server.manager.disconnect(passive));
  network.deliver();
  client.expect(RDMA_CM_EVENT_DISCONNECTED);
}

TEST_F(InfinibandPorts, QueuePairsGetWhatThePathSays) {
  server.listener(address("0.0.0.0", kPort));
  const IdNumber active = client.routed(address("10.0.0.1", kPort));
  const IdNumber passive = requested(active);
  const QpAttributes rtr = attributes(server, passive, IBV_QPS_RTR);
  EXPECT_EQ(rtr.address.dlid, wire::Lid(0x20));
  EXPECT_EQ(rtr.address.sl, 3);
  EXPECT_EQ(rtr.address.static_rate, IBV_RATE_40_GBPS);
  EXPECT_EQ(rtr.address.source_path_bits, 0x10) << "of which the port takes none: its LMC is 0";
  EXPECT_FALSE(rtr.address.is_global) << "no router is on the way";
  EXPECT_EQ(rtr.path_mtu, IBV_MTU_2048);
  // 2 · 2^16 for the path and 2^15 for the peer
  EXPECT_EQ(attributes(server, passive, IBV_QPS_RTS).timeout, 17);
  EXPECT_EQ(attributes(client, active, IBV_QPS_INIT).pkey_index, 0);
}

TEST_F(InfinibandPorts, APathThroughARouterHasAGrh) {
  network.path_of = [this](const PathQuery& query) {
    PathAnswer answer = network.known_path(query);
    answer->hop_limit = 64;
    answer->flow_label = 0x12345;
    answer->traffic_class = 0x40;
    return std::optional(answer);
  };
  server.listener(address("0.0.0.0", kPort));
  const IdNumber active = client.routed(address("10.0.0.1", kPort));
  const IdNumber passive = requested(active);
  const QpAttributes rtr = attributes(server, passive, IBV_QPS_RTR);
  EXPECT_TRUE(rtr.address.is_global);
  EXPECT_EQ(rtr.address.gid, gid_of(client));
  EXPECT_EQ(rtr.address.dlid, wire::Lid(0x20)) << "where the REQ came from";
  EXPECT_EQ(rtr.address.flow_label, 0x12345U);
  EXPECT_EQ(rtr.address.traffic_class, 0x40);
}

// ---- who may come

TEST_F(InfinibandPorts, WhoNamesAnotherIpAddressIsRefused) {
  server.listener(address("0.0.0.0", kPort));
  const IdNumber active = client.routed(address("10.0.0.1", kPort));
  network.nodes[address("10.0.0.2").host] = &server;  // as the server's host knows it
  ASSERT_TRUE(client.manager.connect(active, {.qpn = 1}, {}));
  network.deliver();
  client.expect(RDMA_CM_EVENT_REJECTED);
  EXPECT_FALSE(server.manager.next_event(server.channel));
  ASSERT_FALSE(server.explained.empty());
  EXPECT_EQ(server.explained.back(), ReasonId::cma_foreign_source);
}

TEST_F(InfinibandPorts, ListenersAreFoundByIpAddress) {
  const IdNumber of_address = server.listener(address("10.0.0.1", kPort));
  EXPECT_EQ(server.manager.view(of_address)->binding.gid, gid_of(server));
  const IdNumber active = client.routed(address("fd00::1", kPort));
  ASSERT_TRUE(client.manager.connect(active, {.qpn = 1}, {}));
  network.deliver();
  client.expect(RDMA_CM_EVENT_REJECTED);
  ASSERT_FALSE(server.explained.empty());
  EXPECT_EQ(server.explained.back(), ReasonId::cma_listener_elsewhere);
  const IdNumber id = server.make_id();
  EXPECT_EQ(error_of(server.manager.bind(id, address("10.0.0.2"))), EADDRNOTAVAIL);
}

TEST_F(InfinibandPorts, ThisHostReachesItselfByLoopback) {
  client.listener(address("127.0.0.1", kPort));
  const IdNumber active = client.routed(address("127.0.0.1", kPort));
  EXPECT_EQ(client.manager.view(active)->destination_gid, gid_of(client));
  EXPECT_EQ(client.path_queries.back().destination, gid_of(client));
  ASSERT_TRUE(client.manager.connect(active, {.qpn = 1}, {}));
  network.deliver();
  const IdNumber passive = client.expect(RDMA_CM_EVENT_CONNECT_REQUEST).id;
  EXPECT_EQ(client.manager.view(passive)->source, address("127.0.0.1", kPort));
}

// ---- GIDs as addresses

TEST_F(InfinibandPorts, AGidNeedsNoRouteButAPath) {
  client.listener(address("10.0.0.2", kPort));
  const IdNumber listening = server.make_id(PortSpace::ib, 100);
  ASSERT_TRUE(server.manager.bind(listening, gid_address(gid_of(server))));
  ASSERT_TRUE(server.manager.listen(listening, 1));
  network.nodes.erase(gid_of(server));  // nobody answers for it as an IP address
  const IdNumber active = client.make_id(PortSpace::ib, 200);
  ASSERT_TRUE(client.manager.resolve_address(active, {}, gid_address(gid_of(server)), kTimeout));
  client.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
  EXPECT_EQ(client.manager.view(active)->source.host, gid_of(client));
  ASSERT_TRUE(client.manager.resolve_route(active, kTimeout));
  client.expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
  network.nodes[gid_of(server)] = &server;
  const IdNumber passive = requested(active, {.private_data = {std::byte{7}}, .qpn = 0x222});
  const IdView seen = *server.manager.view(passive);
  EXPECT_EQ(seen.destination.family, Family::ib);
  EXPECT_EQ(seen.destination.host, gid_of(client));
  EXPECT_EQ(attributes(server, passive, IBV_QPS_RTR).address.dlid, wire::Lid(0x20));
}

TEST_F(InfinibandPorts, AGidOfAnotherSubnetIsForTheHostToFind) {
  const IdNumber id = client.make_id(PortSpace::ib);
  ASSERT_TRUE(client.manager.resolve_address(id, {}, gid_address(address("fec0::1").host), kTimeout));
  EXPECT_EQ(client.expect(RDMA_CM_EVENT_ADDR_ERROR).status, -EHOSTUNREACH);
}

TEST_F(InfinibandPorts, APortThatIsDownDoesNotLeadToGids) {
  client.device.port.up = false;
  client.manager.devices_changed({client.device});
  network.nodes.erase(gid_of(server));
  const IdNumber id = client.make_id(PortSpace::ib);
  ASSERT_TRUE(client.manager.resolve_address(id, {}, gid_address(gid_of(server)), kTimeout));
  client.expect(RDMA_CM_EVENT_ADDR_ERROR);
}

// ---- partitions

TEST_F(InfinibandPorts, ThePartitionOfAGidAddressDecidesOnThePkeyIndex) {
  const IdNumber listening = server.make_id(PortSpace::ib);
  ASSERT_TRUE(server.manager.bind(listening, gid_address(gid_of(server), PortSpace::ib)));
  ASSERT_TRUE(server.manager.listen(listening, 1));
  const IdNumber active = client.make_id(PortSpace::ib);
  const SocketAddress to = gid_address(gid_of(server), PortSpace::ib, 0x0001);
  ASSERT_TRUE(client.manager.resolve_address(active, {}, to, kTimeout));
  client.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
  ASSERT_TRUE(client.manager.resolve_route(active, kTimeout));
  client.expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
  EXPECT_EQ(client.path_queries.back().pkey, 0x8001);
  EXPECT_EQ(attributes(client, active, IBV_QPS_INIT).pkey_index, 1);
  const IdNumber passive = requested(active);
  EXPECT_EQ(attributes(server, passive, IBV_QPS_INIT).pkey_index, 1);

  server.device.port.infiniband.pkeys = {0x8001, 0xffff};  // the subnet manager sorts them anew
  server.manager.devices_changed({server.device});
  EXPECT_EQ(attributes(server, passive, IBV_QPS_INIT).pkey_index, 0);
  server.device.port.infiniband.pkeys = {0xffff};
  server.manager.devices_changed({server.device});
  EXPECT_EQ(error_of(server.manager.init_qp_attributes(passive, IBV_QPS_INIT)), EINVAL);
}

TEST_F(InfinibandPorts, ARequestOfAForeignPartitionIsRefused) {
  server.listener(address("0.0.0.0", kPort));
  server.device.port.infiniband.pkeys = {0x8001};
  server.manager.devices_changed({server.device});
  const IdNumber active = client.routed(address("10.0.0.1", kPort));
  ASSERT_TRUE(client.manager.connect(active, {.qpn = 1}, {}));
  network.deliver();
  EXPECT_EQ(client.expect(RDMA_CM_EVENT_REJECTED).status,
            static_cast<int>(cm::RejectReason::primary_remote_gid));
  ASSERT_FALSE(server.explained.empty());
  EXPECT_EQ(server.explained.back(), ReasonId::cma_foreign_partition);
}

TEST_F(InfinibandPorts, APartitionThatThePortIsNotInCannotBeBoundTo) {
  const IdNumber id = client.make_id(PortSpace::ib);
  EXPECT_EQ(error_of(client.manager.bind(id, gid_address(gid_of(client), PortSpace::ib, 0x8005))),
            EADDRNOTAVAIL);
  EXPECT_TRUE(client.manager.bind(id, gid_address(gid_of(client), PortSpace::ib, 0x8001)));
}

TEST_F(InfinibandPorts, AnIpAddressIsInThePartitionOfTheFirstEntry) {
  client.device.port.infiniband.pkeys = {0x0001, 0xffff};  // a limited member asks as a full one, as on Linux
  client.manager.devices_changed({client.device});
  const IdNumber id = resolved();
  ASSERT_TRUE(client.manager.resolve_route(id, kTimeout));
  client.expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
  EXPECT_EQ(client.path_queries.back().pkey, 0x8001);
  EXPECT_EQ(attributes(client, id, IBV_QPS_INIT).pkey_index, 0);
}

// ---- datagrams and groups

TEST_F(InfinibandPorts, DatagramsLearnHowToAddressTheQueuePair) {
  server.listener(address("0.0.0.0", kPort), PortSpace::udp);
  const IdNumber active = client.routed(address("10.0.0.1", kPort), PortSpace::udp);
  const IdNumber passive = requested(active);
  EXPECT_EQ(server.manager.view(passive)->path.remote_lid, wire::Lid(0x20));
  ASSERT_TRUE(server.manager.accept(passive, 300, ConnectionParameters{.qpn = 0x111}, {}));
  network.deliver();
  const Event event = client.expect(RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(event.address.dlid, wire::Lid(0x10));
  EXPECT_EQ(event.address.sl, 3);
  EXPECT_FALSE(event.address.is_global);
  EXPECT_EQ(event.parameters.qpn, 0x111U);
}

TEST_F(InfinibandPorts, AGroupIsJoinedByItsMgid) {
  const IdNumber id = client.make_id(PortSpace::udp);
  const SocketAddress group = address("239.1.2.3", kPort);
  ASSERT_TRUE(client.manager.resolve_address(id, address("10.0.0.2"), group, kTimeout));
  client.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
  const wire::Gid mgid = address("ff12:4001:ffff::f01:203").host;
  EXPECT_EQ(client.manager.view(id)->destination_gid, mgid);
  const auto membership = client.manager.join_multicast(id, 9, RDMA_MC_JOIN_FLAG_FULLMEMBER, group);
  ASSERT_TRUE(membership);
  const Event event = client.expect(RDMA_CM_EVENT_MULTICAST_JOIN);
  EXPECT_EQ(event.cookie, 9U);
  EXPECT_EQ(event.address.gid, mgid);
  EXPECT_EQ(event.address.dlid, wire::Lid(0xc004));
  EXPECT_TRUE(event.address.is_global);
  EXPECT_EQ(event.parameters.qpn, 0xffffffU);
  EXPECT_EQ(client.group_queries.back().port_gid, gid_of(client));
  ASSERT_TRUE(client.manager.destroy(id));
  EXPECT_EQ(client.left_groups, std::vector{*membership});
}

// ---- given paths

TEST_F(InfinibandPorts, AGivenPathHasLids) {
  const IdNumber id = resolved();
  ibv_path_data data{};
  data.flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL;
  std::memcpy(&data.path.sgid, gid_of(client).raw.data(), sizeof data.path.sgid);
  std::memcpy(&data.path.dgid, gid_of(server).raw.data(), sizeof data.path.dgid);
  data.path.slid = htons(0x20);
  data.path.dlid = htons(0x10);
  data.path.pkey = htons(0xffff);
  data.path.qosclass_sl = htons(0x15);
  data.path.mtu = 2 << 6 | IBV_MTU_4096;
  const auto set = [&] {
    return error_of(client.manager.set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH,
                                              std::as_bytes(std::span(&data, 1))));
  };
  data.path.slid = htons(0x30);
  EXPECT_EQ(set(), EINVAL) << "another port's";
  data.path.slid = htons(0x20);
  ASSERT_EQ(set(), 0);
  client.expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
  EXPECT_TRUE(client.path_queries.empty());
  const IdView view = *client.manager.view(id);
  EXPECT_EQ(view.path.remote_lid, wire::Lid(0x10));
  EXPECT_EQ(view.path.sl, 5);
  EXPECT_EQ(view.path.mtu, IBV_MTU_4096);
}

// ---- beside RoCE

class BesideRoce : public TwoNodes {
 protected:
  BesideRoce() {
    server.become_infiniband(0x10, "192.168.0.1");
    client.become_infiniband(0x20, "192.168.0.2");
  }
};

TEST_F(BesideRoce, TheAddressDecidesOnTheDevice) {
  const IdNumber listening = server.listener(address("0.0.0.0", kPort));
  for (const auto& [from, to, device] :
       {std::tuple{"192.168.0.2", "192.168.0.1", 1U}, {"10.0.0.2", "10.0.0.1", 3U}}) {
    const IdNumber active = client.make_id();
    ASSERT_TRUE(client.manager.resolve_address(active, address(from), address(to, kPort), kTimeout));
    client.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
    ASSERT_TRUE(client.manager.resolve_route(active, kTimeout));
    client.expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
    EXPECT_EQ(client.manager.view(active)->binding.device, device);
    ASSERT_TRUE(client.manager.connect(active, {.qpn = 1}, {}));
    network.deliver();
    const Event event = server.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
    EXPECT_EQ(event.listener, listening);
    EXPECT_EQ(server.manager.view(event.id)->binding.device, device);
    EXPECT_EQ(server.manager.view(event.id)->source, address(to, kPort));
    EXPECT_EQ(server.manager.view(event.id)->path.is_infiniband(), device == 3);
  }
  EXPECT_EQ(client.path_queries.size(), 1U) << "of RoCE nobody is asked";
}

}  // namespace
}  // namespace softrnic::cma
