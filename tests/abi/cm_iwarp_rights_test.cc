// What iWARP queue pairs show of their attributes holds, and what MPA has agreed on stays so.
#include "tests/abi/cm_iwarp_fixture.h"

namespace softrnic::abi_test {
namespace {

// One that nobody has told what it allows allows all, as an adapter's.
TEST_F(CmIwarp, AQueuePairOfTheProgramAllowsWhatItWasTold) {
  constexpr unsigned kAll = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  for (const std::optional<unsigned> access : {std::optional<unsigned>(), {0}, {IBV_ACCESS_REMOTE_READ}}) {
    SCOPED_TRACE(access ? std::to_string(*access) : "not told");
    listen("127.0.0.1");
    connect_own(access);
    EXPECT_EQ(query(own).qp_access_flags, access.value_or(kAll));
    std::uint64_t word = 0, ours = 7;
    ibv_mr* const there = ibv_reg_mr(client->pd, &word, sizeof word, IBV_ACCESS_LOCAL_WRITE | kAll);
    ibv_mr* const here = ibv_reg_mr(server->pd, &ours, sizeof ours, static_cast<int>(IBV_ACCESS_LOCAL_WRITE));
    ASSERT_TRUE(there != nullptr && here != nullptr);
    ASSERT_EQ(rdma_post_write(server.get(), nullptr, &ours, sizeof ours, here, 0,
                              reinterpret_cast<std::uintptr_t>(&word), there->rkey),
              0);
    ibv_wc wc{};
    ASSERT_EQ(rdma_get_send_comp(server.get(), &wc), 1);
    const auto landed = [&] { return __atomic_load_n(&word, __ATOMIC_RELAXED) == 7; };
    if (!access) {
      EXPECT_TRUE(comes_about(landed));
    } else {
      EXPECT_TRUE(comes_about([&] { return query(server->qp).qp_state == IBV_QPS_ERR; }));
      EXPECT_FALSE(landed());
    }
    EXPECT_EQ(ibv_dereg_mr(there), 0);
    EXPECT_EQ(ibv_dereg_mr(here), 0);
    destroy_own();
    own = nullptr;
    drop_ids();
  }
}

TEST_F(CmIwarp, DepthsOfReadsStayAsAgreedOn) {
  rdma_conn_param parameters{};
  parameters.responder_resources = parameters.initiator_depth = 2;
  connect("127.0.0.1", "", parameters);
  ibv_qp_attr attributes{};
  attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 9;
  EXPECT_EQ(ibv_modify_qp(client->qp, &attributes, IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC), 0);
  EXPECT_EQ(query(client->qp).max_rd_atomic, 2);
  EXPECT_EQ(query(client->qp).max_dest_rd_atomic, 2);
}

}  // namespace
}  // namespace softrnic::abi_test
