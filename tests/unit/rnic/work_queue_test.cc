// Work queues and their tables: states, receives, and which queue a hash leads to.
#include "rnic/work_queue.h"

#include <cerrno>
#include <cstring>

#include "base/reason_id.h"
#include "rnic/indirection_table.h"
#include "tests/unit/ethernet/frames.h"
#include "tests/unit/rnic/fixture.h"

namespace softrnic::rnic::test {
namespace {

using ethernet::test::FrameBuilder;

class WorkQueueTest : public RnicTest {
 protected:
  std::unique_ptr<WorkQueue> make(bool strips_vlan = false) {
    WorkQueueInit init{.pd = pd.get(), .cq = cq.get(), .max_wr = 3, .max_sge = 1, .strips_vlan = strips_vlan};
    auto made = WorkQueue::create(context, init);
    EXPECT_TRUE(made);
    EXPECT_EQ(init.max_wr, 4U);
    return std::move(*made);
  }
  static int go(WorkQueue& queue, ibv_wq_state to) {
    ibv_wq_attr attributes{};
    attributes.attr_mask = IBV_WQ_ATTR_STATE;
    attributes.wq_state = to;
    return error_of(queue.modify(attributes));
  }
  int post(WorkQueue& queue, std::uint64_t id, std::uint32_t length = 256) {
    ibv_sge sge{};
    ibv_recv_wr wr = recv_wr(id, mr.get(), buffer, length, sge);
    ibv_recv_wr* bad = nullptr;
    return error_of(queue.post_recv(&wr, &bad));
  }
  void arrive(WorkQueue& queue, const FrameBuilder& frame, std::uint32_t tag = 0) {
    const std::lock_guard lock(lanes.lane.mutex());
    queue.receive_frame({frame, false}, ethernet::parse(frame), tag);
  }
  std::vector<ibv_wc> completions() {
    // the fake lane publishes with the next thing that a queue pair does
    auto qp = make_qp(IBV_QPT_UD);
    bring(*qp, IBV_QPS_INIT);
    auto all = poll(*cq);
    EXPECT_TRUE(qp->destroy());
    return all;
  }

  char buffer[256]{};
  std::unique_ptr<MemoryRegion> mr;
  void SetUp() override {
    RnicTest::SetUp();
    mr = make_mr(buffer, sizeof buffer);
  }
  void TearDown() override {
    EXPECT_TRUE(mr->destroy());
    RnicTest::TearDown();
  }
};

TEST_F(WorkQueueTest, FramesFillReceives) {
  auto queue = make();
  EXPECT_EQ(post(*queue, 1), EINVAL) << "in RESET";
  ASSERT_EQ(go(*queue, IBV_WQS_RDY), 0);
  ASSERT_EQ(post(*queue, 7), 0);
  FrameBuilder frame;
  frame.ethernet(0x0800).ipv4(17).udp(1, 2);
  arrive(*queue, frame, 99);
  const auto all = completions();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].wr_id, 7U);
  EXPECT_EQ(all[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(all[0].opcode, IBV_WC_RECV);
  EXPECT_EQ(all[0].byte_len, frame.size());
  EXPECT_EQ(all[0].qp_num, queue->number());
  EXPECT_EQ(std::memcmp(buffer, Bytes(frame).data(), frame.size()), 0);
  EXPECT_TRUE(queue->destroy());
}

TEST_F(WorkQueueTest, AVlanTagIsTakenOut) {
  auto queue = make(true);
  ASSERT_EQ(go(*queue, IBV_WQS_RDY), 0);
  ASSERT_EQ(post(*queue, 7), 0);
  FrameBuilder tagged, plain;
  tagged.ethernet(0x8100).be16(0x5c0c).be16(0x0800).ipv4(17).udp(1, 2);
  plain.ethernet(0x0800).ipv4(17).udp(1, 2);
  arrive(*queue, tagged);
  const auto all = completions();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].byte_len, plain.size());
  EXPECT_EQ(std::memcmp(buffer, Bytes(plain).data(), plain.size()), 0);
  EXPECT_TRUE(queue->destroy());
}

TEST_F(WorkQueueTest, WhatDoesNotFitIsDroppedAndTold) {
  auto queue = make();
  ASSERT_EQ(go(*queue, IBV_WQS_RDY), 0);
  FrameBuilder frame;
  frame.ethernet(0x0800).ipv4(17).udp(1, 2);
  arrive(*queue, frame);
  EXPECT_EQ(only_reason(), ReasonId::drop_frame_no_receive);
  ASSERT_EQ(post(*queue, 1, 20), 0);
  arrive(*queue, frame);
  EXPECT_EQ(only_reason(), ReasonId::drop_frame_too_long);
  EXPECT_TRUE(completions().empty());
  EXPECT_TRUE(queue->destroy());
}

TEST_F(WorkQueueTest, ErrFlushesAndResetForgets) {
  auto queue = make();
  ASSERT_EQ(go(*queue, IBV_WQS_ERR), EINVAL) << "not from RESET";
  ASSERT_EQ(go(*queue, IBV_WQS_RDY), 0);
  ASSERT_EQ(post(*queue, 1), 0);
  ASSERT_EQ(post(*queue, 2), 0);
  ASSERT_EQ(go(*queue, IBV_WQS_ERR), 0);
  ASSERT_EQ(post(*queue, 3), 0);
  const auto all = completions();
  ASSERT_EQ(all.size(), 3U);
  for (const ibv_wc& wc : all) EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
  ASSERT_EQ(go(*queue, IBV_WQS_RESET), 0);
  ASSERT_EQ(go(*queue, IBV_WQS_RDY), 0);
  for (std::uint64_t id = 0; id < 4; ++id) EXPECT_EQ(post(*queue, id), 0);
  EXPECT_EQ(post(*queue, 4), ENOMEM) << "full";
  ASSERT_EQ(go(*queue, IBV_WQS_RESET), 0);
  EXPECT_TRUE(completions().empty());
  EXPECT_TRUE(queue->destroy());
}

TEST_F(WorkQueueTest, TablesHoldTheirQueues) {
  auto a = make();
  auto b = make();
  WorkQueue* const four[] = {a.get(), b.get(), a.get(), b.get()};
  EXPECT_EQ(error_of(IndirectionTable::create(context, std::span(four).first(3))), EINVAL);
  WorkQueue* const hole[] = {a.get(), nullptr};
  EXPECT_EQ(error_of(IndirectionTable::create(context, hole)), EINVAL);
  auto table = IndirectionTable::create(context, four);
  ASSERT_TRUE(table);
  EXPECT_EQ(&(*table)->queue_for(0xfffffffc), a.get());
  EXPECT_EQ(&(*table)->queue_for(7), b.get());
  EXPECT_EQ(error_of(a->destroy()), EBUSY);
  EXPECT_TRUE((*table)->destroy());
  EXPECT_TRUE(a->destroy());
  EXPECT_TRUE(b->destroy());
}

}  // namespace
}  // namespace softrnic::rnic::test
