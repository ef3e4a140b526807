// librdmacm: events that the program writes itself.
#include <fcntl.h>

#include <chrono>
#include <future>
#include <thread>

#include "tests/abi/cm_fixture.h"
#include "tests/abi/later_calls.h"

namespace softrnic::abi_test {
namespace {

class CmUserEvents : public CmTest {
 protected:
  void SetUp() override {
    CmTest::SetUp();
    client = make_id(client_channel.get());
  }
  int write(std::uint64_t argument, int status = 0) {
    return later::write_cm_event(client.get(), later::kUser, status, argument);
  }
  static CmEventPtr next(const CmChannelPtr& channel) {
    rdma_cm_event* event = nullptr;
    EXPECT_TRUE(readable(channel->fd, kPatienceMs));
    EXPECT_EQ(rdma_get_cm_event(channel.get(), &event), 0) << std::strerror(errno);
    return CmEventPtr(event);
  }
  void expect_user(const CmChannelPtr& channel, std::uint64_t argument, int status = 0) {
    const CmEventPtr event = next(channel);
    ASSERT_NE(event, nullptr);
    EXPECT_EQ(later::type_of(*event), later::kUser);
    EXPECT_EQ(event->id, client.get());
    EXPECT_EQ(event->listen_id, nullptr);
    EXPECT_EQ(event->status, status);
    EXPECT_EQ(later::argument_of(*event), argument);
  }
};

TEST_F(CmUserEvents, ComeInTheirOrderBehindThoseOfTheLibrary) {
  sockaddr_storage address = address_of("127.0.0.1", htons(7));
  ASSERT_EQ(rdma_resolve_addr(client.get(), nullptr, generic(address), 2000), 0);
  ASSERT_TRUE(readable(client_channel->fd, kPatienceMs));
  ASSERT_EQ(write(UINT64_MAX, -5), 0);
  ASSERT_EQ(write(0x0123'4567'89ab'cdef, 1), 0);
  ASSERT_EQ(write(0), 0);
  EXPECT_NE(expect_event(client_channel.get(), RDMA_CM_EVENT_ADDR_RESOLVED), nullptr);
  expect_user(client_channel, UINT64_MAX, -5);
  expect_user(client_channel, 0x0123'4567'89ab'cdef, 1);
  expect_user(client_channel, 0);
  EXPECT_FALSE(readable(client_channel->fd, 0));
}

TEST_F(CmUserEvents, WakeAThreadThatWaits) {
  auto woken = std::async(std::launch::async, [&] {
    rdma_cm_event* event = nullptr;
    EXPECT_EQ(rdma_get_cm_event(client_channel.get(), &event), 0) << std::strerror(errno);
    return CmEventPtr(event);
  });
  EXPECT_EQ(woken.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  ASSERT_EQ(write(8), 0);
  EXPECT_EQ(later::argument_of(*woken.get()), 8U);
}

TEST_F(CmUserEvents, OtherTypesAndMissingIdsAreRefused) {
  EXPECT_REFUSED(later::write_cm_event(nullptr, later::kUser, 0, 0), EINVAL);
  for (const std::uint32_t type : {std::uint32_t{RDMA_CM_EVENT_ESTABLISHED}, later::kAddrinfoResolved,
                                   later::kAddrinfoError, later::kInternal, 20U, UINT32_MAX})
    EXPECT_REFUSED(later::write_cm_event(client.get(), type, 0, 0), EINVAL);
  EXPECT_FALSE(readable(client_channel->fd, 0));
  client_channel.reset();
  EXPECT_REFUSED(write(1), ENOENT);
}

TEST_F(CmUserEvents, AreAcknowledgedBeforeTheirIdEnds) {
  ASSERT_EQ(write(1), 0);
  CmEventPtr event = next(client_channel);
  auto destroyed = std::async(std::launch::async, [id = client.release()] { return rdma_destroy_id(id); });
  EXPECT_EQ(destroyed.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  event.reset();
  EXPECT_EQ(destroyed.get(), 0);
}

TEST_F(CmUserEvents, OfADestroyedIdAreNotDelivered) {
  ASSERT_EQ(write(1), 0);
  client.reset();
  ASSERT_EQ(fcntl(client_channel->fd, F_SETFL, O_NONBLOCK), 0);
  rdma_cm_event* event = nullptr;
  EXPECT_REFUSED(rdma_get_cm_event(client_channel.get(), &event), EAGAIN);
}

TEST_F(CmUserEvents, MoveWithTheirId) {
  ASSERT_EQ(write(1), 0);
  ASSERT_EQ(rdma_migrate_id(client.get(), server_channel.get()), 0);
  ASSERT_EQ(write(2), 0);
  expect_user(server_channel, 1);
  expect_user(server_channel, 2);
}

TEST_F(CmUserEvents, OfAConnectionRequestCome) {
  client.reset();
  listen("127.0.0.1");
  resolve("127.0.0.1");
  rdma_conn_param parameters{};
  ASSERT_EQ(rdma_connect(client.get(), &parameters), 0);
  ASSERT_NE(take_request(), nullptr);
  ASSERT_EQ(later::write_cm_event(server.get(), later::kUser, 0, 4), 0);
  const CmEventPtr event = next(server_channel);
  EXPECT_EQ(event->id, server.get());
  EXPECT_EQ(later::argument_of(*event), 4U);
}

}  // namespace
}  // namespace softrnic::abi_test
