#include "rnic/completion_queue.h"

#include <cerrno>

#include "base/reason_id.h"
#include "tests/unit/rnic/fixture.h"

namespace softrnic::rnic::test {
namespace {

class CompletionQueueTest : public RnicTest {
 protected:
  void SetUp() override {
    RnicTest::SetUp();
    channel = std::move(*CompletionChannel::create());
  }
  void TearDown() override {
    EXPECT_TRUE(channel->destroy());
    RnicTest::TearDown();
  }
  bool notified() { return fd_ready(channel->fd()); }
  std::vector<std::uint64_t> ids(CompletionQueue& queue) {
    std::vector<std::uint64_t> all;
    for (const ibv_wc& wc : poll(queue)) all.push_back(wc.wr_id);
    return all;
  }

  std::unique_ptr<CompletionChannel> channel;
};

using Ids = std::vector<std::uint64_t>;

TEST_F(CompletionQueueTest, SizesAndVectors) {
  const auto refusal = [&](int entries, int vector) {
    explanations().clear();
    EXPECT_EQ(error_of(CompletionQueue::create(context, {.entries = entries, .vector = vector})), EINVAL);
    return only_reason();
  };
  EXPECT_EQ(refusal(0, 0), ReasonId::bad_cqe);
  EXPECT_EQ(refusal(-1, 0), ReasonId::bad_cqe);
  EXPECT_EQ(refusal(static_cast<int>(limits::kMaxCqes) + 1, 0), ReasonId::bad_cqe);
  EXPECT_EQ(refusal(1, limits::kCompletionVectors), ReasonId::bad_comp_vector);
  EXPECT_EQ(refusal(1, -1), ReasonId::bad_comp_vector);
  for (const int entries : {1, static_cast<int>(limits::kMaxCqes)}) {
    auto made = make_cq(entries);
    EXPECT_EQ(made->capacity(), entries);
    EXPECT_TRUE(made->destroy());
  }
}

TEST_F(CompletionQueueTest, FirstInFirstOutAroundTheEnd) {
  auto small = make_cq(3);
  for (std::uint64_t id = 0; id < 10; id += 2) {
    small->push(wc_of(id), false);
    small->push(wc_of(id + 1), false);
    EXPECT_EQ(ids(*small), (Ids{id, id + 1}));
  }
  ibv_wc one;
  small->push(wc_of(20), false);
  small->push(wc_of(21), false);
  EXPECT_EQ(small->poll(1, &one), 1);
  EXPECT_EQ(one.wr_id, 20U);
  EXPECT_EQ(small->poll(0, &one), 0);
  EXPECT_EQ(small->poll(-1, &one), -EINVAL);
  EXPECT_TRUE(small->destroy());
}

TEST_F(CompletionQueueTest, PassOnlyWhereNothingLiesAndNobodyIsToBeTold) {
  auto queue = make_cq(2, channel.get());
  EXPECT_TRUE(queue->may_pass());
  queue->push(wc_of(1), false);
  EXPECT_FALSE(queue->may_pass()) << "it would overtake";
  EXPECT_EQ(ids(*queue), Ids{1});
  EXPECT_TRUE(queue->may_pass());
  EXPECT_TRUE(queue->request_notification(true));
  EXPECT_FALSE(queue->may_pass()) << "an event may be due";
  queue->push(wc_of(2), true);
  EXPECT_EQ(ids(*queue), Ids{2});
  EXPECT_TRUE(queue->may_pass()) << "the event has been raised";
  EXPECT_TRUE(channel->get());
  queue->acknowledge(1);
  for (int i = 0; i < 3; ++i) queue->push(wc_of(3), false);
  EXPECT_TRUE(next_event().type == IBV_EVENT_CQ_ERR);
  EXPECT_EQ(ids(*queue), (Ids{3, 3}));
  EXPECT_FALSE(queue->may_pass()) << "it is broken";
  EXPECT_TRUE(queue->destroy());
}

TEST_F(CompletionQueueTest, WhoPollsGetsWhatPassesAndThenWhatLiesThere) {
  auto qp = make_qp(IBV_QPT_RC);
  for (std::uint64_t id = 1; id <= 3; ++id) lanes.lane.for_the_sink.push_back(wc_of(id));
  ibv_wc wc[2];
  EXPECT_EQ(cq->poll(2, wc), 2);
  EXPECT_EQ(wc[0].wr_id, 1U);
  EXPECT_EQ(wc[1].wr_id, 2U);
  cq->push(wc_of(9), false);
  EXPECT_EQ(cq->poll(2, wc), 1) << "what lies there is older than what a lane has";
  EXPECT_EQ(wc[0].wr_id, 9U);
  EXPECT_EQ(cq->poll(2, wc), 1);
  EXPECT_EQ(wc[0].wr_id, 3U);
  EXPECT_TRUE(qp->destroy());
}

TEST_F(CompletionQueueTest, ResizeKeepsWhatIsThere) {
  auto small = make_cq(3);
  small->push(wc_of(0), false);
  EXPECT_EQ(ids(*small), Ids{0});
  for (std::uint64_t id = 1; id <= 3; ++id) small->push(wc_of(id), false);
  EXPECT_EQ(error_of(small->resize(2)), EINVAL);
  EXPECT_EQ(only_reason(), ReasonId::cq_resize_too_small);
  EXPECT_EQ(error_of(small->resize(0)), EINVAL);
  EXPECT_EQ(small->capacity(), 4);
  EXPECT_EQ(*small->resize(5), 8);
  small->push(wc_of(4), false);
  small->push(wc_of(5), false);
  EXPECT_EQ(ids(*small), (Ids{1, 2, 3, 4, 5}));
  EXPECT_EQ(*small->resize(1), 1);
  small->push(wc_of(6), false);
  EXPECT_EQ(ids(*small), Ids{6});
  EXPECT_TRUE(small->destroy());
}

TEST_F(CompletionQueueTest, PurgeTakesOneQpOut) {
  auto small = make_cq(5);
  small->push(wc_of(0, 9), false);
  small->push(wc_of(0, 9), false);
  EXPECT_EQ(poll(*small).size(), 2U);
  for (std::uint64_t id = 1; id <= 5; ++id) small->push(wc_of(id, id % 2 == 0 ? 7 : 8), false);
  small->purge(7);
  EXPECT_EQ(ids(*small), (Ids{1, 3, 5}));
  EXPECT_TRUE(small->destroy());
}

TEST_F(CompletionQueueTest, NotificationIsOneShot) {
  auto armed = make_cq(10, channel.get());
  armed->push(wc_of(1), false);
  EXPECT_FALSE(notified()) << "not armed";
  EXPECT_TRUE(armed->request_notification(false));
  EXPECT_FALSE(notified()) << "what is there already does not count";
  armed->push(wc_of(2), false);
  armed->push(wc_of(3), false);
  ASSERT_TRUE(notified());
  EXPECT_EQ(*channel->get(), armed.get());
  EXPECT_FALSE(notified());
  armed->acknowledge(1);
  EXPECT_TRUE(armed->destroy());
}

TEST_F(CompletionQueueTest, SolicitedOnly) {
  auto armed = make_cq(10, channel.get());
  const auto fires = [&](bool solicited, ibv_wc_status status) {
    armed->push(wc_of(1, 1, status), solicited);
    const bool result = notified();
    if (result) {
      EXPECT_TRUE(channel->get());
      armed->acknowledge(1);
    }
    return result;
  };
  EXPECT_TRUE(armed->request_notification(true));
  EXPECT_FALSE(fires(false, IBV_WC_SUCCESS));
  EXPECT_TRUE(fires(true, IBV_WC_SUCCESS));
  EXPECT_TRUE(armed->request_notification(true));
  EXPECT_TRUE(fires(false, IBV_WC_WR_FLUSH_ERR)) << "failures always count";
  EXPECT_TRUE(armed->request_notification(false));
  EXPECT_TRUE(armed->request_notification(true));
  EXPECT_TRUE(fires(false, IBV_WC_SUCCESS)) << "a pending request for any completion stays";
  EXPECT_TRUE(armed->destroy());
}

TEST_F(CompletionQueueTest, PollingDrivesTheLanesOnlyWhenEmpty) {
  auto qp = make_qp(IBV_QPT_RC);
  const int before = lanes.lane.progress_calls;
  cq->push(wc_of(1), false);
  EXPECT_EQ(poll(*cq).size(), 1U);
  EXPECT_EQ(lanes.lane.progress_calls, before);
  EXPECT_EQ(poll(*cq).size(), 0U);
  EXPECT_EQ(lanes.lane.progress_calls, before + 1) << "one lane, though two queues of the QP use it";
  EXPECT_TRUE(qp->destroy());
}

TEST_F(CompletionQueueTest, AProgramThatAlwaysFindsSomethingLooksAfterTheLanesNowAndThen) {
  auto qp = make_qp(IBV_QPT_RC);
  constexpr int kRounds = 160;
  const int before = lanes.lane.progress_calls;
  for (int i = 0; i < kRounds; ++i) {
    cq->push(wc_of(1), false);
    ASSERT_EQ(poll(*cq).size(), 1U);
  }
  EXPECT_GE(lanes.lane.progress_calls, before + 2);
  EXPECT_LE(lanes.lane.progress_calls, before + kRounds / 8);
  EXPECT_TRUE(qp->destroy());
}

}  // namespace
}  // namespace softrnic::rnic::test
