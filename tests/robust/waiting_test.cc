// Blocking calls in several threads, signals, O_NONBLOCK and edge-triggered epoll.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/time.h>

#include <atomic>
#include <thread>

#include "tests/abi/verbs_fixture.h"

namespace softrnic::robust {
namespace {

using namespace abi_test;

/// A pair whose receiver completes on a channel.
class WaitingTest : public VerbsTest {
 protected:
  void SetUp() override {
    VerbsTest::SetUp();
    channel_.reset(ibv_create_comp_channel(context.get()));
    ASSERT_NE(channel_, nullptr);
    events_.reset(ibv_create_cq(context.get(), 256, this, channel_.get(), 0));
    ASSERT_NE(events_, nullptr);
    mr_ = make_mr(memory_.data(), memory_.size(), IBV_ACCESS_LOCAL_WRITE);
    ibv_qp_init_attr init = qp_init(IBV_QPT_RC);
    init.sq_sig_all = 0;
    from_.reset(ibv_create_qp(pd.get(), &init));
    init.recv_cq = events_.get();
    to_.reset(ibv_create_qp(pd.get(), &init));
    connect(from_.get(), to_.get());
  }
  /// One completion for the channel's CQ.
  void send_one() {
    ASSERT_EQ(post_recv(to_.get(), 1, sge_of(memory_.data(), 64, mr_.get())), 0);
    ASSERT_EQ(post_send(from_.get(), 2, sge_of(memory_.data() + 64, 64, mr_.get())), 0);
    collect(cq.get(), 1);
  }
  void arm() { ASSERT_EQ(ibv_req_notify_cq(events_.get(), 0), 0); }
  int get_event() {
    ibv_cq* got = nullptr;
    void* got_context = nullptr;
    if (ibv_get_cq_event(channel_.get(), &got, &got_context) != 0) return errno;
    EXPECT_EQ(got, events_.get());
    EXPECT_EQ(got_context, this);
    ibv_ack_cq_events(got, 1);
    return 0;
  }
  void set_nonblocking(int fd) { ASSERT_EQ(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0); }

  ChannelPtr channel_;
  CqPtr events_;
  std::vector<std::uint8_t> memory_ = std::vector<std::uint8_t>(4096);
  MrPtr mr_;
  QpPtr from_, to_;
};

std::atomic<int> signals_seen{0};
void count_signal(int) { ++signals_seen; }

/// Handles `number` by counting; back to what was before at the end.
class Handler {
 public:
  Handler(int number, int flags) : number_(number) {
    struct sigaction action {};
    action.sa_handler = count_signal;
    action.sa_flags = flags;
    sigaction(number, &action, &before_);
  }
  ~Handler() { sigaction(number_, &before_, nullptr); }
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;

 private:
  int number_;
  struct sigaction before_ {};
};

TEST_F(WaitingTest, EachEventWakesOneOfFourThreads) {
  constexpr int kEvents = 40;
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < kEvents / 4; ++n) {
        EXPECT_EQ(get_event(), 0);
        ++taken;
      }
    });
  }
  for (int n = 0; n < kEvents; ++n) {
    arm();
    send_one();
    collect(events_.get(), 1);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, kEvents);
  EXPECT_FALSE(readable(channel_->fd, 0));
}

TEST_F(WaitingTest, AsyncEventsWakeWaitingThreads) {
  std::atomic<int> drained{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      ibv_async_event event{};
      ASSERT_EQ(ibv_get_async_event(context.get(), &event), 0);
      if (event.event_type == IBV_EVENT_SQ_DRAINED && event.element.qp == from_.get()) ++drained;
      ibv_ack_async_event(&event);
    });
  }
  for (int i = 0; i < 3; ++i) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_SQD;
    attributes.en_sqd_async_notify = 1;
    ASSERT_EQ(ibv_modify_qp(from_.get(), &attributes, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
    attributes.qp_state = IBV_QPS_RTS;
    ASSERT_EQ(ibv_modify_qp(from_.get(), &attributes, IBV_QP_STATE), 0);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(drained, 3);
}

TEST_F(WaitingTest, ASignalInterruptsWhoWaits) {
  const Handler handler(SIGUSR1, 0);
  std::atomic<bool> interrupted{false};
  std::thread waiting([&] {
    EXPECT_EQ(get_event(), EINTR);
    ibv_async_event event{};
    EXPECT_EQ(ibv_get_async_event(context.get(), &event), -1);
    EXPECT_EQ(errno, EINTR);
    interrupted = true;
  });
  // again and again, as one may come before the call
  while (!interrupted) {
    pthread_kill(waiting.native_handle(), SIGUSR1);
    std::this_thread::yield();
  }
  waiting.join();
}

// signal(7): a handler with SA_RESTART lets the wait go on.
TEST_F(WaitingTest, ARestartingHandlerDoesNotEndTheWait) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "TSan calls the handler only when read() has returned, which here it never does";
#endif
  const Handler handler(SIGUSR1, SA_RESTART);
  std::atomic<int> result{-1};
  std::thread waiting([&] { result = get_event(); });
  for (int before = signals_seen, n = 1; n <= 20; ++n) {
    pthread_kill(waiting.native_handle(), SIGUSR1);
    while (signals_seen < before + n) std::this_thread::yield();
  }
  EXPECT_EQ(result, -1) << "nothing has happened yet";
  arm();
  send_one();
  waiting.join();
  EXPECT_EQ(result, 0);
}

