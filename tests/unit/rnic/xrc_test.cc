// XRC as verbs have it: domains, numbered SRQs, initiators and targets.
#include <cerrno>

#include "base/reason_id.h"
#include "rnic/xrc_domain.h"
#include "tests/unit/rnic/transfer_fixture.h"

namespace softrnic::rnic::test {
namespace {

class XrcTest : public TransferTest {
 protected:
  void TearDown() override {
    if (b) domain.remove(*b);
    for (auto& each : srqs) drop(each);
    TransferTest::TearDown();
  }
  void drop(std::unique_ptr<SharedReceiveQueue>& each) {
    if (each == nullptr) return;
    domain.remove(*each);
    EXPECT_TRUE(each->destroy());
    each.reset();
  }
  std::unique_ptr<SharedReceiveQueue> make_xrc_srq() {
    ibv_srq_attr size{16, 2, 0};
    auto made = SharedReceiveQueue::create(*pd, *recv_cq, size);
    EXPECT_TRUE(made);
    domain.add(**made);
    return std::move(*made);
  }
  void connect_xrc() {
    for (auto& each : srqs) each = make_xrc_srq();
    QueuePairInit wanted;
    wanted.type = IBV_QPT_XRC_RECV;
    wanted.cap = {9, 9, 9, 9, 9};
    auto made = QueuePair::create(context, domain, wanted);
    ASSERT_TRUE(made);
    b = std::move(*made);
    EXPECT_EQ(wanted.cap.max_send_wr + wanted.cap.max_recv_wr + wanted.cap.max_send_sge, 0U);
    domain.add(*b);
    wanted = init(IBV_QPT_XRC_SEND);
    wanted.recv_cq = nullptr;
    a = make_qp(wanted);
    bring(*b, IBV_QPS_RTS, a->qpn());
    bring(*a, IBV_QPS_RTS, b->qpn());
  }
  void post_to(SharedReceiveQueue& to_srq, std::uint64_t id, const MemoryRegion* mr) {
    ibv_sge s{};
    ibv_recv_wr wr = recv_wr(id, mr, to.data(), 100, s);
    ibv_recv_wr* bad = nullptr;
    EXPECT_TRUE(to_srq.post(&wr, &bad));
  }
  ibv_send_wr for_srq(std::uint32_t number, ibv_wr_opcode opcode = IBV_WR_SEND) {
    ibv_send_wr wr = request(opcode, opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : 50);
    wr.qp_type.xrc.remote_srqn = number;
    return wr;
  }

