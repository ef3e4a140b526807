#include <cerrno>

#include "base/reason_id.h"
#include "rnic/work_requests.h"
#include "tests/unit/rnic/fixture.h"

namespace softrnic::rnic::test {
namespace {

class PostTest : public RnicTest {
 protected:
  void SetUp() override {
    RnicTest::SetUp();
    mr = make_mr(memory.data(), memory.size());
    ah = std::move(*AddressHandle::create(*pd, address_of(ipv4(1))));
  }
  void TearDown() override {
    ah->destroy();
    EXPECT_TRUE(mr->destroy());
    RnicTest::TearDown();
  }

  ibv_send_wr usual(ibv_wr_opcode opcode, ibv_qp_type type, std::uint32_t length = 8) {
    ibv_send_wr wr = send_wr(opcode, mr.get(), memory.data(), length, sge);
    if (type == IBV_QPT_UD) wr.wr.ud.ah = ah.get();
    return wr;
  }
  int post(QueuePair& qp, ibv_send_wr wr) {
    ibv_send_wr* bad = nullptr;
    const int error = error_of(qp.post_send(&wr, &bad));
    EXPECT_EQ(bad, error == 0 ? nullptr : &wr);
    return error;
  }
  int post_recv(QueuePair& qp, std::uint64_t id) {
    ibv_sge unused{};
    ibv_recv_wr wr = recv_wr(id, nullptr, nullptr, 0, unused);
    ibv_recv_wr* bad = nullptr;
    return error_of(qp.post_recv(&wr, &bad));
  }
  void expect_refused(QueuePair& qp, const ibv_send_wr& wr, ReasonId reason, int error = EINVAL) {
    explanations().clear();
    EXPECT_EQ(post(qp, wr), error);
    EXPECT_EQ(only_reason(), reason);
  }

  std::array<std::byte, 4096> memory{};
  ibv_sge sge{};
  std::unique_ptr<MemoryRegion> mr;
  std::unique_ptr<AddressHandle> ah;
};

// ibv_post_send(3): the states in which work requests are taken; what is taken in ERR comes back flushed.
TEST_F(PostTest, SendsByState) {
  const std::pair<ibv_qp_state, int> cases[] = {
      {IBV_QPS_RESET, EINVAL}, {IBV_QPS_INIT, EINVAL}, {IBV_QPS_RTR, EINVAL},
      {IBV_QPS_RTS, 0},        {IBV_QPS_SQD, 0},       {IBV_QPS_ERR, 0},
  };
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
    for (const auto& [state, error] : cases) {
      auto qp = make_qp(type);
      bring(*qp, state);
      poll(*cq);
      explanations().clear();
      EXPECT_EQ(post(*qp, usual(IBV_WR_SEND, type)), error) << type << " " << state_name(state);
      if (error != 0) {
        EXPECT_EQ(only_reason(), ReasonId::post_send_state);
      }
      if (state == IBV_QPS_ERR) {
        const auto done = poll(*cq);
        ASSERT_EQ(done.size(), 1U);
        EXPECT_EQ(done[0].status, IBV_WC_WR_FLUSH_ERR);
        EXPECT_EQ(done[0].opcode, IBV_WC_SEND);
      }
      EXPECT_TRUE(qp->destroy());
    }
  }
}

TEST_F(PostTest, ReceivesByState) {
  for (const ibv_qp_state state : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_ERR}) {
    auto qp = make_qp(IBV_QPT_RC);
    bring(*qp, state);
    EXPECT_EQ(post_recv(*qp, 5), state == IBV_QPS_RESET ? EINVAL : 0) << state_name(state);
    const auto done = poll(*cq);
    EXPECT_EQ(done.size(), state == IBV_QPS_ERR ? 1U : 0U);
    for (const ibv_wc& wc : done) {
      EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
      EXPECT_EQ(wc.wr_id, 5U);
      EXPECT_EQ(wc.qp_num, qp->qpn().value);
    }
    EXPECT_TRUE(qp->destroy());
  }
}

