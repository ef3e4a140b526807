// What a completion queue that overflows does to itself and to the queue pairs that use it.
#include <cerrno>

#include "base/reason_id.h"
#include "tests/unit/rnic/fixture.h"

namespace softrnic::rnic::test {
namespace {

class OverrunTest : public RnicTest {
 protected:
  void SetUp() override {
    RnicTest::SetUp();
    small = make_cq(2);
  }
  void TearDown() override {
    EXPECT_TRUE(small->destroy());
    RnicTest::TearDown();
  }

  /// A QP that reports its receives to the small queue and its sends to the large one.
  std::unique_ptr<QueuePair> make_receiver() {
    QueuePairInit wanted = init(IBV_QPT_RC);
    wanted.recv_cq = small.get();
    return make_qp(wanted);
  }
  void connect(QueuePair& left, QueuePair& right) {
    bring(right, IBV_QPS_RTS, left.qpn());
    bring(left, IBV_QPS_RTS, right.qpn());
  }
  void receive(QueuePair& qp, std::uint64_t id) {
    ibv_sge sge{};
    ibv_recv_wr wr = recv_wr(id, nullptr, nullptr, 0, sge);
    ibv_recv_wr* bad = nullptr;
    EXPECT_TRUE(qp.post_recv(&wr, &bad));
  }
  void send(QueuePair& qp) {
    ibv_sge sge{};
    ibv_send_wr wr = send_wr(IBV_WR_SEND, nullptr, nullptr, 0, sge);
    ibv_send_wr* bad = nullptr;
    EXPECT_TRUE(qp.post_send(&wr, &bad));
  }
  void expect_event(ibv_event_type type, const EventTarget* target) {
    ASSERT_TRUE(event_waits());
    const AsyncEvent event = next_event();
    EXPECT_EQ(event.type, type);
    EXPECT_EQ(event.target, target);
  }
  /// Three messages to a queue pair whose receive queue's CQ holds two completions.
  void overrun(QueuePair& from, QueuePair& to) {
    for (std::uint64_t id = 1; id <= 3; ++id) receive(to, id);
    for (int i = 0; i < 3; ++i) send(from);
  }

  std::unique_ptr<CompletionQueue> small;
};

TEST_F(OverrunTest, BreaksTheQueueForGood) {
  EXPECT_EQ(small->push(wc_of(1), false), Pushed::added);
  EXPECT_EQ(small->push(wc_of(2), false), Pushed::added);
  EXPECT_FALSE(event_waits());
  EXPECT_EQ(small->push(wc_of(3), false), Pushed::lost);
  expect_event(IBV_EVENT_CQ_ERR, small.get());
  ibv_wc wc;
  ASSERT_EQ(small->poll(1, &wc), 1) << "what lay there is not lost";
  EXPECT_EQ(wc.wr_id, 1U);
  EXPECT_EQ(small->push(wc_of(4), false), Pushed::lost) << "there is room, but a completion is missing";
  EXPECT_EQ(error_of(small->request_notification(false)), EIO);
  EXPECT_EQ(only_reason(), ReasonId::cq_overrun);
  EXPECT_EQ(error_of(small->resize(10)), EIO);
  ASSERT_EQ(small->poll(1, &wc), 1);
  EXPECT_EQ(wc.wr_id, 2U);
  EXPECT_EQ(small->poll(1, &wc), -EIO);
  EXPECT_EQ(small->poll(0, &wc), 0);
  EXPECT_FALSE(event_waits()) << "one event for each queue";
}

TEST_F(OverrunTest, IsFatalToTheQpThatLosesACompletion) {
  auto from = make_qp(IBV_QPT_RC);
  auto to = make_receiver();
  connect(*from, *to);
  explanations().clear();
  overrun(*from, *to);
  EXPECT_EQ(only_reason(), ReasonId::cq_overrun);
  EXPECT_EQ(to->explained()->latest().wr_id, 3U);
  expect_event(IBV_EVENT_CQ_ERR, small.get());
  expect_event(IBV_EVENT_QP_FATAL, to.get());
  EXPECT_EQ(state_of(*to), IBV_QPS_ERR);
  EXPECT_EQ(state_of(*from), IBV_QPS_RTS);
  for (const ibv_wc& wc : poll(*cq)) EXPECT_EQ(wc.status, IBV_WC_SUCCESS) << "the messages have arrived";
  send(*to);  // its other queue is whole, and tells what becomes of sends
  const auto flushed = poll(*cq);
  ASSERT_EQ(flushed.size(), 1U);
  EXPECT_EQ(flushed[0].status, IBV_WC_WR_FLUSH_ERR);
  receive(*to, 4);  // flushed, and lost
  EXPECT_FALSE(event_waits());
  EXPECT_TRUE(to->destroy());
  EXPECT_TRUE(from->destroy());
}

TEST_F(OverrunTest, IsFatalToOtherQpsWithTheirNextCompletion) {
  auto from = make_qp(IBV_QPT_RC);
  auto to = make_receiver();
  auto other_from = make_qp(IBV_QPT_RC);
  auto other_to = make_receiver();
  connect(*from, *to);
  connect(*other_from, *other_to);
  overrun(*from, *to);
  expect_event(IBV_EVENT_CQ_ERR, small.get());
  expect_event(IBV_EVENT_QP_FATAL, to.get());
  EXPECT_EQ(state_of(*other_to), IBV_QPS_RTS);
  EXPECT_EQ(poll(*small).size(), 2U);
  receive(*other_to, 9);
  send(*other_from);
  expect_event(IBV_EVENT_QP_FATAL, other_to.get());
  EXPECT_EQ(state_of(*other_to), IBV_QPS_ERR);
  for (auto* qp : {from.get(), to.get(), other_from.get(), other_to.get()}) EXPECT_TRUE(qp->destroy());
}

TEST_F(OverrunTest, IsFatalAgainAfterReset) {
  auto from = make_qp(IBV_QPT_RC);
  auto to = make_receiver();
  connect(*from, *to);
  overrun(*from, *to);
  expect_event(IBV_EVENT_CQ_ERR, small.get());
  expect_event(IBV_EVENT_QP_FATAL, to.get());
  ibv_qp_attr reset{};
  reset.qp_state = IBV_QPS_RESET;
  for (auto* qp : {from.get(), to.get()}) EXPECT_TRUE(qp->modify(reset, IBV_QP_STATE));
  connect(*from, *to);
  receive(*to, 1);
  send(*from);
  expect_event(IBV_EVENT_QP_FATAL, to.get());
  EXPECT_TRUE(to->destroy());
  EXPECT_TRUE(from->destroy());
}

TEST_F(OverrunTest, OfAQpInErrorIsExplainedAndNoMore) {
  auto qp = make_receiver();
  bring(*qp, IBV_QPS_INIT);
  for (std::uint64_t id = 1; id <= 3; ++id) receive(*qp, id);
  explanations().clear();
  bring(*qp, IBV_QPS_ERR);
  EXPECT_EQ(only_reason(), ReasonId::cq_overrun);
  expect_event(IBV_EVENT_CQ_ERR, small.get());
  EXPECT_FALSE(event_waits());
  EXPECT_TRUE(qp->destroy());
}

}  // namespace
}  // namespace softrnic::rnic::test
