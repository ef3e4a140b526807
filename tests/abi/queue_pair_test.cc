// Queue pairs: creation, states, queries, posting, multicast.
#include <algorithm>
#include <cerrno>
#include <thread>

#include "tests/abi/verbs_fixture.h"

namespace softrnic::abi_test {
namespace {

using QueuePairTest = VerbsTest;

TEST_F(QueuePairTest, ShowsWhatItWasCreatedWith) {
  ibv_qp_init_attr init = qp_init(IBV_QPT_RC);
  init.qp_context = this;
  init.sq_sig_all = 1;
  QpPtr qp(ibv_create_qp(pd.get(), &init));
  ASSERT_NE(qp, nullptr);
  EXPECT_GE(init.cap.max_send_wr, 16U);
  EXPECT_GE(init.cap.max_inline_data, 64U);
  EXPECT_EQ(qp->qp_context, this);
  EXPECT_EQ(qp->pd, pd.get());
  EXPECT_EQ(qp->send_cq, cq.get());
  EXPECT_EQ(qp->state, IBV_QPS_RESET);
  EXPECT_LE(qp->qp_num, 0xffffffU);
  EXPECT_EQ(ibv_qp_to_qp_ex(qp.get()), nullptr);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr queried{};
  ASSERT_EQ(ibv_query_qp(qp.get(), &attributes, IBV_QP_STATE | IBV_QP_CAP, &queried), 0);
  EXPECT_EQ(attributes.qp_state, IBV_QPS_RESET);
  EXPECT_EQ(std::memcmp(&queried.cap, &init.cap, sizeof init.cap), 0);
  EXPECT_EQ(std::memcmp(&attributes.cap, &init.cap, sizeof init.cap), 0);
  EXPECT_EQ(queried.qp_context, this);
  EXPECT_EQ(queried.sq_sig_all, 1);
  EXPECT_EQ(queried.recv_cq, cq.get());
}

TEST_F(QueuePairTest, BadCreationsAreRefused) {
  const auto refused = [&](auto spoil) {
    ibv_qp_init_attr init = qp_init(IBV_QPT_RC);
    spoil(init);
    errno = 0;
    EXPECT_EQ(ibv_create_qp(pd.get(), &init), nullptr);
    return errno;
  };
  EXPECT_EQ(refused([](auto& i) { i.send_cq = nullptr; }), EINVAL);
  EXPECT_EQ(refused([](auto& i) { i.cap.max_send_wr = 1U << 30; }), EINVAL);
  EXPECT_EQ(refused([](auto& i) { i.cap.max_recv_sge = 1000; }), EINVAL);
  EXPECT_EQ(refused([](auto& i) { i.cap.max_inline_data = 1U << 24; }), EINVAL);
  EXPECT_EQ(refused([](auto& i) { i.qp_type = IBV_QPT_DRIVER; }), EOPNOTSUPP);
  EXPECT_EQ(refused([](auto& i) { i.qp_type = IBV_QPT_XRC_RECV; }), EINVAL) << "it has a domain, not a PD";
}

TEST_F(QueuePairTest, ExtendedCreationMakesPlainOnes) {
  ibv_qp_init_attr_ex init{};
  const ibv_qp_init_attr plain = qp_init(IBV_QPT_RC);
  std::memcpy(&init, &plain, offsetof(ibv_qp_init_attr, sq_sig_all));
  init.pd = pd.get();
  init.comp_mask = IBV_QP_INIT_ATTR_PD;
  QpPtr exported(ibv_create_qp_ex(context.get(), &init));
  EXPECT_NE(exported, nullptr);
  init.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
  QpPtr through_table(ibv_create_qp_ex(context.get(), &init));
  EXPECT_NE(through_table, nullptr);
  init.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
  QpPtr in_no_group(ibv_create_qp_ex(context.get(), &init));
  EXPECT_NE(in_no_group, nullptr);
  for (const unsigned flag :
       {unsigned{IBV_QP_CREATE_SCATTER_FCS}, unsigned{IBV_QP_CREATE_CVLAN_STRIPPING},
        unsigned{IBV_QP_CREATE_SOURCE_QPN}, unsigned{IBV_QP_CREATE_PCI_WRITE_END_PADDING}, 1U << 31}) {
    init.create_flags = flag;
    errno = 0;
    EXPECT_EQ(ibv_create_qp_ex(context.get(), &init), nullptr) << flag;
    EXPECT_EQ(errno, EOPNOTSUPP) << flag;
  }
}

// What mlx5 and rxe let in although a QP of the type cannot send it.
TEST_F(QueuePairTest, AnOpcodeOfAnotherTypeFailsInItsTurn) {
  for (const ibv_qp_type type : {IBV_QPT_UD, IBV_QPT_UC}) {
    QpPtr a = make_qp(type), b = make_qp(type);
    connect(a.get(), b.get());
    ibv_send_wr wr{}, *bad = nullptr;
    wr.wr_id = 3;
    wr.opcode = IBV_WR_RDMA_READ;
    wr.wr.rdma = {0xdead, 1};
    ASSERT_EQ(ibv_post_send(a.get(), &wr, &bad), 0) << type;
    const ibv_wc wc = collect(cq.get(), 1)[0];
    EXPECT_EQ(wc.status, IBV_WC_LOC_QP_OP_ERR) << type;
    EXPECT_EQ(wc.wr_id, 3U);
  }
}

TEST_F(QueuePairTest, AnAtomicWritesAWordHoweverLongItsSgesAre) {
  QpPtr a = make_qp(IBV_QPT_RC), b = make_qp(IBV_QPT_RC);
  connect(a.get(), b.get());
  alignas(8) std::uint64_t words[4] = {7, 0, ~0ULL, ~0ULL};
  MrPtr mr = make_mr(words, sizeof words, kRemoteReadWrite | IBV_ACCESS_REMOTE_ATOMIC);
  ibv_sge pieces[] = {{to_address(words + 2), 5, mr->lkey}, {to_address(words + 2) + 5, 5, mr->lkey}};
  ibv_send_wr wr{}, *bad = nullptr;
  wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.sg_list = pieces;
  wr.num_sge = 2;
  wr.wr.atomic = {.remote_addr = to_address(words), .compare_add = 1, .swap = 0, .rkey = mr->rkey};
  ASSERT_EQ(ibv_post_send(a.get(), &wr, &bad), 0);
  EXPECT_EQ(collect(cq.get(), 1)[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(words[0], 8U);
  EXPECT_EQ(words[2], 7U);
  EXPECT_EQ(words[3], ~0ULL) << "beyond the word";
  pieces[0].length = 2;
  EXPECT_EQ(ibv_post_send(a.get(), &wr, &bad), EINVAL) << "7 bytes";
}

TEST_F(QueuePairTest, WalksThroughItsStates) {
  QpPtr a = make_qp(IBV_QPT_RC);
  QpPtr b = make_qp(IBV_QPT_RC);
  EXPECT_EQ(to_rtr(a.get(), b->qp_num), EINVAL) << "RESET to RTR";
  EXPECT_EQ(a->state, IBV_QPS_RESET);
  connect(a.get(), b.get());
  EXPECT_EQ(a->state, IBV_QPS_RTS);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(a.get(), &attributes, 0, &init), 0);
  EXPECT_EQ(attributes.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(attributes.dest_qp_num, b->qp_num);
  EXPECT_EQ(attributes.path_mtu, IBV_MTU_1024);
  EXPECT_EQ(attributes.timeout, 14);
  EXPECT_EQ(attributes.ah_attr.is_global, 1);
  EXPECT_EQ(std::memcmp(&attributes.ah_attr.grh.dgid, &gid, sizeof gid), 0);
  EXPECT_EQ(to_state(a.get(), IBV_QPS_ERR), 0);
  EXPECT_EQ(to_state(a.get(), IBV_QPS_RTS), EINVAL);
  EXPECT_EQ(to_state(a.get(), IBV_QPS_RESET), 0);
  EXPECT_EQ(to_init(a.get()), 0);
}

TEST_F(QueuePairTest, WrongMasksAreRefused) {
  QpPtr qp = make_qp(IBV_QPT_RC);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = 1;
  EXPECT_EQ(ibv_modify_qp(qp.get(), &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT), EINVAL);
  EXPECT_EQ(
      ibv_modify_qp(qp.get(), &attributes,
                    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS | IBV_QP_TIMEOUT),
      EINVAL);
  attributes.port_num = 2;
  EXPECT_EQ(ibv_modify_qp(qp.get(), &attributes,
                          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
            EINVAL);
}

TEST_F(QueuePairTest, PostingFollowsTheState) {
  alignas(64) char buffer[64];
  MrPtr mr = make_mr(buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE);
  QpPtr qp = make_qp(IBV_QPT_RC);
  const ibv_sge sge = sge_of(buffer, 8, mr.get());
  EXPECT_EQ(post_recv(qp.get(), 1, sge), EINVAL) << "in RESET";
  EXPECT_EQ(post_send(qp.get(), 1, sge), EINVAL);
  ASSERT_EQ(to_init(qp.get()), 0);
  EXPECT_EQ(post_recv(qp.get(), 2, sge), 0);
  EXPECT_EQ(post_send(qp.get(), 1, sge), EINVAL);
  ASSERT_EQ(to_state(qp.get(), IBV_QPS_ERR), 0);
  EXPECT_EQ(post_send(qp.get(), 3, sge), 0) << "completes with a flush error";
  const auto completions = collect(cq.get(), 2);
  for (const ibv_wc& wc : completions) EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(QueuePairTest, FullQueuesNameTheFirstThatDidNotFit) {
  alignas(64) char buffer[64];
  MrPtr mr = make_mr(buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE);
  ibv_qp_init_attr init = qp_init(IBV_QPT_RC);
  init.cap.max_recv_wr = 1;
  QpPtr qp(ibv_create_qp(pd.get(), &init));
  ASSERT_EQ(to_init(qp.get()), 0);
  ibv_sge sge = sge_of(buffer, 8, mr.get());
  std::vector<ibv_recv_wr> list(init.cap.max_recv_wr + 1);
  for (std::size_t i = 0; i < list.size(); ++i) {
    list[i] = {
        .wr_id = i, .next = i + 1 < list.size() ? &list[i + 1] : nullptr, .sg_list = &sge, .num_sge = 1};
  }
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_recv(qp.get(), list.data(), &bad), ENOMEM);
  EXPECT_EQ(bad, &list.back());
  EXPECT_EQ(ibv_post_recv(qp.get(), &list.back(), nullptr), ENOMEM) << "programs pass NULL";
}

TEST_F(QueuePairTest, MulticastIsForDatagrams) {
  ibv_gid group{};
  const unsigned char raw[] = {0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3};
  std::memcpy(group.raw, raw, sizeof raw);
  QpPtr rc = make_qp(IBV_QPT_RC);
  EXPECT_EQ(ibv_attach_mcast(rc.get(), &group, 0), EINVAL);
  QpPtr ud = make_qp(IBV_QPT_UD);
  EXPECT_EQ(ibv_attach_mcast(ud.get(), &gid, 0), EINVAL) << "no group";
  EXPECT_NE(ibv_detach_mcast(ud.get(), &group, 0), 0) << "not attached";
  ASSERT_EQ(ibv_attach_mcast(ud.get(), &group, 0), 0);
  EXPECT_EQ(ibv_attach_mcast(ud.get(), &group, 0), 0);
  EXPECT_EQ(ibv_destroy_qp(ud.get()), EBUSY);
  EXPECT_EQ(ibv_detach_mcast(ud.get(), &group, 0), 0);
}

TEST_F(QueuePairTest, HasNoOptionsAndPromisesNoOrder) {
  QpPtr qp = make_qp(IBV_QPT_RC);
  ibv_ece ece{};
  EXPECT_EQ(ibv_query_ece(qp.get(), &ece), EOPNOTSUPP);
  EXPECT_EQ(ibv_set_ece(qp.get(), &ece), EOPNOTSUPP);
  ece = {.vendor_id = 0x2c9, .options = 1, .comp_mask = 0};
  EXPECT_EQ(ibv_set_ece(qp.get(), &ece), EOPNOTSUPP);
  EXPECT_EQ(ibv_set_ece(qp.get(), nullptr), EINVAL);
  EXPECT_EQ(ibv_query_qp_data_in_order(qp.get(), IBV_WR_RDMA_WRITE, 0), 0);
}

TEST_F(QueuePairTest, TenThousandFitInOneProcess) {
  ibv_qp_init_attr init = qp_init(IBV_QPT_RC);
  init.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  std::vector<QpPtr> all;
  for (int i = 0; i < 10'000; ++i) {
    all.emplace_back(ibv_create_qp(pd.get(), &init));
    ASSERT_NE(all.back(), nullptr) << i << ": " << std::strerror(errno);
    ASSERT_EQ(to_init(all.back().get()), 0);
  }
  std::vector<std::uint32_t> numbers;
  for (const QpPtr& qp : all) numbers.push_back(qp->qp_num);
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(std::adjacent_find(numbers.begin(), numbers.end()), numbers.end());
}

}  // namespace
}  // namespace softrnic::abi_test
