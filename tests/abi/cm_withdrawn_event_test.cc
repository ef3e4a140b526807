// librdmacm: events that go before the program has fetched them. A channel is readable when, and only when,
// rdma_get_cm_event would give an event (ucma_poll of Linux looks into the queue).
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/abi/cm_fixture.h"

namespace softrnic::abi_test {
namespace {

class WithdrawnCmEvents : public CmTest {
 protected:
  /// An id with an event that nobody has fetched. The channels have none before.
  CmIdPtr resolved(rdma_event_channel* channel, void* context = nullptr) {
    CmIdPtr id = make_id(channel, RDMA_PS_TCP, context);
    sockaddr_storage address = address_of("127.0.0.1", htons(7));
    EXPECT_EQ(rdma_resolve_addr(id.get(), nullptr, generic(address), 2000), 0) << std::strerror(errno);
    EXPECT_TRUE(readable(channel->fd, kPatienceMs));
    return id;
  }
  static void set_nonblocking(rdma_event_channel* channel) {
    ASSERT_EQ(fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK), 0);
  }
  static bool selected(int fd) {
    fd_set wanted;
    FD_ZERO(&wanted);
    FD_SET(fd, &wanted);
    timeval now{};
    return select(fd + 1, &wanted, nullptr, nullptr, &now) == 1;
  }
  static void expect_empty(rdma_event_channel* channel) {
    EXPECT_FALSE(readable(channel->fd, 0));
    EXPECT_FALSE(selected(channel->fd));
    set_nonblocking(channel);
    rdma_cm_event* event = nullptr;
    EXPECT_REFUSED(rdma_get_cm_event(channel, &event), EAGAIN);
  }
  /// A client whose request the server's channel has.
  CmIdPtr requesting() {
    resolve("127.0.0.1");
    rdma_conn_param parameters{};
    EXPECT_EQ(rdma_connect(client.get(), &parameters), 0) << std::strerror(errno);
    return std::move(client);
  }
};

TEST_F(WithdrawnCmEvents, OfADestroyedId) {
  resolved(client_channel.get()).reset();
  expect_empty(client_channel.get());
}

TEST_F(WithdrawnCmEvents, AreNoneForEpoll) {
  const int level = epoll_create1(EPOLL_CLOEXEC), edge = epoll_create1(EPOLL_CLOEXEC);
  epoll_event wanted{}, got{};
  wanted.events = EPOLLIN;
  ASSERT_EQ(epoll_ctl(level, EPOLL_CTL_ADD, client_channel->fd, &wanted), 0);
  wanted.events = EPOLLIN | EPOLLET;
  ASSERT_EQ(epoll_ctl(edge, EPOLL_CTL_ADD, client_channel->fd, &wanted), 0);
  CmIdPtr id = resolved(client_channel.get());
  EXPECT_EQ(epoll_wait(level, &got, 1, 0), 1);
  id.reset();
  EXPECT_EQ(epoll_wait(level, &got, 1, 0), 0);
  EXPECT_EQ(epoll_wait(edge, &got, 1, 0), 0);
  id = resolved(client_channel.get());
  EXPECT_EQ(epoll_wait(edge, &got, 1, 0), 1) << "the next is an edge again";
  EXPECT_NE(expect_event(client_channel.get(), RDMA_CM_EVENT_ADDR_RESOLVED), nullptr);
  close(level);
  close(edge);
}

TEST_F(WithdrawnCmEvents, LeaveThoseOfOtherIds) {
  CmIdPtr gone = resolved(client_channel.get());
  client = make_id(client_channel.get());
  sockaddr_storage own = address_of("127.0.0.1");
  ASSERT_EQ(rdma_resolve_addr(client.get(), nullptr, generic(own), 2000), 0);
  gone.reset();
  const CmEventPtr event = expect_event(client_channel.get(), RDMA_CM_EVENT_ADDR_RESOLVED);
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(event->id, client.get());
  expect_empty(client_channel.get());
}

TEST_F(WithdrawnCmEvents, OfAnIdThatMoved) {
  client = resolved(client_channel.get());
  ASSERT_EQ(rdma_migrate_id(client.get(), server_channel.get()), 0) << std::strerror(errno);
  expect_empty(client_channel.get());
  EXPECT_NE(expect_event(server_channel.get(), RDMA_CM_EVENT_ADDR_RESOLVED), nullptr);
  expect_empty(server_channel.get());
}

TEST_F(WithdrawnCmEvents, OfAGroupThatWasLeft) {
  client = make_id(client_channel.get(), RDMA_PS_UDP);
  sockaddr_storage own = address_of("127.0.0.1"), group = address_of("239.1.2.3");
  ASSERT_EQ(rdma_bind_addr(client.get(), generic(own)), 0);
  make_qp(client.get());
  ASSERT_EQ(rdma_join_multicast(client.get(), generic(group), nullptr), 0) << std::strerror(errno);
  ASSERT_TRUE(readable(client_channel->fd, kPatienceMs));
  ASSERT_EQ(rdma_leave_multicast(client.get(), generic(group)), 0) << std::strerror(errno);
  expect_empty(client_channel.get());
}

TEST_F(WithdrawnCmEvents, OfADestroyedListener) {
  listen("127.0.0.1");
  client = requesting();
  ASSERT_TRUE(readable(server_channel->fd, kPatienceMs));
  listener.reset();
  expect_empty(server_channel.get());
  constexpr int kConsumerDefined = 28;
  EXPECT_NE(expect_event(client_channel.get(), RDMA_CM_EVENT_REJECTED, kConsumerDefined), nullptr);
}

// The program may be between poll and rdma_get_cm_event. Linux tells of the request; accepting it fails.
TEST_F(WithdrawnCmEvents, ARequestThatIsTakenBackIsToldOfAllTheSame) {
  listen("127.0.0.1");
  set_nonblocking(server_channel.get());
  CmIdPtr first = requesting();
  ASSERT_TRUE(readable(server_channel->fd, kPatienceMs));
  first.reset();
  const CmIdPtr second = requesting();  // whose request comes when the end of the first has come
  const CmEventPtr over = expect_event(server_channel.get(), RDMA_CM_EVENT_CONNECT_REQUEST);
  ASSERT_NE(over, nullptr);
  const CmIdPtr gone(over->id);
  const CmEventPtr there = expect_event(server_channel.get(), RDMA_CM_EVENT_CONNECT_REQUEST);
  ASSERT_NE(there, nullptr);
  server.reset(there->id);
  expect_empty(server_channel.get());
  make_qp(gone.get());
  rdma_conn_param parameters{};
  EXPECT_REFUSED(rdma_accept(gone.get(), &parameters), EINVAL);
  make_qp(server.get());
  EXPECT_EQ(rdma_accept(server.get(), &parameters), 0) << std::strerror(errno);
}

// Threads that wait have the count of an event in their hands when it is withdrawn. None is lost, and none is
// left over.
TEST_F(WithdrawnCmEvents, LeaveThreadsThatWaitTheirOwn) {
  constexpr int kThreads = 3, kRounds = 60;
  int last = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, channel = client_channel.get()] {
      for (bool over = false; !over;) {
        rdma_cm_event* event = nullptr;
        ASSERT_EQ(rdma_get_cm_event(channel, &event), 0) << std::strerror(errno);
        over = event->id->context == &last;
        EXPECT_EQ(rdma_ack_cm_event(event), 0);
      }
    });
  }
  sockaddr_storage address = address_of("127.0.0.1", htons(7));
  for (int round = 0; round < kRounds; ++round) {
    const CmIdPtr id = make_id(client_channel.get());
    ASSERT_EQ(rdma_resolve_addr(id.get(), nullptr, generic(address), 2000), 0);
  }
  std::vector<CmIdPtr> ids;
  for (int t = 0; t < kThreads; ++t) {
    ids.push_back(make_id(client_channel.get(), RDMA_PS_TCP, &last));
    ASSERT_EQ(rdma_resolve_addr(ids.back().get(), nullptr, generic(address), 2000), 0);
  }
  for (std::thread& thread : threads) thread.join();
  expect_empty(client_channel.get());
}

}  // namespace
}  // namespace softrnic::abi_test
