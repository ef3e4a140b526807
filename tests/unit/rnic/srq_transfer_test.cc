// Receives of a shared receive queue, as messages take them.
#include <utility>

#include "tests/unit/rnic/transfer_fixture.h"

namespace softrnic::rnic::test {
namespace {

TEST_F(TransferTest, SrqFeedsTheQp) {
  connect(IBV_QPT_RC, true);
  receive(21, 100);
  receive(22, 100);
  EXPECT_TRUE(srq->modify({0, 0, 2}, IBV_SRQ_LIMIT));
  EXPECT_EQ(run(request(IBV_WR_SEND, 50)).status, IBV_WC_SUCCESS);
  EXPECT_EQ(one(*recv_cq).wr_id, 21U);
  EXPECT_EQ(next_event().type, IBV_EVENT_SRQ_LIMIT_REACHED);
  EXPECT_TRUE(arrived(50));
  bring(*b, IBV_QPS_ERR);
  EXPECT_TRUE(poll(*recv_cq).empty()) << "the SRQ's receives are not the QP's to flush";
  EXPECT_EQ(next_event().type, IBV_EVENT_QP_LAST_WQE_REACHED);
}

// IBTA 10.2.3
TEST_F(TransferTest, ReceivesOfAnSrqGoByItsProtectionDomain) {
  auto other = std::move(*ProtectionDomain::create(context));
  std::swap(pd, other);
  auto region = make_mr(to.data(), to.size());
  srq = make_srq();
  std::swap(pd, other);
  a = make_qp(IBV_QPT_RC);
  QueuePairInit wanted = init(IBV_QPT_RC);
  wanted.recv_cq = recv_cq.get();
  wanted.srq = srq.get();
  b = make_qp(wanted);
  bring(*b, IBV_QPS_RTS, a->qpn());
  bring(*a, IBV_QPS_RTS, b->qpn());
  to_mr.swap(region);
  receive(1, 100);
  to_mr.swap(region);
  EXPECT_EQ(run(request(IBV_WR_SEND, 50)).status, IBV_WC_SUCCESS);
  EXPECT_EQ(one(*recv_cq).status, IBV_WC_SUCCESS);
  receive(2, 100);
  EXPECT_EQ(run(request(IBV_WR_SEND, 50)).status, IBV_WC_REM_OP_ERR);
  EXPECT_EQ(one(*recv_cq).status, IBV_WC_LOC_PROT_ERR) << "a key of the queue pair's domain";
  EXPECT_TRUE(a->destroy());
  EXPECT_TRUE(b->destroy());
  a.reset();
  b.reset();
  EXPECT_TRUE(region->destroy());
  EXPECT_TRUE(srq->destroy());
  srq.reset();
  EXPECT_TRUE(other->destroy());
}

}  // namespace
}  // namespace softrnic::rnic::test
