// Completion queues and channels.
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

#include "tests/abi/verbs_fixture.h"

namespace softrnic::abi_test {
namespace {

class CompletionTest : public VerbsTest {
 protected:
  void SetUp() override {
    VerbsTest::SetUp();
    channel.reset(ibv_create_comp_channel(context.get()));
    ASSERT_NE(channel, nullptr);
    notified.reset(ibv_create_cq(context.get(), 64, this, channel.get(), 0));
    ASSERT_NE(notified, nullptr);
    ibv_qp_init_attr init = qp_init(IBV_QPT_RC);
    sender.reset(ibv_create_qp(pd.get(), &init));
    init.recv_cq = notified.get();
    receiver.reset(ibv_create_qp(pd.get(), &init));
    connect(sender.get(), receiver.get());
    mr = make_mr(buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE);
  }

  void send_one(unsigned flags = IBV_SEND_SIGNALED) {
    ASSERT_EQ(post_recv(receiver.get(), 1, sge_of(buffer, 64, mr.get())), 0);
    ASSERT_EQ(post_send(sender.get(), 2, sge_of(buffer + 64, 8, mr.get()), flags), 0);
    EXPECT_EQ(collect(cq.get(), 1)[0].status, IBV_WC_SUCCESS);
  }
  ibv_cq* next_event() {
    ibv_cq* from = nullptr;
    void* cq_context = nullptr;
    if (ibv_get_cq_event(channel.get(), &from, &cq_context) != 0) return nullptr;
    EXPECT_EQ(cq_context, this);
    return from;
  }