  XrcDomain domain;
  std::array<std::unique_ptr<SharedReceiveQueue>, 2> srqs;
};

TEST_F(XrcTest, NumbersDifferAndBasicOnesHaveNone) {
  connect_xrc();
  EXPECT_NE(srqs[0]->srq_number(), srqs[1]->srq_number());
  EXPECT_LT(srqs[0]->srq_number(), 1U << 24);
  auto basic = make_srq();
  EXPECT_EQ(basic->srq_number(), 0U);
  EXPECT_TRUE(basic->destroy());
}

TEST_F(XrcTest, TheRequestSaysWhichSrqTakesIt) {
  connect_xrc();
  post_to(*srqs[0], 1, to_mr.get());
  post_to(*srqs[1], 2, to_mr.get());
  EXPECT_EQ(run(for_srq(srqs[1]->srq_number())).status, IBV_WC_SUCCESS);
  const ibv_wc received = one(*recv_cq);
  EXPECT_EQ(received.wr_id, 2U);
  EXPECT_EQ(received.opcode, IBV_WC_RECV);
  EXPECT_EQ(received.byte_len, 50U);
  EXPECT_EQ(received.qp_num, b->qpn().value) << "the target, as adapters say";
  EXPECT_EQ(received.src_qp, a->qpn().value);
  EXPECT_TRUE(arrived(50));
  EXPECT_EQ(run(for_srq(srqs[0]->srq_number())).status, IBV_WC_SUCCESS);
  EXPECT_EQ(one(*recv_cq).wr_id, 1U);
}

TEST_F(XrcTest, WritesReadsAndAtomicsGoByTheDomainOfTheSrq) {
  connect_xrc();
  EXPECT_EQ(run(for_srq(srqs[0]->srq_number(), IBV_WR_RDMA_WRITE)).status, IBV_WC_SUCCESS);
  EXPECT_TRUE(arrived(50));
  EXPECT_EQ(run(for_srq(srqs[0]->srq_number(), IBV_WR_RDMA_READ)).status, IBV_WC_SUCCESS);
  ibv_send_wr add = for_srq(srqs[1]->srq_number(), IBV_WR_ATOMIC_FETCH_AND_ADD);
  add.wr.atomic = {reinterpret_cast<std::uintptr_t>(to.data()), 1, 0, to_mr->key().value};
  EXPECT_EQ(run(add).status, IBV_WC_SUCCESS);
  EXPECT_TRUE(poll(*recv_cq).empty());
}

TEST_F(XrcTest, KeysOfAnotherDomainAreNotForThisSrq) {
  connect_xrc();
  auto other = std::move(*ProtectionDomain::create(context));
  std::swap(pd, other);
  auto region = make_mr(to.data(), to.size(), kEverything);
  std::swap(pd, other);
  ibv_send_wr wr = for_srq(srqs[0]->srq_number(), IBV_WR_RDMA_WRITE);
  wr.wr.rdma.rkey = region->key().value;
  EXPECT_EQ(run(wr).status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_TRUE(region->destroy());
  EXPECT_TRUE(other->destroy());
}

TEST_F(XrcTest, AnUnknownNumberIsAnInvalidRequest) {
  connect_xrc();
  explanations().clear();
  EXPECT_EQ(run(for_srq(0x123)).status, IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(state_of(*b), IBV_QPS_ERR);
  EXPECT_EQ(explanations().front().reason.id, ReasonId::nak_xrc_srq);
  EXPECT_EQ(next_event().type, IBV_EVENT_QP_REQ_ERR);
}

TEST_F(XrcTest, AnSrqOfAnotherDomainIsUnknown) {
  connect_xrc();
  XrcDomain other;
  domain.remove(*srqs[0]);
  other.add(*srqs[0]);
  post_to(*srqs[0], 1, to_mr.get());
  EXPECT_EQ(run(for_srq(srqs[0]->srq_number())).status, IBV_WC_REM_INV_REQ_ERR);
  EXPECT_TRUE(poll(*recv_cq).empty());
  other.remove(*srqs[0]);
}

TEST_F(XrcTest, ADestroyedSrqLeavesTheOthersAlone) {
  connect_xrc();
  post_to(*srqs[0], 1, to_mr.get());
  EXPECT_EQ(run(for_srq(srqs[0]->srq_number())).status, IBV_WC_SUCCESS);
  EXPECT_EQ(one(*recv_cq).wr_id, 1U);
  const std::uint32_t gone = srqs[0]->srq_number();
  drop(srqs[0]);
  post_to(*srqs[1], 2, to_mr.get());
  EXPECT_EQ(run(for_srq(srqs[1]->srq_number())).status, IBV_WC_SUCCESS);
  EXPECT_EQ(one(*recv_cq).wr_id, 2U);
  EXPECT_EQ(run(for_srq(gone)).status, IBV_WC_REM_INV_REQ_ERR);
}

TEST_F(XrcTest, AttributesOfTheOtherHalfArePassedOver) {
  a = make_qp(init(IBV_QPT_XRC_SEND));
  bring(*a, IBV_QPS_INIT);
  Change change = change_to(IBV_QPS_RTR, IBV_QPT_XRC_SEND);
  change.attributes.max_dest_rd_atomic = 255;
  change.mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  EXPECT_TRUE(a->modify(change.attributes, change.mask));
  EXPECT_EQ(passed_over(IBV_QPT_RC), 0U);
}

TEST_F(XrcTest, WhatHasNoQueueTakesNoPosts) {
  connect_xrc();
  ibv_sge s{};
  ibv_recv_wr receive = recv_wr(1, to_mr.get(), to.data(), 8, s);
  ibv_recv_wr* bad_receive = nullptr;
  EXPECT_EQ(error_of(a->post_recv(&receive, &bad_receive)), EINVAL);
  EXPECT_EQ(error_of(b->post_recv(&receive, &bad_receive)), EINVAL);
  ibv_send_wr wr = request(IBV_WR_SEND, 8);
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(error_of(b->post_send(&wr, &bad)), EINVAL);
}

TEST_F(XrcTest, ItsSrqIsForNoOtherType) {
  connect_xrc();
  QueuePairInit wanted = init(IBV_QPT_RC);
  wanted.srq = srqs[0].get();
  EXPECT_EQ(error_of(QueuePair::create(*pd, wanted)), EINVAL);
}

TEST_F(XrcTest, ItsCompletionQueueIsInUse) {
  connect_xrc();
  EXPECT_EQ(error_of(recv_cq->destroy()), EBUSY);
}

}  // namespace
}  // namespace softrnic::rnic::test
