// Rate limits of queue pairs (packet pacing).
#include <cerrno>
#include <chrono>
#include <vector>

#include "tests/abi/verbs_fixture.h"

namespace softrnic::abi_test {
namespace {

class RateLimits : public VerbsTest {
 protected:
  using Clock = std::chrono::steady_clock;

  /// How long `count` WRITEs of `bytes` take.
  Clock::duration time_of_writes(ibv_qp* qp, int count, std::uint32_t bytes) {
    std::vector<char> memory(2 * bytes);
    const MrPtr mr = make_mr(memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    ibv_sge sge = sge_of(memory.data(), bytes, mr.get());
    ibv_send_wr wr{}, *bad = nullptr;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {.remote_addr = reinterpret_cast<std::uint64_t>(memory.data() + bytes), .rkey = mr->rkey};
    const auto begin = Clock::now();
    for (int i = 0; i < count; ++i) EXPECT_EQ(ibv_post_send(qp, &wr, &bad), 0);
    for (const ibv_wc& wc : collect(cq.get(), static_cast<std::size_t>(count)))
      EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    return Clock::now() - begin;
  }
};

TEST_F(RateLimits, AreAdvertised) {
  ibv_device_attr_ex device{};
  ASSERT_EQ(ibv_query_device_ex(context.get(), nullptr, &device), 0);
  const ibv_packet_pacing_caps& caps = device.packet_pacing_caps;
  EXPECT_EQ(caps.qp_rate_limit_min, 1U);
  EXPECT_GE(caps.qp_rate_limit_max, 10'000'000U);
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RAW_PACKET})
    EXPECT_TRUE(ibv_is_qpt_supported(caps.supported_qpts, type));
  EXPECT_FALSE(ibv_is_qpt_supported(caps.supported_qpts, IBV_QPT_XRC_RECV)) << "it sends no requests";
}

TEST_F(RateLimits, AreKept) {
  const QpPtr qp = make_qp(IBV_QPT_RC);
  const QpPtr peer = make_qp(IBV_QPT_RC);
  connect(qp.get(), peer.get());
  ibv_qp_rate_limit_attr rate{};
  rate.rate_limit = 80'000;  // 10 MB/s
  rate.max_burst_sz = 16'384;
  ASSERT_EQ(ibv_modify_qp_rate_limit(qp.get(), &rate), 0);
  const auto limited = time_of_writes(qp.get(), 10, 100'000);
  EXPECT_GE(limited, std::chrono::milliseconds(70)) << "less one long packet and the burst";
  rate.rate_limit = 8;  // a quarter of an hour for these: longer than anybody waits for their completions
  ASSERT_EQ(ibv_modify_qp_rate_limit(qp.get(), &rate), 0);
  rate = {};
  ASSERT_EQ(ibv_modify_qp_rate_limit(qp.get(), &rate), 0);
  time_of_writes(qp.get(), 10, 100'000);
}

TEST_F(RateLimits, WrongOnesAreRefused) {
  const QpPtr qp = make_qp(IBV_QPT_RC);
  ibv_qp_rate_limit_attr rate{};
  rate.rate_limit = 1000;
  EXPECT_EQ(ibv_modify_qp_rate_limit(qp.get(), &rate), EINVAL) << "in RESET";
  const QpPtr peer = make_qp(IBV_QPT_RC);
  connect(qp.get(), peer.get());
  rate.comp_mask = 1;
  EXPECT_EQ(ibv_modify_qp_rate_limit(qp.get(), &rate), EINVAL);
  rate = {};
  rate.max_burst_sz = 1000;
  EXPECT_EQ(ibv_modify_qp_rate_limit(qp.get(), &rate), EINVAL) << "without a rate";
}

}  // namespace
}  // namespace softrnic::abi_test