TEST_F(WaitingTest, NonblockingCallsSayThatThereIsNothing) {
  set_nonblocking(channel_->fd);
  set_nonblocking(context->async_fd);
  EXPECT_EQ(get_event(), EAGAIN);
  ibv_async_event event{};
  EXPECT_EQ(ibv_get_async_event(context.get(), &event), -1);
  EXPECT_EQ(errno, EAGAIN);
  arm();
  send_one();
  ASSERT_TRUE(readable(channel_->fd, 5000));
  EXPECT_EQ(get_event(), 0);
  EXPECT_EQ(get_event(), EAGAIN);
}

TEST_F(WaitingTest, EveryEventIsAnEdgeForEpoll) {
  set_nonblocking(channel_->fd);
  const int poller = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  ASSERT_EQ(epoll_ctl(poller, EPOLL_CTL_ADD, channel_->fd, &event), 0);
  for (int n = 0; n < 5; ++n) {
    arm();
    send_one();
    ASSERT_EQ(epoll_wait(poller, &event, 1, 5000), 1) << n;
    EXPECT_EQ(epoll_wait(poller, &event, 1, 0), 0) << "one event, one edge";
    collect(events_.get(), 1);
    // every other event stays unread: the next one is an edge all the same
    if (n % 2 == 1) {
      EXPECT_EQ(get_event(), 0);
      EXPECT_EQ(get_event(), 0);
      EXPECT_EQ(get_event(), EAGAIN);
    }
  }
  EXPECT_EQ(get_event(), 0);
  close(poller);
}

TEST_F(WaitingTest, UnfetchedEventsDoNotHoldUpDestroyingTheCq) {
  arm();
  send_one();
  ASSERT_TRUE(readable(channel_->fd, 5000));
  to_.reset();
  events_.reset();
  set_nonblocking(channel_->fd);
  ibv_cq* got = nullptr;
  void* got_context = nullptr;
  EXPECT_EQ(ibv_get_cq_event(channel_.get(), &got, &got_context), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(WaitingTest, DestroyingTheCqWaitsForAcknowledgements) {
  arm();
  send_one();
  ibv_cq* got = nullptr;
  void* got_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(channel_.get(), &got, &got_context), 0);
  to_.reset();
  std::atomic<bool> destroyed{false};
  std::thread destroyer([&, cq = events_.release()] {
    EXPECT_EQ(ibv_destroy_cq(cq), 0);
    destroyed = true;
  });
  EXPECT_FALSE(readable(channel_->fd, 100));
  EXPECT_FALSE(destroyed);
  ibv_ack_cq_events(got, 2);  // more than it got, as valkey does
  destroyer.join();
}

TEST_F(WaitingTest, AStormOfSignalsHarmsNothing) {
  for (const int flags : {0, SA_RESTART}) {
    const Handler handler(SIGALRM, flags);
    const int before = signals_seen;
    const itimerval often{{0, 500}, {0, 500}}, never{};
    setitimer(ITIMER_REAL, &often, nullptr);
    for (unsigned n = 0; n < 200 || signals_seen - before < 20; ++n) {
      memory_[64] = static_cast<std::uint8_t>(n);
      arm();
      send_one();
      int error = 0;
      do {
        error = get_event();
      } while (error == EINTR);
      ASSERT_EQ(error, 0);
      ASSERT_EQ(collect(events_.get(), 1)[0].status, IBV_WC_SUCCESS);
      ASSERT_EQ(memory_[0], memory_[64]);
      const auto other = make_qp(IBV_QPT_RC);
      ASSERT_NE(other, nullptr);
      if (n % 50 != 0) continue;
      const ContextPtr second(open_first());  // talks to the daemon
      ASSERT_NE(second, nullptr) << std::strerror(errno);
    }
    setitimer(ITIMER_REAL, &never, nullptr);
  }
}

}  // namespace
}  // namespace softrnic::robust