TEST_F(PostTest, OpcodesByType) {
  struct Row {
    ibv_wr_opcode opcode;
    int rc, uc, ud;
  };
  constexpr int kFails = -1;  // in its turn, as with mlx5 and rxe
  const Row rows[] = {
      {IBV_WR_SEND, 0, 0, 0},
      {IBV_WR_SEND_WITH_IMM, 0, 0, 0},
      {IBV_WR_RDMA_WRITE, 0, 0, kFails},
      {IBV_WR_RDMA_WRITE_WITH_IMM, 0, 0, kFails},
      {IBV_WR_RDMA_READ, 0, kFails, kFails},
      {IBV_WR_ATOMIC_CMP_AND_SWP, 0, kFails, kFails},
      {IBV_WR_ATOMIC_FETCH_AND_ADD, 0, kFails, kFails},
      {IBV_WR_SEND_WITH_INV, 0, kFails, kFails},
      {IBV_WR_LOCAL_INV, 0, 0, EINVAL},
      {IBV_WR_BIND_MW, EINVAL, EINVAL, EINVAL},  // without a window
      {IBV_WR_TSO, EINVAL, EINVAL, EINVAL},
  };
  for (const Row& row : rows) {
    for (const auto& [type, error] :
         {std::pair{IBV_QPT_RC, row.rc}, {IBV_QPT_UC, row.uc}, {IBV_QPT_UD, row.ud}}) {
      auto qp = make_qp(type);
      bring(*qp, IBV_QPS_RTS);
      lanes.lane.lose_packets = true;
      poll(*cq);
      ibv_send_wr wr = usual(row.opcode, type);
      if (error == kFails) wr.wr.rdma = {0xdead, 1};  // where a datagram's address handle stands
      EXPECT_EQ(post(*qp, wr), error == kFails ? 0 : error) << row.opcode << " " << type;
      if (error == kFails) {
        const auto done = poll(*cq);
        ASSERT_EQ(done.size(), 1U) << row.opcode << " " << type;
        EXPECT_EQ(done[0].status, IBV_WC_LOC_QP_OP_ERR);
      }
      EXPECT_TRUE(qp->destroy());
    }
  }
}

TEST_F(PostTest, WhatAWorkRequestMustLookLike) {
  auto qp = make_qp(IBV_QPT_RC);
  bring(*qp, IBV_QPS_RTS);
  lanes.lane.lose_packets = true;
  auto wr = usual(IBV_WR_SEND, IBV_QPT_RC);
  wr.num_sge = 5;
  expect_refused(*qp, wr, ReasonId::too_many_sge);
  wr.num_sge = -1;
  expect_refused(*qp, wr, ReasonId::too_many_sge);
  wr = usual(IBV_WR_SEND, IBV_QPT_RC, 65);
  wr.send_flags |= IBV_SEND_INLINE;
  expect_refused(*qp, wr, ReasonId::inline_too_long);
  wr = usual(IBV_WR_RDMA_READ, IBV_QPT_RC);
  wr.send_flags |= IBV_SEND_INLINE;
  expect_refused(*qp, wr, ReasonId::bad_send_flags);
  wr = usual(IBV_WR_SEND, IBV_QPT_RC);
  wr.send_flags |= IBV_SEND_IP_CSUM;
  expect_refused(*qp, wr, ReasonId::bad_send_flags);
  expect_refused(*qp, usual(IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_QPT_RC, 4), ReasonId::bad_atomic_length);
  expect_refused(*qp, usual(IBV_WR_SEND, IBV_QPT_RC, 0x80000001), ReasonId::local_length);
  EXPECT_EQ(qp->explained()->latest().reason.id, ReasonId::local_length);
  EXPECT_TRUE(qp->destroy());
  auto ud = make_qp(IBV_QPT_UD);
  bring(*ud, IBV_QPS_RTS);
  expect_refused(*ud, usual(IBV_WR_SEND, IBV_QPT_RC), ReasonId::ud_without_ah);
  EXPECT_TRUE(ud->destroy());
}

TEST_F(PostTest, ReadsNeedResources) {
  auto qp = make_qp(IBV_QPT_RC);
  bring(*qp, IBV_QPS_RTR);
  Change change = change_to(IBV_QPS_RTS, IBV_QPT_RC);
  change.attributes.max_rd_atomic = 0;
  ASSERT_TRUE(qp->modify(change.attributes, change.mask));
  expect_refused(*qp, usual(IBV_WR_RDMA_READ, IBV_QPT_RC), ReasonId::read_needs_resources);
  EXPECT_TRUE(qp->destroy());
}

