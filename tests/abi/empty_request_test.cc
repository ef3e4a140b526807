// WRITEs and READs of no bytes, by which libraries find out that all before has arrived (UCX's flush). Their
// key is not checked (IBTA C9-88), but the peer has to be there.
#include "tests/abi/verbs_fixture.h"

namespace softrnic::abi_test {
namespace {

constexpr std::uint8_t kShortTimeout = 8;  ///< 1 ms to the first retry
constexpr int kOften = 20;                 ///< the first by packets perhaps, the last direct

class EmptyRequestTest : public VerbsTest {
 protected:
  void SetUp() override {
    VerbsTest::SetUp();
    connect_new(IBV_QPT_RC);
  }
  void connect_new(ibv_qp_type type) {
    a = make_qp(type);
    b = make_qp(type);
    ASSERT_EQ(to_init(a.get()), 0);
    ASSERT_EQ(to_init(b.get()), 0);
    ASSERT_EQ(to_rtr(a.get(), b->qp_num), 0);
    ASSERT_EQ(to_rtr(b.get(), a->qp_num), 0);
    ASSERT_EQ(to_rts(a.get(), kShortTimeout), 0);
    ASSERT_EQ(to_rts(b.get()), 0);
  }
  ibv_wc run(ibv_wr_opcode opcode, unsigned flags = 0) const {
    ibv_send_wr wr{}, *bad = nullptr;
    wr.opcode = opcode;
    wr.send_flags = IBV_SEND_SIGNALED | flags;
    EXPECT_EQ(ibv_post_send(a.get(), &wr, &bad), 0);
    return collect(cq.get(), 1)[0];
  }
  void warm_up() const {
    for (int i = 0; i < kOften; ++i) ASSERT_EQ(run(IBV_WR_RDMA_WRITE).status, IBV_WC_SUCCESS);
  }

  QpPtr a, b;
};

TEST_F(EmptyRequestTest, NeedNoKey) {
  for (int i = 0; i < kOften; ++i) {
    for (const unsigned flags : {0U, unsigned{IBV_SEND_INLINE}}) {
      const ibv_wc wrote = run(IBV_WR_RDMA_WRITE, flags);
      EXPECT_EQ(wrote.status, IBV_WC_SUCCESS);
      EXPECT_EQ(wrote.opcode, IBV_WC_RDMA_WRITE);
    }
    const ibv_wc read = run(IBV_WR_RDMA_READ);
    EXPECT_EQ(read.status, IBV_WC_SUCCESS);
    EXPECT_EQ(read.opcode, IBV_WC_RDMA_READ);
    EXPECT_EQ(read.byte_len, 0U);
  }
}

TEST_F(EmptyRequestTest, OfUc) {
  connect_new(IBV_QPT_UC);
  warm_up();
}

TEST_F(EmptyRequestTest, EndAfterTheWriteBeforeThem) {
  char from[4096], to[4096] = {};
  std::memset(from, 7, sizeof from);
  const MrPtr source = make_mr(from, sizeof from, 0), target = make_mr(to, sizeof to, kRemoteReadWrite);
  for (int i = 0; i < kOften; ++i) {
    from[sizeof from - 1] = static_cast<char>(i + 1);
    ibv_sge sge = sge_of(from, sizeof from, source.get());
    ibv_send_wr wr{}, flush{}, *bad = nullptr;
    wr.opcode = flush.opcode = IBV_WR_RDMA_WRITE;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.wr.rdma = {to_address(to), target->rkey};
    wr.next = &flush;
    flush.send_flags = IBV_SEND_SIGNALED;
    ASSERT_EQ(ibv_post_send(a.get(), &wr, &bad), 0);
    EXPECT_EQ(collect(cq.get(), 1)[0].status, IBV_WC_SUCCESS);
    EXPECT_EQ(to[sizeof to - 1], static_cast<char>(i + 1));
  }
}

TEST_F(EmptyRequestTest, NeedTheAccessOfTheQueuePair) {
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
    connect_new(IBV_QPT_RC);
    warm_up();
    ibv_qp_attr attributes{};
    attributes.qp_access_flags =
        opcode == IBV_WR_RDMA_READ ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_READ;
    ASSERT_EQ(ibv_modify_qp(b.get(), &attributes, IBV_QP_ACCESS_FLAGS), 0);
    EXPECT_EQ(run(opcode).status, IBV_WC_REM_INV_REQ_ERR);
  }
}

TEST_F(EmptyRequestTest, FailTowardsAQueuePairInError) {
  warm_up();
  ASSERT_EQ(to_state(b.get(), IBV_QPS_ERR), 0);
  EXPECT_EQ(run(IBV_WR_RDMA_WRITE).status, IBV_WC_RETRY_EXC_ERR);
}

TEST_F(EmptyRequestTest, FailTowardsOneThatIsGone) {
  warm_up();
  b.reset();
  EXPECT_EQ(run(IBV_WR_RDMA_READ).status, IBV_WC_RETRY_EXC_ERR);
}

// It expects a PSN that is behind the requester's.
TEST_F(EmptyRequestTest, FailTowardsOneThatWasConnectedAnew) {
  constexpr std::uint32_t kBehind = 0xffff00;  // of 0, where they begin
  warm_up();
  ASSERT_EQ(to_state(b.get(), IBV_QPS_RESET), 0);
  ASSERT_EQ(to_init(b.get()), 0);
  ASSERT_EQ(to_rtr(b.get(), a->qp_num, kBehind), 0);
  EXPECT_EQ(run(IBV_WR_RDMA_WRITE).status, IBV_WC_RETRY_EXC_ERR);
}

}  // namespace
}  // namespace softrnic::abi_test
