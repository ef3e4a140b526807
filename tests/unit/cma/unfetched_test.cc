// Requests that the program has not fetched yet: it cannot know of their ids, and never hears of one that is
// over, unless it would hear of nothing at all.
#include "tests/unit/cma/network.h"

namespace softrnic::cma {
namespace {

class Unfetched : public TwoNodes {
 protected:
  void SetUp() override {
    listening = server.listener(address("10.0.0.1", kPort));
    connecting = client.routed(address("10.0.0.1", kPort));
    ASSERT_TRUE(client.manager.connect(connecting, {.qpn = 0x222}, {}));
    network.deliver();
    unfetched = server.manager.next_id(listening);
    ASSERT_NE(unfetched, 0U);
  }
  IdNumber listening = 0, connecting = 0, unfetched = 0;
};

// A number that the program guessed. Whatever it called with it would take effect before the
// event that tells of the id.
TEST_F(Unfetched, NoCallKnowsTheIdOfARequest) {
  cma::Manager& manager = server.manager;
  const ChannelNumber other = manager.open_channel();
  const std::byte tos{8};
  EXPECT_EQ(error_of(manager.destroy(unfetched)), ENOENT);
  EXPECT_EQ(error_of(manager.migrate(unfetched, other)), ENOENT);
  EXPECT_EQ(error_of(manager.accept(unfetched, 1, ConnectionParameters{.qpn = 0x111}, {})), ENOENT);
  EXPECT_EQ(error_of(manager.reject(unfetched, cm::RejectReason::consumer_defined, {})), ENOENT);
  EXPECT_EQ(error_of(manager.disconnect(unfetched)), ENOENT);
  EXPECT_EQ(error_of(manager.notify(unfetched, IBV_EVENT_COMM_EST)), ENOENT);
  EXPECT_EQ(error_of(manager.init_qp_attributes(unfetched, IBV_QPS_RTR)), ENOENT);
  EXPECT_EQ(error_of(manager.set_option(unfetched, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, std::span(&tos, 1))),
            ENOENT);
  EXPECT_EQ(error_of(manager.join_multicast(unfetched, 1, 0, address("239.1.1.1"))), ENOENT);
  network.deliver();
  EXPECT_FALSE(client.manager.next_event(client.channel)) << "and its peer has seen nothing of all that";
}

TEST_F(Unfetched, IsAnIdLikeAnyOnceItsEventWasFetched) {
  EXPECT_EQ(server.expect(RDMA_CM_EVENT_CONNECT_REQUEST).id, unfetched);
  ASSERT_TRUE(server.manager.accept(unfetched, 1, ConnectionParameters{.qpn = 0x111}, {}));
  network.deliver();
  client.expect(RDMA_CM_EVENT_CONNECT_RESPONSE);
  EXPECT_EQ(error_of(server.manager.destroy(unfetched)), 0);
}

TEST_F(Unfetched, ItsListenerTakesNoMoreOnceItIsBeingDestroyed) {
  const auto waiting = server.manager.quiesce(listening);
  ASSERT_TRUE(waiting && *waiting == 1);
  const IdNumber late = client.routed(address("10.0.0.1", kPort));
  ASSERT_TRUE(client.manager.connect(late, {.qpn = 0x333}, {}));
  network.deliver();
  EXPECT_EQ(server.manager.ids(), 2U) << "nobody would ever hear of its id";
  EXPECT_EQ(client.expect(RDMA_CM_EVENT_REJECTED).id, late);
}

TEST_F(Unfetched, EndsWithItsListenerAndTheListenerIsNotHeldUpByIt) {
  const auto fetched = server.manager.destroy(listening);
  ASSERT_TRUE(fetched);
  EXPECT_EQ(*fetched, 0U);
  EXPECT_FALSE(server.manager.next_event(server.channel));
  EXPECT_EQ(server.manager.ids(), 0U);
  network.deliver();
  EXPECT_EQ(client.expect(RDMA_CM_EVENT_REJECTED).id, connecting);
}

TEST_F(Unfetched, EndsWithItsListenerOnAnotherChannel) {
  const ChannelNumber other = server.manager.open_channel();
  ASSERT_TRUE(server.manager.migrate(listening, other));
  EXPECT_TRUE(server.manager.close_channel(server.channel)) << "nothing is left there";
  ASSERT_TRUE(server.manager.destroy(listening));
  EXPECT_FALSE(server.manager.next_event(other));
  EXPECT_EQ(server.manager.ids(), 0U);
}

// Linux lets the program find out: the event comes, and accepting fails.
TEST_F(Unfetched, OutlivesItsDeviceUntilTheProgramDestroysIt) {
  server.manager.devices_changed({});
  server.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  EXPECT_EQ(server.expect(RDMA_CM_EVENT_DEVICE_REMOVAL).id, listening);
  EXPECT_EQ(error_of(server.manager.accept(unfetched, 1, ConnectionParameters{.qpn = 0x111}, {})), EINVAL);
  EXPECT_EQ(error_of(server.manager.destroy(unfetched)), 0);
  EXPECT_EQ(*server.manager.destroy(listening), 2U);
  EXPECT_EQ(server.manager.ids(), 0U);
}

// Linux tells of it all the same.
TEST_F(Unfetched, IsToldOfThoughItsPeerHasGoneWhereNothingElseIs) {
  ASSERT_TRUE(client.manager.destroy(connecting));
  network.deliver();
  EXPECT_EQ(server.manager.withdrawn(server.channel), 0U);
  EXPECT_EQ(server.expect(RDMA_CM_EVENT_CONNECT_REQUEST).id, unfetched);
  EXPECT_EQ(error_of(server.manager.accept(unfetched, 1, ConnectionParameters{.qpn = 0x111}, {})), EINVAL);
  EXPECT_FALSE(server.manager.next_event(server.channel));
  EXPECT_EQ(error_of(server.manager.destroy(unfetched)), 0);
  EXPECT_EQ(*server.manager.destroy(listening), 1U);
  EXPECT_EQ(server.manager.ids(), 0U);
}

// The peer's end counts after a removal too: nobody would ever tell the program of a request that is over.
TEST_F(Unfetched, ItsPeerGoesAfterItsDevice) {
  server.manager.devices_changed({});
  ASSERT_TRUE(client.manager.destroy(connecting));
  network.deliver();
  server.expect(RDMA_CM_EVENT_DEVICE_REMOVAL);
  EXPECT_FALSE(server.manager.next_event(server.channel));
  EXPECT_EQ(server.manager.ids(), 1U);
  EXPECT_EQ(*server.manager.destroy(listening), 1U);
}

}  // namespace
}  // namespace softrnic::cma