TEST_F(PostTest, AListIsPostedUpToTheBadOne) {
  lanes.lane.lose_packets = true;
  auto qp = make_qp(IBV_QPT_RC);
  bring(*qp, IBV_QPS_RTS);
  ibv_send_wr wrs[12];
  for (std::size_t i = 0; i < 12; ++i) {
    wrs[i] = usual(IBV_WR_RDMA_WRITE, IBV_QPT_RC);  // more than one SEND would wait for credit
    wrs[i].wr_id = i;
    wrs[i].next = i + 1 < 12 ? &wrs[i + 1] : nullptr;
  }
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(error_of(qp->post_send(wrs, &bad)), ENOMEM);
  EXPECT_EQ(bad, &wrs[8]) << "max_send_wr is 8";
  EXPECT_EQ(only_reason(), ReasonId::send_queue_full);
  EXPECT_EQ(lanes.lane.headers_sent.size(), 8U) << "what was posted is on its way";
  EXPECT_TRUE(qp->destroy());
}

TEST_F(PostTest, WhatGoesDirectIsDoneWithThePost) {
  lanes.lane.goes_direct = true;
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
    auto qp = make_qp(type);
    bring(*qp, IBV_QPS_RTS);
    lanes.lane.transmit_calls = lanes.lane.completed_direct_calls = 0;
    ibv_send_wr second = usual(IBV_WR_RDMA_WRITE, type);
    ibv_send_wr first = second;
    first.next = &second;
    EXPECT_EQ(post(*qp, first), 0);
    EXPECT_EQ(lanes.lane.completed_direct_calls, 1);
    EXPECT_EQ(lanes.lane.transmit_calls, 0);
    EXPECT_EQ(poll(*cq).size(), 2U);
    // behind a message that has packets the next one waits
    first.opcode = IBV_WR_SEND;
    lanes.lane.hold_packets = true;
    EXPECT_EQ(post(*qp, first), 0);
    EXPECT_EQ(lanes.lane.completed_direct_calls, 1);
    EXPECT_EQ(lanes.lane.transmit_calls, 1);
    lanes.lane.hold_packets = false;
    EXPECT_TRUE(qp->destroy());
  }
}

