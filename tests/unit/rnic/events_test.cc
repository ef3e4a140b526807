// Channels and asynchronous events as programs with threads, signals and epoll use them.
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "base/reason_id.h"
#include "tests/unit/rnic/fixture.h"

namespace softrnic::rnic::test {
namespace {

class EventsTest : public RnicTest {
 protected:
  void SetUp() override {
    RnicTest::SetUp();
    channel = std::move(*CompletionChannel::create());
  }
  void TearDown() override {
    EXPECT_TRUE(channel->destroy());
    RnicTest::TearDown();
  }
  static void set_nonblocking(int fd) { EXPECT_EQ(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0); }
  static void notify(CompletionQueue& queue) {
    EXPECT_TRUE(queue.request_notification(false));
    queue.push(ibv_wc{}, false);
  }
  /// Waits until an explanation with `id` is there.
  static void await_reason(ReasonId id);

  std::unique_ptr<CompletionChannel> channel;
};

std::atomic<ReasonId> last_reason{ReasonId::none};
void note_reason(const Explanation& e) {
  last_reason = e.reason.id;
  last_reason.notify_all();
}

void EventsTest::await_reason(ReasonId id) {
  for (ReasonId now = last_reason; now != id; now = last_reason) last_reason.wait(now);
}

TEST_F(EventsTest, NonBlockingFdsSayEagain) {
  set_nonblocking(channel->fd());
  set_nonblocking(context.events().fd());
  EXPECT_EQ(channel->get().error(), EAGAIN);
  EXPECT_EQ(context.events().get().error(), EAGAIN);
}

TEST_F(EventsTest, ASignalInterruptsWaiting) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  struct sigaction old {};
  ASSERT_EQ(sigaction(SIGUSR1, &action, &old), 0);
  std::atomic<bool> done{false};
  std::atomic<int> error{0};
  std::thread waiter([&] {
    error = channel->get().error();
    done = true;
  });
  while (!done) {
    pthread_kill(waiter.native_handle(), SIGUSR1);
    std::this_thread::yield();
  }
  waiter.join();
  EXPECT_EQ(error, EINTR);
  sigaction(SIGUSR1, &old, nullptr);
}

TEST_F(EventsTest, EachNotificationIsAnEdge) {
  auto a = make_cq(10, channel.get());
  auto b = make_cq(10, channel.get());
  const int ep = epoll_create1(EPOLL_CLOEXEC);
  epoll_event wanted{};
  wanted.events = EPOLLIN | EPOLLET;
  ASSERT_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, channel->fd(), &wanted), 0);
  epoll_event got{};
  notify(*a);
  EXPECT_EQ(epoll_wait(ep, &got, 1, 0), 1);
  EXPECT_EQ(epoll_wait(ep, &got, 1, 0), 0);
  notify(*b);  // the first one is still unread
  EXPECT_EQ(epoll_wait(ep, &got, 1, 0), 1);
  EXPECT_EQ(*channel->get(), a.get());
  EXPECT_EQ(*channel->get(), b.get());
  a->acknowledge(1);
  b->acknowledge(1);
  close(ep);
  EXPECT_TRUE(a->destroy());
  EXPECT_TRUE(b->destroy());
}

// Arm, then poll, then wait: no completion may be missed.
TEST_F(EventsTest, AWaitingThreadMissesNothing) {
  constexpr std::uint64_t kCompletions = 5000;
  auto queue = make_cq(10, channel.get());
  std::atomic<std::uint64_t> seen{0};
  EXPECT_TRUE(queue->request_notification(false));
  std::thread waiter([&] {
    while (seen < kCompletions) {
      const auto got = channel->get();
      ASSERT_TRUE(got);
      EXPECT_TRUE((*got)->request_notification(false));
      ibv_wc wc;
      while ((*got)->poll(1, &wc) == 1) {
        EXPECT_EQ(wc.wr_id, ++seen);
        seen.notify_one();
      }
      (*got)->acknowledge(1);
    }
  });
  for (std::uint64_t id = 1; id <= kCompletions; ++id) {
    ibv_wc wc{};
    wc.wr_id = id;
    for (std::uint64_t s = seen; id - s > 9; s = seen) seen.wait(s);
    queue->push(wc, false);
  }
  waiter.join();
  EXPECT_FALSE(event_waits());
  EXPECT_TRUE(queue->destroy());
}

