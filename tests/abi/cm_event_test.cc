// librdmacm: event channels as descriptors, acknowledgements, synchronous ids, migration, threads and forks.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <future>
#include <thread>
#include <vector>

#include "tests/abi/cm_fixture.h"
#include "tests/support/fork_at_rest.h"

namespace softrnic::abi_test {
namespace {

using CmEvents = CmTest;

void resolve_loopback(rdma_cm_id* id) {
  sockaddr_storage address = address_of("127.0.0.1", htons(7));
  ASSERT_EQ(rdma_resolve_addr(id, nullptr, generic(address), 2000), 0) << std::strerror(errno);
}

// Rule 7.
TEST_F(CmEvents, WithoutWaitingThereIsEagain) {
  ASSERT_EQ(fcntl(client_channel->fd, F_SETFL, fcntl(client_channel->fd, F_GETFL) | O_NONBLOCK), 0);
  rdma_cm_event* event = nullptr;
  EXPECT_EQ(rdma_get_cm_event(client_channel.get(), &event), -1);
  EXPECT_EQ(errno, EAGAIN);
  client = make_id(client_channel.get());
  resolve_loopback(client.get());
  ASSERT_NE(expect_event(client_channel.get(), RDMA_CM_EVENT_ADDR_RESOLVED), nullptr);
  EXPECT_EQ(rdma_get_cm_event(client_channel.get(), &event), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(CmEvents, EachIsAnEdgeForEpoll) {
  const int watcher = epoll_create1(EPOLL_CLOEXEC);
  epoll_event wanted{};
  wanted.events = EPOLLIN | EPOLLET;
  ASSERT_EQ(epoll_ctl(watcher, EPOLL_CTL_ADD, client_channel->fd, &wanted), 0);
  std::vector<CmIdPtr> ids;
  for (int i = 0; i < 3; ++i) {
    ids.push_back(make_id(client_channel.get()));
    resolve_loopback(ids.back().get());
    epoll_event got{};
    ASSERT_EQ(epoll_wait(watcher, &got, 1, kPatienceMs), 1)
        << "event " << i << ", the earlier ones not fetched";
  }
  for (int i = 0; i < 3; ++i)
    ASSERT_NE(expect_event(client_channel.get(), RDMA_CM_EVENT_ADDR_RESOLVED), nullptr);
  EXPECT_FALSE(readable(client_channel->fd, 0));
  close(watcher);
}

/// SIGUSR1 does nothing but interrupt.
class Interrupts {
 public:
  Interrupts() {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    sigaction(SIGUSR1, &action, &old_);  // without SA_RESTART
  }
  ~Interrupts() { sigaction(SIGUSR1, &old_, nullptr); }
  /// Again until `done`: the first may come before the wait.
  static void until(const std::atomic<bool>& done, pthread_t thread) {
    while (!done) {
      pthread_kill(thread, SIGUSR1);
      std::this_thread::yield();
    }
  }

 private:
  struct sigaction old_ {};
};

TEST_F(CmEvents, ASignalEndsTheWaiting) {
  const Interrupts interrupts;
  std::atomic<bool> done{false};
  std::thread nudge([&done, waiting = pthread_self()] { Interrupts::until(done, waiting); });
  rdma_cm_event* event = nullptr;
  EXPECT_EQ(rdma_get_cm_event(client_channel.get(), &event), -1);
  EXPECT_EQ(errno, EINTR);
  done = true;
  nudge.join();
}

// rping does so, and ends. The kernel leaves the thread waiting.
TEST_F(CmEvents, WhoWaitsOnADestroyedChannelGoesOnWaiting) {
  const Interrupts interrupts;
  std::atomic<bool> done{false};
  int error = 0;
  const int count = dup(client_channel->fd);
  std::thread waiting([&, channel = client_channel.get()] {
    rdma_cm_event* event = nullptr;
    error = rdma_get_cm_event(channel, &event) == 0 ? 0 : errno;
    done = true;
  });
  // A count without an event wakes the thread, and does not end its call.
  const auto wake = [count] {
    ASSERT_EQ(eventfd_write(count, 1), 0);
    while (readable(count, 0)) std::this_thread::yield();
  };
  wake();
  client_channel.reset();
  wake();
  Interrupts::until(done, waiting.native_handle());
  waiting.join();
  EXPECT_EQ(error, EINTR);
  close(count);
}

TEST_F(CmEvents, DestroyingAnIdWaitsForAcknowledgements) {
  client = make_id(client_channel.get());
  resolve_loopback(client.get());
  CmEventPtr event = expect_event(client_channel.get(), RDMA_CM_EVENT_ADDR_RESOLVED);
  ASSERT_NE(event, nullptr);
  auto destroyed = std::async(std::launch::async, [id = client.release()] { return rdma_destroy_id(id); });
  EXPECT_EQ(destroyed.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  event.reset();
  EXPECT_EQ(destroyed.get(), 0);
}

// A thread that polls the channel is woken and takes its time. If the event went with its id meanwhile, the
// thread would wait for it without end: here it would get EAGAIN.
TEST_F(CmEvents, AThreadThatIsWokenGetsItsEventThoughTheIdIsDestroyed) {
  // The library waits for the thread for some milliseconds, which on a busy machine is not always enough.
  constexpr int kEnough = 10, kMostRounds = 400;
  std::atomic<int> woken{0}, destroying{0}, done{0}, fetched{0};
  fcntl(client_channel->fd, F_SETFL, O_NONBLOCK);
  std::thread fetcher([&, channel = client_channel.get()] {
    for (int round = 1; round <= kMostRounds && fetched < kEnough; ++round) {
      if (!readable(channel->fd, kPatienceMs)) return;
      woken = round;
      if (round > 1) {  // the first time it becomes known as the thread that fetches
        while (destroying < round) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // NOLINT(no-sleep): a thread that is slow
      }
      rdma_cm_event* event = nullptr;
      if (rdma_get_cm_event(channel, &event) == 0) {
        ++fetched;
        EXPECT_EQ(rdma_ack_cm_event(event), 0);
      }
      done = round;
    }
  });
  for (int round = 1; round <= kMostRounds && fetched < kEnough; ++round) {
    client = make_id(client_channel.get());
    resolve_loopback(client.get());
    while (woken < round) std::this_thread::yield();
    destroying = round;
    if (round > 1) client.reset();
    while (done < round) std::this_thread::yield();
    client.reset();
  }
  fetcher.join();
  EXPECT_EQ(fetched, kEnough);
}

TEST_F(CmEvents, WithTheirChannelIdsEnd) {
  connect();
  server_channel.reset();
  EXPECT_NE(expect_event(client_channel.get(), RDMA_CM_EVENT_DISCONNECTED), nullptr);
  // What is left of them can be destroyed; the fixture does.
  EXPECT_EQ(rdma_disconnect(server.get()), -1);
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(CmEvents, ThoseOfADestroyedIdAreNotDelivered) {
  client = make_id(client_channel.get());
  resolve_loopback(client.get());
  ASSERT_TRUE(readable(client_channel->fd, kPatienceMs));
  client.reset();
  ASSERT_EQ(fcntl(client_channel->fd, F_SETFL, O_NONBLOCK), 0);
  rdma_cm_event* event = nullptr;
  EXPECT_EQ(rdma_get_cm_event(client_channel.get(), &event), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(CmEvents, MoveWithTheirId) {
  client = make_id(client_channel.get());
  resolve_loopback(client.get());
  ASSERT_TRUE(readable(client_channel->fd, kPatienceMs));
  ASSERT_EQ(rdma_migrate_id(client.get(), server_channel.get()), 0) << std::strerror(errno);
  EXPECT_EQ(client->channel, server_channel.get());
  const CmEventPtr event = expect_event(server_channel.get(), RDMA_CM_EVENT_ADDR_RESOLVED);
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(event->id, client.get());
}

TEST_F(CmEvents, ASynchronousIdWaitsInItsCalls) {
  client = make_id(nullptr);
  resolve_loopback(client.get());
  ASSERT_NE(client->event, nullptr);
  EXPECT_EQ(client->event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
  EXPECT_NE(client->verbs, nullptr);
  EXPECT_EQ(rdma_migrate_id(client.get(), nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
  ASSERT_EQ(rdma_migrate_id(client.get(), client_channel.get()), 0);
  EXPECT_EQ(client->event, nullptr);
  ASSERT_EQ(rdma_resolve_route(client.get(), 2000), 0);
  ASSERT_NE(expect_event(client_channel.get(), RDMA_CM_EVENT_ROUTE_RESOLVED), nullptr);
  ASSERT_EQ(rdma_migrate_id(client.get(), nullptr), 0);
  make_qp(client.get());
  EXPECT_EQ(rdma_connect(client.get(), nullptr), -1) << "nobody listens";
  EXPECT_EQ(errno, ECONNREFUSED);
}

TEST_F(CmEvents, EndpointsTalk) {
  rdma_addrinfo hints{}, *info = nullptr;
  hints.ai_flags = RAI_PASSIVE;
  hints.ai_port_space = RDMA_PS_TCP;
  ASSERT_EQ(rdma_getaddrinfo("127.0.0.1", "7471", &hints, &info), 0);
  ibv_qp_init_attr init = qp_init(IBV_QPT_RC);
  rdma_cm_id *listening = nullptr, *accepted = nullptr, *connected = nullptr;
  ASSERT_EQ(rdma_create_ep(&listening, info, nullptr, &init), 0) << std::strerror(errno);
  rdma_freeaddrinfo(info);
  ASSERT_EQ(rdma_listen(listening, 1), 0);
  std::thread serving([&] {
    ASSERT_EQ(rdma_get_request(listening, &accepted), 0) << std::strerror(errno);
    ASSERT_EQ(rdma_accept(accepted, nullptr), 0) << std::strerror(errno);
  });
  hints.ai_flags = 0;
  ASSERT_EQ(rdma_getaddrinfo("127.0.0.1", "7471", &hints, &info), 0);
  init = qp_init(IBV_QPT_RC);
  ASSERT_EQ(rdma_create_ep(&connected, info, nullptr, &init), 0) << std::strerror(errno);
  rdma_freeaddrinfo(info);
  EXPECT_EQ(rdma_connect(connected, nullptr), 0) << std::strerror(errno);
  serving.join();
  ASSERT_NE(accepted, nullptr);
  send(connected, accepted, 'e');
  EXPECT_EQ(rdma_disconnect(connected), 0);
  rdma_destroy_ep(connected);
  rdma_destroy_ep(accepted);
  rdma_destroy_ep(listening);
}

// Rule 24: several threads wait on one channel, and what they made another destroys.
TEST_F(CmEvents, ThreadsShareAChannel) {
  constexpr int kThreads = 3;
  constexpr int kRounds = 20;
  std::atomic<int> resolved{0};
  std::array<CmIdPtr, kThreads * kRounds> ids;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        rdma_cm_id* const id = (ids[t * kRounds + i] = make_id(client_channel.get())).get();
        resolve_loopback(id);
        rdma_cm_event* event = nullptr;
        ASSERT_EQ(rdma_get_cm_event(client_channel.get(), &event), 0);
        if (event->event == RDMA_CM_EVENT_ADDR_RESOLVED && event->status == 0) ++resolved;
        EXPECT_EQ(rdma_ack_cm_event(event), 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(resolved, kThreads * kRounds);
}

// Rule 18.
TEST_F(CmEvents, AForkedChildMakesItsOwn) {
  client = make_id(client_channel.get());
  const pid_t child = test::fork_at_rest();
  if (child == 0) {
    sockaddr_storage address = address_of("127.0.0.1");
    if (rdma_bind_addr(client.get(), generic(address)) == 0 || errno != EPERM) _exit(1);
    if (rdma_destroy_id(client.release()) != 0) _exit(2);
    const CmChannelPtr channel(rdma_create_event_channel());
    if (channel == nullptr) _exit(3);
    const CmIdPtr id = make_id(channel.get());
    _exit(rdma_bind_addr(id.get(), generic(address)) == 0 ? 0 : 4);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "1: the parent's id was used; 2: not destroyed; 3, 4: no own";
  resolve_loopback(client.get());
  EXPECT_NE(expect_event(client_channel.get(), RDMA_CM_EVENT_ADDR_RESOLVED), nullptr)
      << "the parent's goes on";
}

}  // namespace
}  // namespace softrnic::abi_test
