// Events that programs write themselves: they stand in line with those of the manager.
#include "tests/unit/cma/network.h"

namespace softrnic::cma {
namespace {

constexpr std::uint32_t kUser = 18;  // RDMA_CM_EVENT_USER

class WrittenEvents : public TwoNodes {
 protected:
  std::optional<Event> next() { return client.manager.next_event(client.channel); }
};

TEST_F(WrittenEvents, StandBehindWhatIsThereAndTellWhatWasGiven) {
  const IdNumber id = client.make_id(PortSpace::tcp, 77);
  const int posts = client.posts[client.channel];
  ASSERT_TRUE(client.manager.resolve_address(id, {}, address("10.0.0.1", 1), std::chrono::seconds(1)));
  ASSERT_TRUE(client.manager.write_event(id, kUser, -5, UINT64_MAX));
  EXPECT_EQ(client.posts[client.channel], posts + 2);
  client.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
  const auto event = next();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, kUser);
  EXPECT_EQ(event->status, -5);
  EXPECT_EQ(event->argument, UINT64_MAX);
  EXPECT_EQ(event->id, id);
  EXPECT_EQ(event->cookie, 77U);
  EXPECT_EQ(client.manager.destroy(id).value(), 2U) << "each waits for its acknowledgement";
}

TEST_F(WrittenEvents, GoWithTheirId) {
  const IdNumber moved = client.make_id(), ended = client.make_id();
  for (const IdNumber id : {moved, ended}) ASSERT_TRUE(client.manager.write_event(id, kUser, 0, id));
  const ChannelNumber other = client.manager.open_channel();
  ASSERT_TRUE(client.manager.migrate(moved, other));
  EXPECT_EQ(client.manager.destroy(ended).value(), 0U);
  EXPECT_FALSE(next());
  EXPECT_EQ(client.manager.next_event(other)->argument, moved);
}

TEST_F(WrittenEvents, AreNotThoseOfTheManager) {
  const IdNumber id = client.make_id();
  EXPECT_EQ(error_of(client.manager.write_event(id, RDMA_CM_EVENT_ESTABLISHED, 0, 0)), EINVAL);
  EXPECT_EQ(error_of(client.manager.write_event(99, kUser, 0, 0)), ENOENT);
  EXPECT_FALSE(next());
}

TEST_F(WrittenEvents, OfAnIdThatIsNotAcceptedYetComeToo) {
  server.listener(address("10.0.0.1", kPort));
  ASSERT_TRUE(client.manager.connect(client.routed(address("10.0.0.1", kPort)), {.qpn = 0x222}, {}));
  network.deliver();
  const IdNumber request = server.expect(RDMA_CM_EVENT_CONNECT_REQUEST).id;
  ASSERT_TRUE(server.manager.write_event(request, kUser, 0, 3));
  const auto event = server.manager.next_event(server.channel);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->id, request);
  EXPECT_EQ(event->cookie, 0U) << "the library knows it by its number";
}

TEST_F(WrittenEvents, AreNotMoreThanTheDaemonHasRoomFor) {
  const IdNumber id = client.make_id(), other = client.make_id();
  for (std::size_t i = 0; i < IdEvents::kMost; ++i) ASSERT_TRUE(client.manager.write_event(id, kUser, 0, i));
  EXPECT_EQ(error_of(client.manager.write_event(other, kUser, 0, 0)), ENOMEM);
  EXPECT_EQ(next()->argument, 0U);
  EXPECT_TRUE(client.manager.write_event(other, kUser, 0, 0));
  EXPECT_EQ(error_of(client.manager.write_event(other, kUser, 0, 0)), ENOMEM);
  ASSERT_TRUE(client.manager.migrate(id, client.manager.open_channel()));
  EXPECT_EQ(error_of(client.manager.write_event(other, kUser, 0, 0)), ENOMEM) << "as many as before";
  ASSERT_TRUE(client.manager.destroy(id));
  EXPECT_TRUE(client.manager.write_event(other, kUser, 0, 0));
}

TEST_F(WrittenEvents, LeaveRoomWhenTheirChannelIsClosed) {
  const ChannelNumber other = client.manager.open_channel();
  const auto id = client.manager.create({1, other, RDMA_PS_TCP, IBV_QPT_RC});
  ASSERT_TRUE(id);
  for (std::size_t i = 0; i < IdEvents::kMost; ++i) ASSERT_TRUE(client.manager.write_event(*id, kUser, 0, i));
  ASSERT_TRUE(client.manager.close_channel(other));
  EXPECT_TRUE(client.manager.write_event(client.make_id(), kUser, 0, 0));
}

}  // namespace
}  // namespace softrnic::cma