TEST_F(EventsTest, UnfetchedEventsDoNotBlockDestroy) {
  auto a = make_cq(10, channel.get());
  auto b = make_cq(10, channel.get());
  notify(*a);
  notify(*b);
  notify(*a);
  EXPECT_EQ(error_of(channel->destroy()), EBUSY);
  EXPECT_TRUE(a->destroy());
  ASSERT_TRUE(fd_ready(channel->fd()));
  EXPECT_EQ(*channel->get(), b.get());
  EXPECT_FALSE(fd_ready(channel->fd()));
  b->acknowledge(3);  // some programs acknowledge too much
  EXPECT_TRUE(b->destroy());
}

TEST_F(EventsTest, DestroyWaitsForAcknowledgementAndSaysSo) {
  auto queue = make_cq(10, channel.get());
  notify(*queue);
  ASSERT_TRUE(channel->get());
  last_reason = ReasonId::none;
  set_explain_sink(&note_reason);
  std::atomic<bool> destroyed{false};
  std::thread destroyer([&] {
    EXPECT_TRUE(queue->destroy());
    destroyed = true;
  });
  await_reason(ReasonId::waiting_for_acks);
  EXPECT_FALSE(destroyed);
  queue->acknowledge(1);
  destroyer.join();
  EXPECT_TRUE(destroyed);
}

TEST_F(EventsTest, WaitingWithoutArmingIsExplained) {
  auto queue = make_cq(10, channel.get());
  queue->push(ibv_wc{}, false);
  last_reason = ReasonId::none;
  set_explain_sink(&note_reason);
  std::thread waiter([&] { EXPECT_EQ(*channel->get(), queue.get()); });
  await_reason(ReasonId::cq_not_rearmed);
  set_explain_sink(nullptr);
  notify(*queue);
  waiter.join();
  queue->acknowledge(1);
  EXPECT_TRUE(queue->destroy());
}

TEST_F(EventsTest, EmptyingAChannelBeforeArmingIsNoWaiting) {
  auto queue = make_cq(10, channel.get());
  set_nonblocking(channel->fd());
  queue->push(ibv_wc{}, false);
  EXPECT_FALSE(channel->get());
  EXPECT_TRUE(explanations().empty());
  EXPECT_TRUE(queue->destroy());
}

TEST_F(EventsTest, DestroyedQpTakesItsUnfetchedEventsAlong) {
  auto a = make_qp(IBV_QPT_RC);
  auto b = make_qp(IBV_QPT_RC);
  context.events().raise(IBV_EVENT_COMM_EST, *a);
  context.events().raise(IBV_EVENT_COMM_EST, *b);
  context.events().raise(IBV_EVENT_QP_FATAL, *a);
  EXPECT_TRUE(a->destroy());
  EXPECT_EQ(next_event().target, b.get());
  EXPECT_FALSE(event_waits());
  EXPECT_TRUE(b->destroy());
}

TEST_F(EventsTest, DestroyOfAQpWaitsForAcknowledgement) {
  auto qp = make_qp(IBV_QPT_RC);
  context.events().raise(IBV_EVENT_COMM_EST, *qp);
  const AsyncEvent event = *context.events().get();
  last_reason = ReasonId::none;
  set_explain_sink(&note_reason);
  std::atomic<bool> destroyed{false};
  std::thread destroyer([&] {
    EXPECT_TRUE(qp->destroy());
    destroyed = true;
  });
  await_reason(ReasonId::waiting_for_acks);
  EXPECT_FALSE(destroyed);
  context.events().acknowledge(event);
  destroyer.join();
}

TEST_F(EventsTest, PortAndDevice) {
  auto device = make_device();
  context.update(device);
  EXPECT_FALSE(event_waits()) << "nothing changed";
  device = make_device();
  device->port.up = false;
  context.update(device);
  AsyncEvent event = next_event();
  EXPECT_EQ(event.type, IBV_EVENT_PORT_ERR);
  EXPECT_EQ(event.port, 1);
  device = make_device();
  device->port.gids[2].gid = ipv4(2);
  context.update(device);
  EXPECT_EQ(next_event().type, IBV_EVENT_PORT_ACTIVE);
  EXPECT_EQ(next_event().type, IBV_EVENT_GID_CHANGE);
  context.device_lost();
  context.device_lost();
  EXPECT_EQ(next_event().type, IBV_EVENT_DEVICE_FATAL);
  EXPECT_FALSE(event_waits());
}

}  // namespace
}  // namespace softrnic::rnic::test
