// Extended queue pairs: what ibv_create_qp_ex takes, and every builder and setter of ibv_wr_post(3).
#include <arpa/inet.h>

#include <atomic>
#include <cerrno>
#include <numeric>
#include <thread>

#include "tests/abi/verbs_fixture.h"

namespace softrnic::abi_test {
namespace {

constexpr std::uint64_t kRcOperations = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                                        IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                                        IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                        IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV;

class ExtendedQueuePairTest : public VerbsTest {
 protected:
  void SetUp() override {
    VerbsTest::SetUp();
    std::iota(std::begin(from), std::end(from), 1);
    from_mr = make_mr(from, sizeof from, IBV_ACCESS_LOCAL_WRITE);
    to_mr = make_mr(
        to, sizeof to,
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
  }

  void connected(ibv_qp_type type, std::uint64_t operations) {
    sender = make_extended(type, operations);
    receiver = make_qp(type);
    ASSERT_NE(sender, nullptr) << std::strerror(errno);
    connect(sender.get(), receiver.get());
    qp = ibv_qp_to_qp_ex(sender.get());
    ASSERT_NE(qp, nullptr);
    qp->wr_flags = IBV_SEND_SIGNALED;
  }
  std::uint64_t remote(std::size_t offset = 0) const { return reinterpret_cast<std::uintptr_t>(to) + offset; }
  void set_first(std::uint32_t bytes) {
    ibv_wr_set_sge(qp, from_mr->lkey, reinterpret_cast<std::uintptr_t>(from), bytes);
  }
  void receive(std::uint64_t id) {
    ASSERT_EQ(post_recv(receiver.get(), id, sge_of(to, sizeof to, to_mr.get())), 0);
  }
  ibv_wc find(const std::vector<ibv_wc>& all, std::uint64_t id) const {
    for (const ibv_wc& wc : all) {
      if (wc.wr_id == id) return wc;
    }
    ADD_FAILURE() << "no completion of " << id;
    return {};
  }

  char from[256];
  alignas(8) char to[256]{};
  MrPtr from_mr, to_mr;
  QpPtr sender, receiver;
  ibv_qp_ex* qp = nullptr;
};

TEST_F(ExtendedQueuePairTest, IsOneOnlyWithSendOperations) {
  EXPECT_EQ(ibv_qp_to_qp_ex(make_qp(IBV_QPT_RC).get()), nullptr);
  const QpPtr extended = make_extended(IBV_QPT_UC, IBV_QP_EX_WITH_SEND);
  ASSERT_NE(extended, nullptr);
  EXPECT_EQ(&ibv_qp_to_qp_ex(extended.get())->qp_base, extended.get());
}

TEST_F(ExtendedQueuePairTest, OperationsThatAreNotThereAreRefused) {
  const auto refused = [&](ibv_qp_type type, std::uint64_t operations) {
    const QpPtr made = make_extended(type, operations);
    return made == nullptr && errno == EOPNOTSUPP;
  };
  EXPECT_TRUE(refused(IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_WRITE));
  EXPECT_TRUE(refused(IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_READ));
  EXPECT_TRUE(refused(IBV_QPT_RC, IBV_QP_EX_WITH_TSO));
  EXPECT_TRUE(refused(IBV_QPT_RC, std::uint64_t{1} << 40));
  EXPECT_EQ(make_extended(IBV_QPT_RC, IBV_QP_EX_WITH_SEND, IBV_QP_INIT_ATTR_RX_HASH), nullptr);
}

TEST_F(ExtendedQueuePairTest, OneBatchOfEveryOperation) {
  connected(IBV_QPT_RC, kRcOperations);
  receive(100);
  receive(101);
  receive(102);
  const auto begin = [&](std::uint64_t id) { qp->wr_id = id; };
  ibv_wr_start(qp);
  begin(1), ibv_wr_rdma_write(qp, to_mr->rkey, remote(64)), set_first(8);
  begin(2), ibv_wr_rdma_write_imm(qp, to_mr->rkey, remote(72), htonl(7)), set_first(8);
  begin(3), ibv_wr_send(qp), set_first(16);
  begin(4), ibv_wr_send_imm(qp, htonl(9)), set_first(32);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  const auto first = collect(cq.get(), 7);
  for (const ibv_wc& wc : first) EXPECT_EQ(wc.status, IBV_WC_SUCCESS) << wc.wr_id;
  EXPECT_EQ(std::memcmp(to + 64, from, 8), 0);
  EXPECT_EQ(std::memcmp(to + 72, from, 8), 0);
  EXPECT_EQ(find(first, 2).opcode, IBV_WC_RDMA_WRITE);
  EXPECT_EQ(find(first, 100).imm_data, htonl(7));
  EXPECT_EQ(find(first, 101).byte_len, 16U);
  EXPECT_EQ(find(first, 102).imm_data, htonl(9));

  std::uint64_t word = 40;
  std::memcpy(to, &word, sizeof word);
  std::uint64_t answers[3]{};
  const MrPtr answer_mr = make_mr(answers, sizeof answers, IBV_ACCESS_LOCAL_WRITE);
  const auto answer = [&](std::size_t i) {
    ibv_wr_set_sge(qp, answer_mr->lkey, reinterpret_cast<std::uintptr_t>(&answers[i]), 8);
  };
  ibv_wr_start(qp);
  begin(5), ibv_wr_atomic_fetch_add(qp, to_mr->rkey, remote(), 2), answer(0);
  begin(6), ibv_wr_atomic_cmp_swp(qp, to_mr->rkey, remote(), 42, 99), answer(1);
  begin(7), ibv_wr_rdma_read(qp, to_mr->rkey, remote()), answer(2);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  const auto second = collect(cq.get(), 3);
  EXPECT_EQ(find(second, 5).opcode, IBV_WC_FETCH_ADD);
  EXPECT_EQ(find(second, 6).opcode, IBV_WC_COMP_SWAP);
  EXPECT_EQ(find(second, 7).opcode, IBV_WC_RDMA_READ);
  EXPECT_EQ(answers[0], 40U);
  EXPECT_EQ(answers[1], 42U);
  EXPECT_EQ(answers[2], 99U);
}

TEST_F(ExtendedQueuePairTest, InlineDataMayChangeAtOnce) {
  connected(IBV_QPT_RC, kRcOperations);
  char changing[] = "first and second";
  ibv_wr_start(qp);
  qp->wr_id = 1;
  ibv_wr_rdma_write(qp, to_mr->rkey, remote());
  ibv_wr_set_inline_data(qp, changing, 5);
  const ibv_data_buf pieces[] = {{changing + 5, 4}, {changing + 9, 7}};
  ibv_wr_rdma_write(qp, to_mr->rkey, remote(5));
  ibv_wr_set_inline_data_list(qp, 2, pieces);
  std::memset(changing, 'x', sizeof changing);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  collect(cq.get(), 2);
  EXPECT_EQ(std::string(to, 16), "first and second");
}

TEST_F(ExtendedQueuePairTest, ListsOfSges) {
  connected(IBV_QPT_RC, kRcOperations);
  const ibv_sge pieces[] = {sge_of(from + 8, 8, from_mr.get()), sge_of(from, 8, from_mr.get())};
  ibv_wr_start(qp);
  ibv_wr_rdma_write(qp, to_mr->rkey, remote());
  ibv_wr_set_sge_list(qp, 2, pieces);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  collect(cq.get(), 1);
  EXPECT_EQ(std::memcmp(to, from + 8, 8), 0);
  EXPECT_EQ(std::memcmp(to + 8, from, 8), 0);
}

TEST_F(ExtendedQueuePairTest, DatagramsNameTheirReceiver) {
  connected(IBV_QPT_UD, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM);
  ibv_ah_attr where = address();
  const AhPtr ah(ibv_create_ah(pd.get(), &where));
  receive(100);
  ibv_wr_start(qp);
  ibv_wr_send_imm(qp, htonl(3));
  ibv_wr_set_ud_addr(qp, ah.get(), receiver->qp_num, kQkey);
  set_first(16);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  const ibv_wc received = find(collect(cq.get(), 2), 100);
  EXPECT_EQ(received.imm_data, htonl(3));
  EXPECT_EQ(received.src_qp, sender->qp_num);
  EXPECT_EQ(std::memcmp(to + 40, from, 16), 0);
}

TEST_F(ExtendedQueuePairTest, AbortForgetsTheBatch) {
  connected(IBV_QPT_RC, kRcOperations);
  ibv_wr_start(qp);
  ibv_wr_rdma_write(qp, to_mr->rkey, remote());
  set_first(8);
  ibv_wr_abort(qp);
  ibv_wr_start(qp);
  EXPECT_EQ(ibv_wr_complete(qp), 0) << "an empty batch";
  ibv_wr_start(qp);
  qp->wr_id = 77;
  ibv_wr_rdma_write(qp, to_mr->rkey, remote(8));
  set_first(8);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  EXPECT_EQ(collect(cq.get(), 1)[0].wr_id, 77U);
  EXPECT_EQ(to[0], 0);
}

/// A batch of one good WRITE and what `spoil` adds fails, and nothing of it is posted.
template <typename Spoil>
int spoiled(ibv_qp_ex* qp, const ibv_mr* mr, std::uint64_t address, Spoil&& spoil) {
  ibv_wr_start(qp);
  ibv_wr_rdma_write(qp, mr->rkey, address);
  ibv_wr_set_inline_data(qp, const_cast<char*>("spoiled"), 7);
  spoil();
  return ibv_wr_complete(qp);
}

TEST_F(ExtendedQueuePairTest, NothingOfAFailedBatchIsPosted) {
  connected(IBV_QPT_RC, IBV_QP_EX_WITH_RDMA_WRITE);
  const auto batch = [&](auto&& spoil) { return spoiled(qp, to_mr.get(), remote(), spoil); };
  char big[256]{};
  ibv_sge many[40]{};
  EXPECT_EQ(batch([&] { ibv_wr_send(qp); }), EINVAL) << "not asked for";
  EXPECT_EQ(batch([&] { ibv_wr_atomic_write(qp, 0, 0, big); }), EINVAL);
  EXPECT_EQ(batch([&] { ibv_wr_local_inv(qp, 1); }), EINVAL);
  EXPECT_EQ(batch([&] { ibv_wr_set_inline_data(qp, big, 65); }), EINVAL) << "max_inline_data is 64";
  EXPECT_EQ(batch([&] { ibv_wr_set_inline_data(qp, big, SIZE_MAX); }), EINVAL);
  EXPECT_EQ(batch([&] { ibv_wr_set_sge_list(qp, 5, many); }), EINVAL) << "max_send_sge is 4";
  EXPECT_EQ(batch([&] { ibv_wr_set_sge_list(qp, SIZE_MAX, many); }), EINVAL);
  EXPECT_EQ(batch([&] { qp->wr_flags = 1U << 20, ibv_wr_rdma_write(qp, 1, 2); }), EINVAL);
  qp->wr_flags = IBV_SEND_SIGNALED;
  EXPECT_EQ(batch([&] {
              for (int i = 0; i < 16; ++i) ibv_wr_rdma_write(qp, to_mr->rkey, remote());
            }),
            ENOMEM)
      << "17 into a queue of 16";
  ibv_wr_start(qp);
  ibv_wr_set_sge(qp, 0, 0, 0);
  EXPECT_EQ(ibv_wr_complete(qp), EINVAL) << "a setter without a work request";
  ibv_wc wc{};
  EXPECT_EQ(ibv_poll_cq(cq.get(), 1, &wc), 0);
  EXPECT_EQ(to[0], 0);
  EXPECT_EQ(batch([] {}), 0);
  EXPECT_EQ(collect(cq.get(), 1)[0].status, IBV_WC_SUCCESS);
  EXPECT_STREQ(to, "spoiled");
}

TEST_F(ExtendedQueuePairTest, InErrorEverythingIsFlushed) {
  connected(IBV_QPT_RC, IBV_QP_EX_WITH_SEND);
  ASSERT_EQ(to_state(sender.get(), IBV_QPS_ERR), 0);
  ibv_wr_start(qp);
  for (qp->wr_id = 0; qp->wr_id < 16; ++qp->wr_id) ibv_wr_send(qp);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  for (const ibv_wc& wc : collect(cq.get(), 16)) EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
  ASSERT_EQ(to_state(sender.get(), IBV_QPS_RESET), 0);
  ibv_wr_start(qp);
  ibv_wr_send(qp);
  EXPECT_EQ(ibv_wr_complete(qp), EINVAL);
}

TEST_F(ExtendedQueuePairTest, BatchesOfThreadsDoNotMix) {
  connected(IBV_QPT_RC, IBV_QP_EX_WITH_RDMA_WRITE);
  constexpr std::uint64_t kBatches = 500, kThreads = 3;
  std::vector<std::thread> threads;
  std::atomic<std::uint64_t> posted{0}, completed{0};
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < kBatches; ++i) {
        while (posted.fetch_add(2) - completed > 12) posted -= 2, std::this_thread::yield();
        ibv_wr_start(qp);
        qp->wr_id = t;
        ibv_wr_rdma_write(qp, to_mr->rkey, remote());
        set_first(8);
        qp->wr_id = t + 10;
        ibv_wr_rdma_write(qp, to_mr->rkey, remote());
        set_first(8);
        EXPECT_EQ(ibv_wr_complete(qp), 0);
      }
    });
  }
  ibv_wc wc{};
  std::uint64_t pending = kThreads;  // none
  while (completed < 2 * kBatches * kThreads) {
    if (ibv_poll_cq(cq.get(), 1, &wc) != 1) continue;
    ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
    if (pending == kThreads) {
      pending = wc.wr_id;
    } else {
      ASSERT_EQ(wc.wr_id, pending + 10);
      pending = kThreads;
    }
    ++completed;
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace softrnic::abi_test
