// Messages to an SRQ with tag matching, between two queue pairs of a lane whose packets can be held and lost.
#include <infiniband/tm_types.h>

#include <cstring>

#include "rnic/tag_info.h"
#include "tests/unit/rnic/transfer_fixture.h"

namespace softrnic::rnic::test {
namespace {

constexpr unsigned kMatched = IBV_WC_TM_MATCH;
constexpr unsigned kThere = IBV_WC_TM_DATA_VALID;

class TagTransferTest : public TransferTest {
 protected:
  void SetUp() override {
    TransferTest::SetUp();
    ibv_srq_attr size{8, 1, 0};
    srq = std::move(*SharedReceiveQueue::create(*pd, *recv_cq, size, ibv_tm_cap{8, 8}));
    a = make_qp(IBV_QPT_RC);
    QueuePairInit wanted = init(IBV_QPT_RC);
    wanted.recv_cq = recv_cq.get();  // the SRQ's own, as programs have it
    wanted.srq = srq.get();
    b = make_qp(wanted);
    bring(*b, IBV_QPS_RTS, a->qpn());
    bring(*a, IBV_QPS_RTS, b->qpn());
  }
  void add(std::uint64_t id, std::uint64_t tag, std::uint32_t length) {
    ibv_sge s{reinterpret_cast<std::uintptr_t>(to.data()), length, to_mr->key().value};
    ibv_ops_wr wr{}, *bad = nullptr;
    wr.opcode = IBV_WR_TAG_ADD;
    wr.tm.add = {.recv_wr_id = id, .sg_list = &s, .num_sge = 1, .tag = tag, .mask = UINT64_MAX};
    EXPECT_TRUE(srq->post_operations(&wr, &bad));
  }
  void send(std::uint8_t opcode, std::uint64_t tag, std::uint32_t length) {
    const ibv_tmh tmh{opcode, {}, __builtin_bswap32(9), __builtin_bswap64(tag)};
    const ibv_rvh rvh{__builtin_bswap64(reinterpret_cast<std::uintptr_t>(from.data())),
                      __builtin_bswap32(from_mr->key().value), __builtin_bswap32(6000)};
    std::memcpy(from.data(), &tmh, sizeof tmh);
    if (opcode == IBV_TMH_RNDV) std::memcpy(from.data() + sizeof tmh, &rvh, sizeof rvh);
    ibv_send_wr wr = request(IBV_WR_SEND, length);
    ibv_send_wr* bad = nullptr;
    EXPECT_TRUE(a->post_send(&wr, &bad));
  }
  static void to_reset(QueuePair& qp) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RESET;
    EXPECT_TRUE(qp.modify(attributes, IBV_QP_STATE));
  }
  static void expect(const ibv_wc& wc, std::uint64_t id, unsigned flags,
                     ibv_wc_status status = IBV_WC_SUCCESS) {
    EXPECT_EQ(wc.wr_id, id);
    EXPECT_EQ(int{wc.status}, int{status});
    EXPECT_EQ(int{wc.opcode}, int{IBV_WC_TM_RECV});
    EXPECT_EQ(wc.wc_flags, flags);
  }
};

TEST_F(TagTransferTest, TheMatchOfALongMessageIsToldAtOnce) {
  add(7, 5, 8000);
  send(IBV_TMH_EAGER, 5, 5000);
  const auto told = poll(*recv_cq);
  ASSERT_EQ(told.size(), 2U);
  expect(told[0], 7, kMatched);
  EXPECT_EQ(TagInfo::of(told[0]).tag, 5U);
  EXPECT_EQ(TagInfo::of(told[0]).app_ctx, 9U);
  expect(told[1], 7, kThere);
  EXPECT_EQ(told[1].byte_len, 4984U);
  EXPECT_EQ(TagInfo::of(told[1]).tag, 0U);
  EXPECT_TRUE(std::equal(to.begin(), to.begin() + 4984, from.begin() + 16));
}

TEST_F(TagTransferTest, ALongMessageThatIsTooLongFailsAfterItsMatch) {
  add(7, 5, 3000);
  send(IBV_TMH_EAGER, 5, 5000);
  const auto told = poll(*recv_cq);
  ASSERT_EQ(told.size(), 2U);
  expect(told[0], 7, kMatched);
  expect(told[1], 7, 0, IBV_WC_LOC_LEN_ERR);
}

TEST_F(TagTransferTest, ALongUnexpectedMessageKeepsNewBuffersWaiting) {
  receive(50, 8000);
  receive(51, 8000);
  lanes.lane.hold_packets = true;
  send(IBV_TMH_EAGER, 5, 5000);
  lanes.lane.release();
  expect(one(*recv_cq), 50, 0);
  add(7, 5, 8000);
  send(IBV_TMH_EAGER, 5, 100);
  expect(one(*recv_cq), 51, 0);
}

TEST_F(TagTransferTest, ARendezvousIsAReadAndAFin) {
  add(7, 5, 8000);
  ibv_sge s{};
  ibv_recv_wr wr = recv_wr(60, from_mr.get(), from.data() + 7000, 64, s);
  ibv_recv_wr* bad = nullptr;
  EXPECT_TRUE(a->post_recv(&wr, &bad));
  send(IBV_TMH_RNDV, 5, 64);
  const auto told = poll(*recv_cq);
  ASSERT_EQ(told.size(), 2U);
  expect(told[0], 7, kMatched);
  expect(told[1], 7, kThere);
  EXPECT_EQ(told[1].byte_len, 6000U);
  EXPECT_TRUE(arrived(6000));
  EXPECT_EQ(from[7000], IBV_TMH_FIN);
  EXPECT_TRUE(std::equal(from.begin() + 1, from.begin() + 32, from.begin() + 7001));
  const auto at_the_peer = poll(*cq);
  ASSERT_EQ(at_the_peer.size(), 2U) << "a SEND and the FIN; the server's own requests are told by none";
}

TEST_F(TagTransferTest, AFinThatThePeerDoesNotTakeIsAnEvent) {
  add(7, 5, 8000);
  send(IBV_TMH_RNDV, 5, 64);
  expect(poll(*recv_cq).back(), 7, kThere);
  bring(*a, IBV_QPS_ERR);
  for (int i = 0; i < 200 && state_of(*b) != IBV_QPS_ERR; ++i) lanes.lane.advance(std::chrono::seconds(5));
  EXPECT_EQ(state_of(*b), IBV_QPS_ERR);
  EXPECT_EQ(next_event().type, IBV_EVENT_QP_FATAL);
}

TEST_F(TagTransferTest, AFullSendQueueIsThatOfTheProgramAlone) {
  add(7, 5, 8000);
  lanes.lane.lose_packets = false;
  send(IBV_TMH_RNDV, 5, 64);  // no receive for the FIN: it stays in the queue
  poll(*recv_cq);
  lanes.lane.lose_packets = true;
  ibv_sge s{};
  ibv_send_wr wr = send_wr(IBV_WR_SEND, to_mr.get(), to.data(), 8, s);
  ibv_send_wr* bad = nullptr;
  ibv_qp_attr attributes{};
  QueuePairInit made;
  b->query(attributes, made);
  for (std::uint32_t i = 0; i < made.cap.max_send_wr; ++i) ASSERT_TRUE(b->post_send(&wr, &bad)) << i;
  EXPECT_EQ(error_of(b->post_send(&wr, &bad)), ENOMEM);
  EXPECT_EQ(error_of(b->post_batch(&wr)), ENOMEM);
}

TEST_F(TagTransferTest, AMessageThatIsCutByTheEndOfItsQueuePairIsFlushed) {
  for (const bool reset : {true, false}) {
    add(7, 5, 8000);
    lanes.lane.hold_packets = true;
    send(IBV_TMH_EAGER, 5, 5000);
    lanes.lane.drop_after = 2;
    lanes.lane.release();
    expect(one(*recv_cq), 7, kMatched);
    if (reset) {
      to_reset(*b);
      expect(one(*recv_cq), 7, 0, IBV_WC_WR_FLUSH_ERR);
      lanes.lane.drop_after = SIZE_MAX;
      to_reset(*a);
      bring(*b, IBV_QPS_RTS, a->qpn());
      bring(*a, IBV_QPS_RTS, b->qpn());
    } else {
      EXPECT_TRUE(b->destroy());
      b.reset();
      expect(one(*recv_cq), 7, 0, IBV_WC_WR_FLUSH_ERR);
    }
  }
}

}  // namespace
}  // namespace softrnic::rnic::test
