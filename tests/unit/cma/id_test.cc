// Ids by themselves: binding, resolution, options, channels, groups, devices that go.
#include <cstring>

#include "base/reason_id.h"
#include "tests/unit/cma/network.h"

namespace softrnic::cma {
namespace {

Bytes bytes_of_int(const int& value) { return std::as_bytes(std::span(&value, 1)); }

class Ids : public TwoNodes {
 protected:
  State state(IdNumber id) { return client.manager.view(id)->state; }
};

TEST_F(Ids, BindGivesAPortAtOnce) {
  const IdNumber id = client.make_id();
  ASSERT_TRUE(client.manager.bind(id, address("0.0.0.0")));
  EXPECT_GE(client.manager.view(id)->source.port, kFirstEphemeralPort);
  EXPECT_EQ(client.manager.view(id)->binding.device, 0U);
  EXPECT_EQ(error_of(client.manager.bind(id, address("0.0.0.0"))), EINVAL);
  const IdNumber bound = client.make_id();
  ASSERT_TRUE(
      client.manager.bind(bound, address("10.0.0.2", 80)));  // below 1024: the daemon is the user's own
  EXPECT_EQ(client.manager.view(bound)->binding.device, 1U);
  EXPECT_EQ(error_of(client.manager.bind(client.make_id(), address("10.0.0.2", 80))), EADDRINUSE);
  EXPECT_EQ(error_of(client.manager.bind(client.make_id(), address("10.0.0.77", 80))), EADDRNOTAVAIL);
  EXPECT_EQ(error_of(client.manager.bind(client.make_id(), address("fe80::1", 80))), EINVAL);
  EXPECT_EQ(error_of(client.manager.bind(client.make_id(), {})), EAFNOSUPPORT);
  ASSERT_TRUE(client.manager.destroy(bound));
  EXPECT_TRUE(client.manager.bind(client.make_id(), address("10.0.0.2", 80)));
}

TEST_F(Ids, PortSpacesThatAreRefused) {
  EXPECT_EQ(error_of(client.manager.create({1, client.channel, RDMA_PS_IPOIB, IBV_QPT_UD})), EPROTONOSUPPORT);
  EXPECT_EQ(error_of(client.manager.create({1, client.channel, RDMA_PS_IB, IBV_QPT_RAW_PACKET})), EINVAL);
  EXPECT_EQ(error_of(client.manager.create({1, 99, RDMA_PS_TCP, IBV_QPT_RC})), EINVAL);
}

TEST_F(Ids, AnAddressNobodyHas) {
  const IdNumber id = client.make_id();
  ASSERT_TRUE(client.manager.resolve_address(id, {}, address("10.0.0.9", 1), std::chrono::seconds(1)));
  const Event event = client.expect(RDMA_CM_EVENT_ADDR_ERROR);
  EXPECT_EQ(event.status, -EHOSTUNREACH);
  EXPECT_EQ(state(id), State::address_bound);
  // it may try another one
  ASSERT_TRUE(client.manager.resolve_address(id, {}, address("10.0.0.1", 1), std::chrono::seconds(1)));
  client.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
  EXPECT_EQ(client.manager.view(id)->source.host, address("10.0.0.2").host);
}

TEST_F(Ids, FamiliesHaveToAgree) {
  const IdNumber id = client.make_id();
  EXPECT_EQ(
      error_of(client.manager.resolve_address(id, address("10.0.0.2"), address("fd00::1", 1), Duration{})),
      EINVAL);
  EXPECT_EQ(state(id), State::idle);
}

TEST_F(Ids, ReuseAddressAndFamilyOnly) {
  const int yes = 1, no = 0;
  const IdNumber a = client.make_id(), b = client.make_id(), c = client.make_id();
  const auto set = [&](IdNumber id, std::uint32_t option, const int& value) {
    return error_of(client.manager.set_option(id, RDMA_OPTION_ID, option, bytes_of_int(value)));
  };
  EXPECT_EQ(set(a, RDMA_OPTION_ID_REUSEADDR, yes), 0);
  EXPECT_EQ(set(b, RDMA_OPTION_ID_REUSEADDR, yes), 0);
  ASSERT_TRUE(client.manager.bind(a, address("10.0.0.2", 5000)));
  EXPECT_TRUE(client.manager.bind(b, address("10.0.0.2", 5000)));
  EXPECT_EQ(error_of(client.manager.listen(a, 1)), EADDRINUSE);
  EXPECT_EQ(state(a), State::address_bound);
  EXPECT_EQ(set(c, RDMA_OPTION_ID_AFONLY, yes), 0);
  ASSERT_TRUE(client.manager.bind(c, address("::", 5001)));
  EXPECT_TRUE(client.manager.bind(client.make_id(), address("0.0.0.0", 5001)));
  ASSERT_TRUE(client.manager.listen(c, 1));
  EXPECT_EQ(set(c, RDMA_OPTION_ID_AFONLY, no), EINVAL);
  EXPECT_EQ(set(c, 77, no), ENOSYS);
}

TEST_F(Ids, TosAndAckTimeoutShapeThePath) {
  const IdNumber id = client.make_id();
  const std::byte tos{0x28}, timeout{14};
  ASSERT_TRUE(client.manager.set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, std::span(&tos, 1)));
  ASSERT_TRUE(
      client.manager.set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, std::span(&timeout, 1)));
  ASSERT_TRUE(client.manager.resolve_address(id, {}, address("10.0.0.1", 1), Duration{}));
  ASSERT_TRUE(client.manager.resolve_route(id, std::chrono::seconds(2)));
  const IdView view = *client.manager.view(id);
  EXPECT_EQ(view.path.traffic_class, 0x28);
  EXPECT_EQ(view.path.ack_timeout, 14);
  EXPECT_EQ(view.packet_life_time, 13);
}

