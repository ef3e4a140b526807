#include <cerrno>

#include "base/reason_id.h"
#include "tests/unit/rnic/fixture.h"

namespace softrnic::rnic::test {
namespace {

class SrqTest : public RnicTest {
 protected:
  Expected<void, Failure> post(SharedReceiveQueue& srq, std::uint64_t id) {
    ibv_sge sge{};
    ibv_recv_wr wr = recv_wr(id, nullptr, nullptr, 0, sge);
    ibv_recv_wr* bad = nullptr;
    auto result = srq.post(&wr, &bad);
    EXPECT_EQ(bad, result ? nullptr : &wr);
    return result;
  }
};

TEST_F(SrqTest, SizesAreReturned) {
  ibv_srq_attr attributes{0, 0, 5};
  auto srq = std::move(*SharedReceiveQueue::create(*pd, attributes));
  EXPECT_EQ(attributes.max_wr, 1U);
  EXPECT_EQ(attributes.max_sge, 1U);
  EXPECT_EQ(attributes.srq_limit, 0U);
  EXPECT_TRUE(post(*srq, 1));
  EXPECT_EQ(error_of(post(*srq, 2)), ENOMEM);
  EXPECT_EQ(only_reason(), ReasonId::recv_queue_full);
  EXPECT_TRUE(srq->destroy());
  attributes = {limits::kMaxSrqWrs, limits::kMaxSges, 0};
  srq = std::move(*SharedReceiveQueue::create(*pd, attributes));
  EXPECT_TRUE(srq->destroy());
  attributes = {limits::kMaxSrqWrs + 1, 1, 0};
  EXPECT_EQ(error_of(SharedReceiveQueue::create(*pd, attributes)), EINVAL);
  attributes = {1, limits::kMaxSges + 1, 0};
  EXPECT_EQ(error_of(SharedReceiveQueue::create(*pd, attributes)), EINVAL);
}

TEST_F(SrqTest, EverythingBeforeTheBadOneIsPosted) {
  auto srq = make_srq(4);
  ibv_recv_wr wrs[3]{};
  wrs[0].next = &wrs[1];
  wrs[1].next = &wrs[2];
  wrs[1].num_sge = 3;
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(error_of(srq->post(wrs, &bad)), EINVAL);
  EXPECT_EQ(bad, &wrs[1]);
  EXPECT_EQ(only_reason(), ReasonId::too_many_sge);
  TakenReceive taken;
  EXPECT_TRUE(srq->take(taken));
  EXPECT_FALSE(srq->take(taken));
  EXPECT_TRUE(srq->destroy());
}

TEST_F(SrqTest, LimitEventComesOnce) {
  auto srq = make_srq(8);
  for (std::uint64_t id = 0; id < 6; ++id) EXPECT_TRUE(post(*srq, id));
  ibv_srq_attr attributes{0, 0, 4};
  EXPECT_TRUE(srq->modify(attributes, IBV_SRQ_LIMIT));
  EXPECT_EQ(srq->query().srq_limit, 4U);
  TakenReceive taken;
  EXPECT_TRUE(srq->take(taken));
  EXPECT_TRUE(srq->take(taken));
  EXPECT_FALSE(event_waits()) << "four are left";
  EXPECT_TRUE(srq->take(taken));
  const AsyncEvent event = next_event();
  EXPECT_EQ(event.type, IBV_EVENT_SRQ_LIMIT_REACHED);
  EXPECT_EQ(event.target, srq.get());
  EXPECT_EQ(srq->query().srq_limit, 0U);
  EXPECT_TRUE(srq->take(taken));
  EXPECT_FALSE(event_waits()) << "not armed any more";
  EXPECT_TRUE(srq->modify(attributes, IBV_SRQ_LIMIT));
  EXPECT_TRUE(srq->take(taken));
  EXPECT_EQ(next_event().type, IBV_EVENT_SRQ_LIMIT_REACHED);
  EXPECT_TRUE(srq->destroy());
}

TEST_F(SrqTest, Modify) {
  auto srq = make_srq(4);
  for (std::uint64_t id = 0; id < 3; ++id) EXPECT_TRUE(post(*srq, id));
  EXPECT_EQ(error_of(srq->modify({0, 0, 5}, IBV_SRQ_LIMIT)), EINVAL);
  EXPECT_EQ(error_of(srq->modify({2, 0, 0}, IBV_SRQ_MAX_WR)), EINVAL);
  EXPECT_EQ(error_of(srq->modify({0, 0, 0}, IBV_SRQ_MAX_WR)), EINVAL);
  EXPECT_EQ(error_of(srq->modify({limits::kMaxSrqWrs + 1, 0, 0}, IBV_SRQ_MAX_WR)), EINVAL);
  EXPECT_EQ(error_of(srq->modify({8, 0, 0}, 4)), EINVAL);
  EXPECT_EQ(srq->query().max_wr, 4U);
  TakenReceive taken;
  EXPECT_TRUE(srq->take(taken));
  EXPECT_TRUE(srq->modify({6, 0, 5}, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT));
  EXPECT_EQ(srq->query().max_wr, 8U);
  for (std::uint64_t id = 3; id < 9; ++id) EXPECT_TRUE(post(*srq, id));
  EXPECT_EQ(error_of(post(*srq, 9)), ENOMEM);
  for (std::uint64_t id = 1; id < 9; ++id) {
    EXPECT_TRUE(srq->take(taken));
    EXPECT_EQ(taken.wqe.wr_id, id);
  }
  next_event();
  EXPECT_TRUE(srq->destroy());
}

TEST_F(SrqTest, ElementsAreCopiedOut) {
  auto srq = make_srq(1);
  ibv_sge sges[2] = {{0x1000, 10, 1}, {0x2000, 20, 2}};
  ibv_recv_wr wr{};
  wr.wr_id = 5;
  wr.sg_list = sges;
  wr.num_sge = 2;
  ibv_recv_wr* bad = nullptr;
  EXPECT_TRUE(srq->post(&wr, &bad));
  TakenReceive taken;
  ASSERT_TRUE(srq->take(taken));
  sges[0].addr = 0x3000;
  wr.wr_id = 6;
  EXPECT_TRUE(srq->post(&wr, &bad));
  EXPECT_EQ(taken.wqe.wr_id, 5U);
  EXPECT_EQ(taken.wqe.length, 30U);
  ASSERT_EQ(taken.wqe.sges.size(), 2U);
  EXPECT_EQ(taken.wqe.sges[0].address, 0x1000U);
  EXPECT_EQ(taken.wqe.sges[1].lkey, MemoryKey(2));
  EXPECT_TRUE(srq->destroy());
}

}  // namespace
}  // namespace softrnic::rnic::test
