// Where receives come from: an own queue, an SRQ, or the SRQs of an XRC domain.
#include "rnic/receive_source.h"

#include <cerrno>

#include "base/reason_id.h"
#include "rnic/xrc_domain.h"
#include "tests/unit/rnic/fixture.h"

namespace softrnic::rnic::test {
namespace {

class ReceiveSourceTest : public RnicTest {
 protected:
  static ibv_recv_wr wr(std::uint64_t id) {
    ibv_recv_wr wr{};
    wr.wr_id = id;
    return wr;
  }
  static void post_to(SharedReceiveQueue& srq, std::uint64_t id) {
    ibv_recv_wr one = wr(id);
    ibv_recv_wr* bad = nullptr;
    EXPECT_TRUE(srq.post(&one, &bad));
  }
  static void expect_next(ReceiveSource& source, std::uint64_t id) {
    const ib::RecvWqe* const wqe = source.take();
    ASSERT_NE(wqe, nullptr);
    EXPECT_EQ(wqe->wr_id, id);
  }
};

TEST_F(ReceiveSourceTest, AnOwnQueueGoesByTheKeysOfTheQueuePair) {
  ReceiveSource source(pd.get(), nullptr, cq.get());
  EXPECT_FALSE(source.has_queue());
  ASSERT_TRUE(source.allocate(2, 1, nullptr));
  EXPECT_TRUE(source.has_queue());
  EXPECT_EQ(source.take(), nullptr);
  ASSERT_TRUE(source.post(wr(1)));
  expect_next(source, 1);
  EXPECT_EQ(source.pd(), pd.get());
  EXPECT_EQ(source.cq(), cq.get());
}

TEST_F(ReceiveSourceTest, AReceiveFillsItsPlaceUntilItIsCompleted) {
  ReceiveSource source(pd.get(), nullptr, cq.get());
  ASSERT_TRUE(source.allocate(2, 1, nullptr));
  for (const std::uint64_t id : {1, 2}) ASSERT_TRUE(source.post(wr(id)));
  EXPECT_EQ(error_of(source.post(wr(3))), ENOMEM);
  expect_next(source, 1);
  EXPECT_EQ(error_of(source.post(wr(3))), ENOMEM) << "it is under way";
  source.completed();
  EXPECT_TRUE(source.post(wr(3)));
  ibv_recv_wr long_list = wr(4);
  long_list.num_sge = 2;
  EXPECT_EQ(error_of(source.post(long_list)), EINVAL);
}

TEST_F(ReceiveSourceTest, IsFlushedInOrderAndForgottenAtOnce) {
  ReceiveSource source(pd.get(), nullptr, cq.get());
  ASSERT_TRUE(source.allocate(2, 1, nullptr));
  for (const std::uint64_t id : {1, 2}) ASSERT_TRUE(source.post(wr(id)));
  EXPECT_EQ(source.flush_next(), 1U);
  EXPECT_EQ(source.flush_next(), 2U);
  EXPECT_EQ(source.flush_next(), std::nullopt);
  for (const std::uint64_t id : {1, 2}) ASSERT_TRUE(source.post(wr(id)));
  expect_next(source, 1);
  source.clear();
  EXPECT_EQ(source.take(), nullptr);
  for (const std::uint64_t id : {1, 2}) EXPECT_TRUE(source.post(wr(id))) << "no place is taken";
}

TEST_F(ReceiveSourceTest, ReceivesOfAnSrqGoByItsKeysAndCompleteAtTheQueuePair) {
  auto other = std::move(*ProtectionDomain::create(context));
  ibv_srq_attr size{4, 1, 0};
  auto srq = std::move(*SharedReceiveQueue::create(*other, size));
  ReceiveSource source(pd.get(), srq.get(), cq.get());
  EXPECT_FALSE(source.has_queue());
  post_to(*srq, 5);
  expect_next(source, 5);
  EXPECT_EQ(source.pd(), other.get());
  EXPECT_EQ(source.cq(), cq.get());
  EXPECT_EQ(source.take(), nullptr);
  EXPECT_TRUE(srq->destroy());
  EXPECT_TRUE(other->destroy());
}

class XrcReceiveSourceTest : public ReceiveSourceTest {
 protected:
  void SetUp() override {
    RnicTest::SetUp();
    for (auto& srq : srqs) {
      ibv_srq_attr size{4, 1, 0};
      srq = std::move(*SharedReceiveQueue::create(*pd, *cq, size));
      domain.add(*srq);
    }
  }
  void TearDown() override {
    for (auto& srq : srqs) {
      domain.remove(*srq);
      EXPECT_TRUE(srq->destroy());
    }
    RnicTest::TearDown();
  }

  XrcDomain domain;
  std::array<std::unique_ptr<SharedReceiveQueue>, 2> srqs;
  ReceiveSource source{nullptr, nullptr, nullptr, &domain};
};

TEST_F(XrcReceiveSourceTest, ARequestSelectsTheSrqAndItsKeys) {
  EXPECT_EQ(source.selected_pd(), nullptr);
  EXPECT_EQ(source.take(), nullptr);
  for (std::uint64_t i = 0; i < 2; ++i) post_to(*srqs[i], i);
  ASSERT_TRUE(source.select(srqs[1]->srq_number()));
  EXPECT_EQ(source.selected_pd(), pd.get());
  expect_next(source, 1);
  EXPECT_EQ(source.cq(), cq.get());
  EXPECT_EQ(source.pd(), pd.get());
  ASSERT_TRUE(source.select(srqs[0]->srq_number()));
  expect_next(source, 0);
}

TEST_F(XrcReceiveSourceTest, ANumberThatTheDomainHasNotChangesNothing) {
  ASSERT_TRUE(source.select(srqs[0]->srq_number()));
  const auto none = source.select(1U << 24);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().id, ReasonId::nak_xrc_srq);
  post_to(*srqs[0], 3);
  expect_next(source, 3);
}

TEST_F(XrcReceiveSourceTest, GivesUpTheReceiveOfAnSrqThatGoes) {
  post_to(*srqs[0], 3);
  ASSERT_TRUE(source.select(srqs[0]->srq_number()));
  expect_next(source, 3);
  ASSERT_TRUE(source.select(srqs[1]->srq_number()));
  EXPECT_FALSE(source.forget(*srqs[1])) << "nothing of it was taken";
  EXPECT_EQ(source.selected_pd(), nullptr);
  EXPECT_TRUE(source.forget(*srqs[0]));
  EXPECT_EQ(source.cq(), nullptr);
  EXPECT_FALSE(source.forget(*srqs[0])) << "once";
}

TEST_F(XrcReceiveSourceTest, WhatIsCompletedNeedsNotBeGivenUp) {
  post_to(*srqs[0], 3);
  ASSERT_TRUE(source.select(srqs[0]->srq_number()));
  expect_next(source, 3);
  source.completed();
  EXPECT_FALSE(source.forget(*srqs[0]));
}

TEST_F(XrcReceiveSourceTest, OutsideTheDomainItFindsNothing) {
  post_to(*srqs[0], 3);
  ASSERT_TRUE(source.select(srqs[0]->srq_number()));
  expect_next(source, 3);
  EXPECT_TRUE(source.leave_domain());
  EXPECT_EQ(source.selected_pd(), nullptr);
  EXPECT_FALSE(source.select(srqs[0]->srq_number()));
  EXPECT_EQ(source.take(), nullptr);
}

}  // namespace
}  // namespace softrnic::rnic::test