TEST_F(Ids, EventsAreCountedAndMoveWithTheId) {
  const IdNumber id = client.routed(address("10.0.0.1", 1));
  ASSERT_TRUE(client.manager.connect(id, {.qpn = 1}, {}));
  network.deliver();  // rejected, and not fetched
  const ChannelNumber other = client.manager.open_channel();
  const auto fetched = client.manager.migrate(id, other);
  ASSERT_TRUE(fetched);
  EXPECT_EQ(*fetched, 2U);
  EXPECT_EQ(client.posts[other], 1);
  EXPECT_FALSE(client.manager.next_event(client.channel));
  EXPECT_TRUE(client.manager.close_channel(client.channel));
  ASSERT_TRUE(client.manager.next_event(other));
  EXPECT_EQ(*client.manager.destroy(id), 3U);
  EXPECT_TRUE(client.manager.close_channel(other));
}

TEST_F(Ids, EndWithTheirChannel) {
  const ChannelNumber other = server.manager.open_channel();
  const IdNumber listening = server.listener(address("0.0.0.0", 7174));
  ASSERT_TRUE(server.manager.migrate(listening, other));
  const IdNumber id = client.routed(address("10.0.0.1", 7174));
  ASSERT_TRUE(client.manager.connect(id, {.qpn = 1}, {}));
  network.deliver();
  EXPECT_TRUE(server.manager.close_channel(other));
  EXPECT_EQ(server.explained.back(), ReasonId::cma_ids_ended);
  network.deliver();
  EXPECT_EQ(client.expect(RDMA_CM_EVENT_REJECTED).id, id);
  EXPECT_EQ(server.manager.ids(), 0U);
  server.listener(address("0.0.0.0", 7174));  // the port is free
}

TEST_F(Ids, GroupsAreTheirOwnGids) {
  const IdNumber id = client.make_id(PortSpace::udp, 1);
  EXPECT_EQ(error_of(client.manager.join_multicast(id, 9, 0, address("239.1.1.1"))), EINVAL);
  ASSERT_TRUE(client.manager.bind(id, address("10.0.0.2")));
  EXPECT_EQ(error_of(client.manager.join_multicast(id, 9, 0, address("10.0.0.1"))), EINVAL);
  const auto membership = client.manager.join_multicast(id, 9, 0, address("239.1.1.1"));
  ASSERT_TRUE(membership);
  const Event event = client.expect(RDMA_CM_EVENT_MULTICAST_JOIN);
  EXPECT_EQ(event.cookie, 9U);
  EXPECT_EQ(event.membership, *membership);
  EXPECT_EQ(event.parameters.qpn, 0xffffffU);
  EXPECT_EQ(event.parameters.qkey, unsigned{RDMA_UDP_QKEY});
  EXPECT_EQ(event.address.gid, address("239.1.1.1").host);
  EXPECT_EQ(*client.manager.leave_multicast(*membership), 1U);
  EXPECT_EQ(error_of(client.manager.leave_multicast(*membership)), EADDRNOTAVAIL);
}

TEST_F(Ids, DevicesChangeAndGo) {
  const IdNumber bound = client.make_id(PortSpace::tcp, 7), wildcard = client.make_id();
  ASSERT_TRUE(client.manager.bind(bound, address("10.0.0.2", 1)));
  ASSERT_TRUE(client.manager.bind(wildcard, address("0.0.0.0", 2)));
  device::DeviceInfo moved = client.device;
  moved.guid = 0x33;
  client.manager.devices_changed({moved});
  EXPECT_EQ(client.expect(RDMA_CM_EVENT_ADDR_CHANGE).id, bound);
  client.manager.devices_changed({});
  EXPECT_EQ(client.expect(RDMA_CM_EVENT_DEVICE_REMOVAL).cookie, 7U);
  EXPECT_EQ(state(bound), State::device_removal);
  EXPECT_EQ(state(wildcard), State::address_bound);
  EXPECT_FALSE(client.manager.next_event(client.channel));
  EXPECT_TRUE(client.manager.destroy(bound));
}

TEST_F(Ids, AServiceIdOfItsOwn) {
  const IdNumber id = client.make_id(PortSpace::ib, 1, IBV_QPT_UC);
  SocketAddress gid = SocketAddress::any(Family::ib);
  gid.host = address("fd00::2").host;
  ASSERT_TRUE(client.manager.bind(id, gid));
  const IdView view = *client.manager.view(id);
  EXPECT_EQ(view.qp_type, IBV_QPT_UC);
  EXPECT_EQ(view.binding.device, 1U);
  EXPECT_EQ(view.source.service_id, 0x013f0000U | view.source.port);
}

}  // namespace
}  // namespace softrnic::cma