TEST_F(PostTest, EveryOneSidedRequestGoesDirectWithinThePost) {
  lanes.lane.goes_direct = true;
  auto qp = make_qp(IBV_QPT_RC);
  bring(*qp, IBV_QPS_RTS);
  lanes.lane.transmit_calls = lanes.lane.completed_direct_calls = 0;
  int posted = 0;
  for (const ibv_wr_opcode opcode :
       {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
    ibv_send_wr wr = usual(opcode, IBV_QPT_RC);
    EXPECT_EQ(post(*qp, wr), 0);
    EXPECT_EQ(lanes.lane.completed_direct_calls, ++posted) << "opcode " << opcode;
    EXPECT_EQ(poll(*cq).size(), 1U);
  }
  EXPECT_EQ(lanes.lane.transmit_calls, 0);
  EXPECT_TRUE(qp->destroy());
}

TEST_F(PostTest, WhatMovesNothingGoesDirectWithinThePost) {
  lanes.lane.goes_direct = true;
  auto qp = make_qp(IBV_QPT_RC);
  bring(*qp, IBV_QPS_RTS);
  lanes.lane.transmit_calls = lanes.lane.completed_direct_calls = 0;
  ibv_send_wr flush{};
  flush.opcode = kWrFlush;
  flush.wr.atomic.swap = 1;  // global visibility of a range
  ibv_send_wr write{}, inlined{}, read{};
  write.opcode = inlined.opcode = IBV_WR_RDMA_WRITE;
  inlined.send_flags = IBV_SEND_INLINE;
  read.opcode = IBV_WR_RDMA_READ;
  int posted = 0;
  for (ibv_send_wr wr : {write, inlined, read, flush, usual(IBV_WR_RDMA_WRITE, IBV_QPT_RC, 0)}) {
    wr.send_flags |= IBV_SEND_SIGNALED;
    EXPECT_EQ(post(*qp, wr), 0);
    EXPECT_EQ(lanes.lane.completed_direct_calls, ++posted);
    EXPECT_EQ(poll(*cq).size(), 1U);
  }
  EXPECT_EQ(lanes.lane.transmit_calls, 0);
  EXPECT_TRUE(qp->destroy());
}

TEST_F(PostTest, ReceiveQueueFull) {
  auto qp = make_qp(IBV_QPT_RC);
  bring(*qp, IBV_QPS_INIT);
  for (std::uint64_t i = 0; i < 8; ++i) EXPECT_EQ(post_recv(*qp, i), 0);
  EXPECT_EQ(post_recv(*qp, 8), ENOMEM);
  EXPECT_EQ(only_reason(), ReasonId::recv_queue_full);
  EXPECT_TRUE(qp->destroy());
}

TEST_F(PostTest, DepthOneWorks) {
  QueuePairInit wanted = init(IBV_QPT_RC);
  wanted.cap = {1, 1, 1, 1, 0};
  auto qp = make_qp(wanted);
  bring(*qp, IBV_QPS_RTS);
  lanes.lane.lose_packets = true;
  EXPECT_EQ(post(*qp, usual(IBV_WR_SEND, IBV_QPT_RC)), 0);
  EXPECT_EQ(post(*qp, usual(IBV_WR_SEND, IBV_QPT_RC)), ENOMEM);
  EXPECT_TRUE(qp->destroy());
}

TEST_F(PostTest, ReceivesOfAnSrqAreNotTheQps) {
  auto srq = make_srq();
  QueuePairInit wanted = init(IBV_QPT_RC);
  wanted.srq = srq.get();
  auto qp = make_qp(wanted);
  bring(*qp, IBV_QPS_INIT);
  EXPECT_EQ(post_recv(*qp, 1), EINVAL);
  EXPECT_EQ(only_reason(), ReasonId::recv_on_srq_qp);
  bring(*qp, IBV_QPS_ERR);
  const AsyncEvent event = next_event();
  EXPECT_EQ(event.type, IBV_EVENT_QP_LAST_WQE_REACHED);
  EXPECT_EQ(event.target, qp.get());
  EXPECT_TRUE(qp->destroy());
  EXPECT_TRUE(srq->destroy());
}

TEST_F(PostTest, FlushKeepsTheOrder) {
  lanes.lane.lose_packets = true;
  auto qp = make_qp(IBV_QPT_RC);
  bring(*qp, IBV_QPS_RTS);
  for (std::uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(post_recv(*qp, 100 + i), 0);
    auto wr = usual(IBV_WR_SEND, IBV_QPT_RC);
    wr.wr_id = i;
    wr.send_flags = 0;  // flushed ones are reported all the same
    EXPECT_EQ(post(*qp, wr), 0);
  }
  bring(*qp, IBV_QPS_ERR);
  std::vector<std::uint64_t> sends;
  std::vector<std::uint64_t> receives;
  for (const ibv_wc& wc : poll(*cq)) {
    EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
    ((wc.opcode & IBV_WC_RECV) != 0 ? receives : sends).push_back(wc.wr_id);
  }
  EXPECT_EQ(sends, (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_EQ(receives, (std::vector<std::uint64_t>{100, 101, 102}));
  EXPECT_TRUE(qp->destroy());
}

TEST_F(PostTest, ResetAndDestroyForgetWithoutCompletions) {
  lanes.lane.lose_packets = true;
  auto qp = make_qp(IBV_QPT_RC);
  bring(*qp, IBV_QPS_RTS);
  EXPECT_EQ(post_recv(*qp, 1), 0);
  EXPECT_EQ(post(*qp, usual(IBV_WR_SEND, IBV_QPT_RC)), 0);
  bring(*qp, IBV_QPS_ERR);
  const Change reset = change_to(IBV_QPS_RESET, IBV_QPT_RC);
  EXPECT_TRUE(qp->modify(reset.attributes, reset.mask));
  EXPECT_TRUE(poll(*cq).empty()) << "not even those that were there already";
  bring(*qp, IBV_QPS_RTS);
  EXPECT_EQ(post_recv(*qp, 1), 0);
  EXPECT_TRUE(qp->destroy());
  EXPECT_TRUE(poll(*cq).empty());
}

}  // namespace
}  // namespace softrnic::rnic::test
