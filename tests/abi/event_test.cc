// Asynchronous events and shared receive queues.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "tests/abi/verbs_fixture.h"

namespace softrnic::abi_test {
namespace {

class EventTest : public VerbsTest {
 protected:
  void SetUp() override {
    VerbsTest::SetUp();
    mr = make_mr(buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
  }
  /// The next event, within 5 s; event_type -1: none came.
  ibv_async_event next() {
    ibv_async_event event{};
    event.event_type = static_cast<ibv_event_type>(IBV_EVENT_WQ_FATAL);
    EXPECT_TRUE(readable(context->async_fd, 5000));
    if (readable(context->async_fd, 0)) {
      EXPECT_EQ(ibv_get_async_event(context.get(), &event), 0);
    }
    return event;
  }
  SrqPtr make_srq(std::uint32_t entries) {
    ibv_srq_init_attr init{};
    init.attr.max_wr = entries;
    init.attr.max_sge = 2;
    init.srq_context = this;
    return SrqPtr(ibv_create_srq(pd.get(), &init));
  }
  int post_srq(ibv_srq* srq, std::uint64_t id) {
    ibv_sge sge = sge_of(buffer, 64, mr.get());
    ibv_recv_wr wr{}, *bad = nullptr;
    wr.wr_id = id;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    return ibv_post_srq_recv(srq, &wr, &bad);
  }
  QpPtr make_srq_qp(ibv_srq* srq) {
    ibv_qp_init_attr init = qp_init(IBV_QPT_RC);
    init.srq = srq;
    return QpPtr(ibv_create_qp(pd.get(), &init));
  }

  alignas(64) char buffer[256] = {};
  MrPtr mr;
};

TEST_F(EventTest, NothingToReadSaysAgain) {
  ASSERT_EQ(fcntl(context->async_fd, F_SETFL, fcntl(context->async_fd, F_GETFL) | O_NONBLOCK), 0);
  ibv_async_event event{};
  errno = 0;
  EXPECT_EQ(ibv_get_async_event(context.get(), &event), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(EventTest, AccessErrorsNameTheQueuePair) {
  QpPtr a = make_qp(IBV_QPT_RC);
  QpPtr b = make_qp(IBV_QPT_RC);
  connect(a.get(), b.get());
  ibv_sge sge = sge_of(buffer, 8, mr.get());
  ibv_send_wr wr{}, *bad = nullptr;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma = {.remote_addr = reinterpret_cast<std::uintptr_t>(buffer), .rkey = mr->rkey};
  ASSERT_EQ(ibv_post_send(a.get(), &wr, &bad), 0);
  EXPECT_EQ(collect(cq.get(), 1)[0].status, IBV_WC_REM_ACCESS_ERR) << "no REMOTE_WRITE";
  ibv_async_event event = next();
  EXPECT_EQ(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
  EXPECT_EQ(event.element.qp, b.get());
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(b.get(), &attributes, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(attributes.qp_state, IBV_QPS_ERR);
  EXPECT_EQ(b->state, IBV_QPS_ERR);
  ibv_ack_async_event(&event);
}

TEST_F(EventTest, DestroyWaitsForTheAcknowledgement) {
  QpPtr qp = make_qp(IBV_QPT_RC);
  SrqPtr srq = make_srq(8);
  ibv_srq_attr limit{};
  limit.srq_limit = 1;
  QpPtr a = make_srq_qp(srq.get());
  connect(a.get(), qp.get());
  ASSERT_EQ(post_srq(srq.get(), 1), 0);
  ASSERT_EQ(ibv_modify_srq(srq.get(), &limit, IBV_SRQ_LIMIT), 0);
  ASSERT_EQ(post_send(qp.get(), 2, sge_of(buffer + 64, 8, mr.get())), 0);
  collect(cq.get(), 2);
  ibv_async_event event = next();
  ASSERT_EQ(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
  EXPECT_EQ(event.element.srq, srq.get());
  a.reset();
  std::atomic<bool> acked{false};
  std::thread acker([&] {
    acked = true;
    ibv_ack_async_event(&event);
  });
  srq.reset();
  EXPECT_TRUE(acked);
  acker.join();
}

TEST_F(EventTest, LastWqeOfAQueuePairOnASharedQueue) {
  SrqPtr srq = make_srq(8);
  QpPtr qp = make_srq_qp(srq.get());
  QpPtr peer = make_qp(IBV_QPT_RC);
  connect(qp.get(), peer.get());
  ASSERT_EQ(to_state(qp.get(), IBV_QPS_ERR), 0);
  ibv_async_event event = next();
  EXPECT_EQ(event.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
  EXPECT_EQ(event.element.qp, qp.get());
  ibv_ack_async_event(&event);
}

TEST_F(EventTest, UnfetchedEventsGoWithTheirObject) {
  SrqPtr srq = make_srq(8);
  QpPtr qp = make_srq_qp(srq.get());
  QpPtr peer = make_qp(IBV_QPT_RC);
  connect(qp.get(), peer.get());
  ASSERT_EQ(to_state(qp.get(), IBV_QPS_ERR), 0);
  ASSERT_TRUE(readable(context->async_fd, 5000));
  qp.reset();
  EXPECT_FALSE(readable(context->async_fd, 0));
}

TEST_F(EventTest, SharedQueueAnswersAndRefuses) {
  SrqPtr srq = make_srq(10);
  ASSERT_NE(srq, nullptr);
  EXPECT_EQ(srq->srq_context, this);
  ibv_srq_attr attributes{};
  ASSERT_EQ(ibv_query_srq(srq.get(), &attributes), 0);
  EXPECT_GE(attributes.max_wr, 10U);
  EXPECT_EQ(attributes.srq_limit, 0U);
  ibv_srq_attr beyond{};
  beyond.srq_limit = attributes.max_wr + 1;
  EXPECT_EQ(ibv_modify_srq(srq.get(), &beyond, IBV_SRQ_LIMIT), EINVAL);
  for (std::uint32_t i = 0; i < attributes.max_wr; ++i) ASSERT_EQ(post_srq(srq.get(), i), 0);
  EXPECT_EQ(post_srq(srq.get(), 99), ENOMEM);
  QpPtr qp = make_srq_qp(srq.get());
  ASSERT_EQ(to_init(qp.get()), 0);
  EXPECT_EQ(post_recv(qp.get(), 1, sge_of(buffer, 8, mr.get())), EINVAL) << "its receives come from the SRQ";
  EXPECT_EQ(ibv_destroy_srq(srq.get()), EBUSY);
  ibv_srq_init_attr huge{};
  huge.attr.max_wr = 1U << 30;
  huge.attr.max_sge = 1;
  errno = 0;
  EXPECT_EQ(ibv_create_srq(pd.get(), &huge), nullptr);
  EXPECT_EQ(errno, EINVAL);
  ibv_srq_init_attr_ex basic{};
  basic.attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0};
  basic.comp_mask = IBV_SRQ_INIT_ATTR_PD;
  basic.pd = pd.get();
  SrqPtr through_inline(ibv_create_srq_ex(context.get(), &basic));
  EXPECT_NE(through_inline, nullptr);
  std::uint32_t number = 0;
  EXPECT_EQ(ibv_get_srq_num(through_inline.get(), &number), EINVAL) << "it is none of XRC";
  basic.comp_mask |= IBV_SRQ_INIT_ATTR_TYPE;
  basic.srq_type = static_cast<ibv_srq_type>(IBV_SRQT_TM + 1);
  EXPECT_EQ(ibv_create_srq_ex(context.get(), &basic), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

}  // namespace
}  // namespace softrnic::abi_test