  ChannelPtr channel;
  CqPtr notified;
  MrPtr mr;
  QpPtr sender;
  QpPtr receiver;
  alignas(64) char buffer[256] = {};
};

TEST_F(CompletionTest, NotificationIsOneShot) {
  send_one();
  EXPECT_FALSE(readable(channel->fd, 20)) << "not asked for";
  EXPECT_EQ(collect(notified.get(), 1)[0].wr_id, 1U);
  ASSERT_EQ(ibv_req_notify_cq(notified.get(), 0), 0);
  send_one();
  ASSERT_TRUE(readable(channel->fd, 5000));
  EXPECT_EQ(next_event(), notified.get());
  ibv_ack_cq_events(notified.get(), 1);
  send_one();
  EXPECT_FALSE(readable(channel->fd, 20));
}

TEST_F(CompletionTest, SolicitedOnlyWaitsForASolicitedMessage) {
  ASSERT_EQ(ibv_req_notify_cq(notified.get(), 1), 0);
  send_one();
  EXPECT_FALSE(readable(channel->fd, 20));
  send_one(IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
  ASSERT_TRUE(readable(channel->fd, 5000));
  EXPECT_EQ(next_event(), notified.get());
  ibv_ack_cq_events(notified.get(), 1);
}

TEST_F(CompletionTest, NonBlockingChannelSaysAgain) {
  ASSERT_EQ(fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK), 0);
  errno = 0;
  EXPECT_EQ(next_event(), nullptr);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(CompletionTest, EdgeTriggeredEpollSeesEveryEvent) {
  const int poller = epoll_create1(EPOLL_CLOEXEC);
  epoll_event wanted{};
  wanted.events = EPOLLIN | EPOLLET;
  ASSERT_EQ(epoll_ctl(poller, EPOLL_CTL_ADD, channel->fd, &wanted), 0);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(ibv_req_notify_cq(notified.get(), 0), 0);
    send_one();
    epoll_event got{};
    ASSERT_EQ(epoll_wait(poller, &got, 1, 5000), 1) << i;
    EXPECT_EQ(next_event(), notified.get());
    ibv_ack_cq_events(notified.get(), 1);
  }
  close(poller);
}

TEST_F(CompletionTest, UnfetchedEventsDoNotBlockDestroy) {
  ASSERT_EQ(ibv_req_notify_cq(notified.get(), 0), 0);
  send_one();
  ASSERT_TRUE(readable(channel->fd, 5000));
  receiver.reset();
  notified.reset();
  EXPECT_FALSE(readable(channel->fd, 0)) << "its events are gone with it";
}

TEST_F(CompletionTest, DestroyWaitsForAcknowledgement) {
  ASSERT_EQ(ibv_req_notify_cq(notified.get(), 0), 0);
  send_one();
  ASSERT_EQ(next_event(), notified.get());
  receiver.reset();
  std::thread acker(
      [cq = notified.get()] { ibv_ack_cq_events(cq, 5); });  // more than it got: what valkey does
  notified.reset();
  acker.join();
}

TEST_F(CompletionTest, ChannelInUseIsBusy) { EXPECT_EQ(ibv_destroy_comp_channel(channel.get()), EBUSY); }

TEST_F(CompletionTest, BadQueuesAreRefused) {
  errno = 0;
  EXPECT_EQ(ibv_create_cq(context.get(), 0, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_create_cq(context.get(), -1, nullptr, nullptr, 0), nullptr);
  ibv_device_attr attributes{};
  ASSERT_EQ(ibv_query_device(context.get(), &attributes), 0);
  EXPECT_EQ(ibv_create_cq(context.get(), attributes.max_cqe + 1, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(ibv_create_cq(context.get(), 16, nullptr, nullptr, -1), nullptr);
  EXPECT_EQ(ibv_create_cq(context.get(), 16, nullptr, nullptr, context->num_comp_vectors), nullptr);
  CqPtr largest(
      ibv_create_cq(context.get(), attributes.max_cqe, nullptr, nullptr, context->num_comp_vectors - 1));
  EXPECT_NE(largest, nullptr);
  CqPtr smallest(ibv_create_cq(context.get(), 1, nullptr, nullptr, 0));
  ASSERT_NE(smallest, nullptr);
  EXPECT_GE(smallest->cqe, 1);
}

TEST_F(CompletionTest, ResizeKeepsWhatWaits) {
  send_one();
  send_one();
  ASSERT_TRUE(readable(channel->fd, 0) || true);
  ASSERT_EQ(ibv_resize_cq(notified.get(), 128), 0);
  EXPECT_GE(notified->cqe, 128);
  EXPECT_EQ(ibv_resize_cq(notified.get(), 0), EINVAL);
  EXPECT_EQ(ibv_resize_cq(notified.get(), 1), EINVAL) << "two completions wait";
  EXPECT_EQ(collect(notified.get(), 2)[1].status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_resize_cq(notified.get(), 1), 0);
}

void ignore_signal(int) {}

TEST_F(CompletionTest, BlockedReadEndsWithASignal) {
  struct sigaction action {};
  action.sa_handler = ignore_signal;  // without SA_RESTART
  ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  std::atomic<bool> done{false};
  const pthread_t reader = pthread_self();
  std::thread signaller([&] {
    while (!done) {
      pthread_kill(reader, SIGUSR1);
      std::this_thread::yield();
    }
  });
  errno = 0;
  EXPECT_EQ(next_event(), nullptr);
  EXPECT_EQ(errno, EINTR);
  done = true;
  signaller.join();
}

ibv_modify_cq_attr moderation(std::uint16_t count, std::uint16_t period) {
  ibv_modify_cq_attr attributes{};
  attributes.attr_mask = IBV_CQ_ATTR_MODERATE;
  attributes.moderate = {count, period};
  return attributes;
}

TEST_F(CompletionTest, ModerationIsAdvertisedAndChecked) {
  ibv_device_attr_ex device{};
  ASSERT_EQ(ibv_query_device_ex(context.get(), nullptr, &device), 0);
  EXPECT_EQ(device.cq_mod_caps.max_cq_count, 65535);
  EXPECT_EQ(device.cq_mod_caps.max_cq_period, 4095);
  ibv_modify_cq_attr attributes =
      moderation(device.cq_mod_caps.max_cq_count, device.cq_mod_caps.max_cq_period);
  EXPECT_EQ(ibv_modify_cq(notified.get(), &attributes), 0);
  EXPECT_EQ(ibv_modify_cq(cq.get(), &attributes), 0) << "it has no channel to tell";
  ++attributes.moderate.cq_period;
  EXPECT_EQ(ibv_modify_cq(notified.get(), &attributes), EINVAL);
  attributes = moderation(0, 0);
  EXPECT_EQ(ibv_modify_cq(notified.get(), &attributes), 0);
  attributes.attr_mask = 0;
  EXPECT_EQ(ibv_modify_cq(notified.get(), &attributes), EINVAL);
  attributes.attr_mask = IBV_CQ_ATTR_MODERATE << 1;
  EXPECT_EQ(ibv_modify_cq(notified.get(), &attributes), EOPNOTSUPP);
}

TEST_F(CompletionTest, ModeratedEventsComeByCount) {
  ibv_modify_cq_attr attributes = moderation(3, 0);
  ASSERT_EQ(ibv_modify_cq(notified.get(), &attributes), 0);
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(ibv_req_notify_cq(notified.get(), 0), 0);
    send_one();
    send_one();
    EXPECT_FALSE(readable(channel->fd, 20));
    send_one();
    ASSERT_TRUE(readable(channel->fd, 5000));
    EXPECT_EQ(next_event(), notified.get());
    ibv_ack_cq_events(notified.get(), 1);
    EXPECT_EQ(collect(notified.get(), 3)[2].status, IBV_WC_SUCCESS);
  }
}

// Nobody polls while the time passes: the lane tells.
TEST_F(CompletionTest, ModeratedEventsComeByTime) {
  ibv_modify_cq_attr attributes = moderation(100, 4000);
  ASSERT_EQ(ibv_modify_cq(notified.get(), &attributes), 0);
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(ibv_req_notify_cq(notified.get(), 0), 0);
    const auto before = std::chrono::steady_clock::now();
    send_one();
    send_one();
    ASSERT_TRUE(readable(channel->fd, 5000));
    EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::microseconds(4000));
    EXPECT_EQ(next_event(), notified.get());
    ibv_ack_cq_events(notified.get(), 1);
    EXPECT_EQ(collect(notified.get(), 2)[1].status, IBV_WC_SUCCESS);
  }
}

// Requests that are done when they are posted, without a batch of the lane.
TEST_F(CompletionTest, ModeratedEventsOfWritesComeByTime) {
  const ChannelPtr written(ibv_create_comp_channel(context.get()));
  const CqPtr local(ibv_create_cq(context.get(), 16, this, written.get(), 0));
  ASSERT_NE(local, nullptr);
  ibv_modify_cq_attr attributes = moderation(0, 2000);
  ASSERT_EQ(ibv_modify_cq(local.get(), &attributes), 0);
  ibv_qp_init_attr init = qp_init(IBV_QPT_RC);
  init.send_cq = local.get();
  const QpPtr writer(ibv_create_qp(pd.get(), &init));
  const QpPtr target = make_qp(IBV_QPT_RC);
  connect(writer.get(), target.get());
  const MrPtr open = make_mr(buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(ibv_req_notify_cq(local.get(), 0), 0);
    ibv_sge sge = sge_of(buffer, 8, open.get());
    ibv_send_wr wr{}, *bad = nullptr;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {.remote_addr = reinterpret_cast<std::uint64_t>(buffer + 64), .rkey = open->rkey};
    ASSERT_EQ(ibv_post_send(writer.get(), &wr, &bad), 0);
    ASSERT_TRUE(readable(written->fd, 5000)) << round;
    ibv_cq* from = nullptr;
    void* ignored = nullptr;
    ASSERT_EQ(ibv_get_cq_event(written.get(), &from, &ignored), 0);
    ibv_ack_cq_events(from, 1);
    EXPECT_EQ(collect(local.get(), 1)[0].status, IBV_WC_SUCCESS);
  }
}

// While its event waits, too.
TEST_F(CompletionTest, AModeratedQueueMayGo) {
  ibv_modify_cq_attr attributes = moderation(0, 4000);
  ASSERT_EQ(ibv_modify_cq(notified.get(), &attributes), 0);
  ASSERT_EQ(ibv_req_notify_cq(notified.get(), 0), 0);
  send_one();
  receiver.reset();
  notified.reset();
  EXPECT_FALSE(readable(channel->fd, 20)) << "its events are gone with it";
}

TEST_F(CompletionTest, OverrunBreaksTheQueueAndItsQueuePair) {
  CqPtr small(ibv_create_cq(context.get(), 1, nullptr, nullptr, 0));
  ASSERT_NE(small, nullptr);
  ibv_qp_init_attr init = qp_init(IBV_QPT_RC);
  init.recv_cq = small.get();
  const QpPtr from = make_qp(IBV_QPT_RC);
  const QpPtr to(ibv_create_qp(pd.get(), &init));
  connect(from.get(), to.get());
  for (std::uint64_t id = 1; id <= 2; ++id) {
    ASSERT_EQ(post_recv(to.get(), id, sge_of(buffer, 64, mr.get())), 0);
    ASSERT_EQ(post_send(from.get(), id, sge_of(buffer + 64, 8, mr.get()), IBV_SEND_SIGNALED), 0);
  }
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(context.get(), &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_CQ_ERR);
  EXPECT_EQ(event.element.cq, small.get());
  ibv_ack_async_event(&event);
  ASSERT_EQ(ibv_get_async_event(context.get(), &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_QP_FATAL);
  EXPECT_EQ(event.element.qp, to.get());
  ibv_ack_async_event(&event);
  EXPECT_EQ(collect(small.get(), 1)[0].wr_id, 1U);
  ibv_wc wc{};
  EXPECT_LT(ibv_poll_cq(small.get(), 1, &wc), 0);
  EXPECT_EQ(ibv_req_notify_cq(small.get(), 0), EIO);
  EXPECT_EQ(collect(cq.get(), 2)[1].status, IBV_WC_SUCCESS) << "the message has arrived";
  ibv_qp_attr attributes{};
  ASSERT_EQ(ibv_query_qp(to.get(), &attributes, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(attributes.qp_state, IBV_QPS_ERR);
}

}  // namespace
}  // namespace softrnic::abi_test
