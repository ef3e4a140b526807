// A queue pair whose rate is limited: what goes, what waits, and for how long.
#include "rnic/rate_limit.h"

#include <cerrno>

#include "base/reason_id.h"
#include "tests/unit/rnic/transfer_fixture.h"

namespace softrnic::rnic::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kMegabytePerSecond = 8'000;  // kbit/s: a microsecond for each byte

class RateLimitTest : public TransferTest {
 protected:
  void post(ibv_wr_opcode opcode, std::uint32_t length) {
    ibv_send_wr wr = request(opcode, length);
    ibv_send_wr* bad = nullptr;
    EXPECT_TRUE(a->post_send(&wr, &bad));
  }
  void limit(std::uint32_t rate, std::uint32_t burst = 0, std::uint16_t packet = 0) {
    EXPECT_TRUE(a->limit_rate({rate, burst, packet}));
  }
  void move_to(ibv_qp_state state) {
    ibv_qp_attr attributes{};
    attributes.qp_state = state;
    EXPECT_TRUE(a->modify(attributes, IBV_QP_STATE));
  }
  std::size_t requests_sent() {
    std::size_t count = 0;
    for (const auto& sent : lanes.lane.headers_sent)
      count += wire::opcode_info(sent.headers.bth.opcode).request;
    return count;
  }
};

TEST_F(RateLimitTest, WhatIsBeyondTheBurstWaitsForItsTime) {
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
    connect(type);
    limit(kMegabytePerSecond, 2048);
    const std::size_t before = requests_sent();
    post(IBV_WR_RDMA_WRITE, 8000);  // 8 packets of 1024 bytes
    const std::size_t burst = requests_sent() - before;
    EXPECT_GE(burst, 2U) << type;
    EXPECT_LE(burst, 3U) << type;
    EXPECT_TRUE(poll(*cq).empty());
    EXPECT_NE(a->deadline(), kNever);
    lanes.lane.advance(500us);
    EXPECT_LE(requests_sent() - before, burst + 1);
    for (int i = 0; i < 8; ++i) lanes.lane.advance(1100us);
    EXPECT_GE(requests_sent() - before, 8U);
    EXPECT_LE(requests_sent() - before, type == IBV_QPT_RC ? 11U : 8U)
        << "RC may ask what has come meanwhile";
    EXPECT_EQ(one(*cq).status, IBV_WC_SUCCESS);
    EXPECT_TRUE(arrived(8000));
    EXPECT_TRUE(a->destroy());
    EXPECT_TRUE(b->destroy());
    a.reset();
    b.reset();
    to.fill(0);
  }
}

TEST_F(RateLimitTest, AnswersToThePeerDoNotWait) {
  connect(IBV_QPT_RC);
  limit(1, 256);
  post(IBV_WR_RDMA_WRITE, 1000);
  EXPECT_EQ(one(*cq).status, IBV_WC_SUCCESS) << "the first goes";
  post(IBV_WR_RDMA_WRITE, 1000);
  EXPECT_TRUE(poll(*cq).empty()) << "at 125 bytes a second";
  ibv_send_wr wr = request(IBV_WR_RDMA_READ, 8192);
  wr.wr.rdma.remote_addr = reinterpret_cast<std::uintptr_t>(from.data());
  wr.wr.rdma.rkey = from_mr->key().value;
  sge = {reinterpret_cast<std::uintptr_t>(to.data()), 8192, to_mr->key().value};
  ibv_send_wr* bad = nullptr;
  EXPECT_TRUE(b->post_send(&wr, &bad));
  EXPECT_EQ(one(*cq).status, IBV_WC_SUCCESS);
  EXPECT_TRUE(arrived(8192));
}

TEST_F(RateLimitTest, WithoutALimitAllGoesAtOnceAgain) {
  connect(IBV_QPT_RC);
  limit(1, 256);
  post(IBV_WR_RDMA_WRITE, 8000);
  EXPECT_TRUE(poll(*cq).empty());
  limit(0);
  EXPECT_EQ(one(*cq).status, IBV_WC_SUCCESS);
  EXPECT_EQ(a->deadline(), kNever);
}

TEST_F(RateLimitTest, NothingGoesDirectOrEager) {
  connect(IBV_QPT_RC);
  lanes.lane.goes_direct = true;
  post(IBV_WR_RDMA_WRITE, 100);
  EXPECT_EQ(one(*cq).status, IBV_WC_SUCCESS);
  EXPECT_EQ(requests_sent(), 0U);
  limit(kMegabytePerSecond);
  post(IBV_WR_RDMA_WRITE, 100);
  EXPECT_EQ(one(*cq).status, IBV_WC_SUCCESS);
  EXPECT_EQ(requests_sent(), 1U);
  ib::EagerSend eager;
  EXPECT_FALSE(a->next_eager(eager));
}

TEST_F(RateLimitTest, IsAnAttributeOfTheWayToRts) {
  a = make_qp(IBV_QPT_UC);
  bring(*a, IBV_QPS_RTR);
  Change change = change_to(IBV_QPS_RTS, IBV_QPT_UC);
  change.mask |= IBV_QP_RATE_LIMIT;
  change.attributes.rate_limit = limits::kMaxRateLimit + 1;
  EXPECT_EQ(error_of(a->modify(change.attributes, change.mask)), EINVAL);
  change.attributes.rate_limit = 77;
  EXPECT_TRUE(a->modify(change.attributes, change.mask));
  ibv_qp_attr now{};
  QueuePairInit ignored;
  a->query(now, ignored);
  EXPECT_EQ(now.rate_limit, 77U);
  move_to(IBV_QPS_RESET);
  a->query(now, ignored);
  EXPECT_EQ(now.rate_limit, 0U);
}

TEST_F(RateLimitTest, WhatIsNotPossibleIsRefused) {
  connect(IBV_QPT_RC);
  const auto refusal = [&](const RateLimit::Settings& settings) {
    explanations().clear();
    EXPECT_EQ(error_of(a->limit_rate(settings)), EINVAL);
    return only_reason();
  };
  EXPECT_EQ(refusal({limits::kMaxRateLimit + 1, 0, 0}), ReasonId::bad_rate_limit);
  EXPECT_EQ(refusal({0, 1000, 0}), ReasonId::bad_rate_limit);
  EXPECT_EQ(refusal({0, 0, 1000}), ReasonId::bad_rate_limit);
  EXPECT_TRUE(a->limit_rate({limits::kMaxRateLimit, 1, 1}));
  move_to(IBV_QPS_ERR);
  EXPECT_EQ(refusal({1000, 0, 0}), ReasonId::rate_limit_state);
}

TEST(RateLimitOfTime, MeanIsKept) {
  RateLimit limit({8'000'000, 10'000, 0});  // a byte a nanosecond
  const TimePoint begin{1h};
  TimePoint now = begin;
  std::uint64_t sent = 0;
  while (now < begin + 10ms) {
    while (limit.open(now)) {
      limit.sent(1000, now);
      sent += 1000;
    }
    now += 3us;
  }
  EXPECT_GE(sent, 10'000'000U);
  EXPECT_LE(sent, 10'000'000U + 10'000U + 4'000U);
}

}  // namespace
}  // namespace softrnic::rnic::test
