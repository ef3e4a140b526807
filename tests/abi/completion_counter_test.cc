// Completion counters: what their calls answer, and what they count.
#include <algorithm>
#include <cerrno>

#include "tests/abi/newer_verbs.h"

namespace softrnic::abi_test {
namespace {

constexpr int kEveryAccess =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

class CompletionCounterTest : public VerbsTest {
 protected:
  void SetUp() override {
    VerbsTest::SetUp();
    mr = make_mr(memory, storage.size(), kEveryAccess);
    ASSERT_NE(mr, nullptr);
  }

  CounterPtr make_counter(abi::CompCntrType type = abi::CompCntrType::wrs) {
    abi::CompCntrInitAttr attributes{.comp_mask = 0, .type = type, .flags = 0};
    return CounterPtr(create_comp_cntr(context.get(), &attributes));
  }
  static int attach(ibv_qp* qp, const CounterPtr& counter, std::uint32_t operations) {
    abi::QpAttachCompCntrAttr attributes{.comp_mask = 0, .op_mask = operations};
    return qp_attach_comp_cntr(qp, counter.get(), &attributes);
  }
  static std::uint64_t value(const CounterPtr& counter) {
    std::uint64_t read = 0;
    EXPECT_EQ(read_comp_cntr(counter.get(), &read), 0);
    return read;
  }
  static std::uint64_t failures(const CounterPtr& counter) {
    std::uint64_t read = 0;
    EXPECT_EQ(read_err_comp_cntr(counter.get(), &read), 0);
    return read;
  }

  ibv_send_wr request(ibv_wr_opcode opcode, std::uint32_t length) {
    sge = sge_of(memory, length, mr.get());
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = opcode;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {.remote_addr = reinterpret_cast<std::uintptr_t>(memory + kHalf), .rkey = mr->rkey};
    return wr;
  }
  /// Posts and waits for the end.
  ibv_wc_status run(ibv_qp* qp, ibv_send_wr wr) {
    ibv_send_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_send(qp, &wr, &bad), 0);
    return collect(cq.get(), 1)[0].status;
  }
  ibv_wc_status run(ibv_qp* qp, ibv_wr_opcode opcode, std::uint32_t length) {
    return run(qp, request(opcode, length));
  }
  void receive(ibv_qp* qp, std::uint32_t length) {
    ASSERT_EQ(post_recv(qp, 1, sge_of(memory + kHalf, length, mr.get())), 0);
  }

  static constexpr std::size_t kHalf = 1 << 20;
  std::vector<char> storage = std::vector<char>(2 * kHalf);
  char* const memory = storage.data();
  ibv_sge sge{};
  MrPtr mr;
};

TEST_F(CompletionCounterTest, CapabilitiesAreThoseOfTheManual) {
  struct {
    abi::CompCntrCaps known;
    std::uint64_t later = ~0ULL;
  } caps{};
  EXPECT_EQ(query_comp_cntr_caps(context.get(), &caps, sizeof caps.known - 1), EINVAL);
  ASSERT_EQ(query_comp_cntr_caps(context.get(), &caps, sizeof caps), 0);
  EXPECT_EQ(caps.known.max_value, UINT64_MAX);
  EXPECT_GT(caps.known.max_counters, 1000U);
  EXPECT_EQ(caps.known.supported_qp_attach_ops, kSend | kRecv | kRead | kRemoteRead | kWrite | kRemoteWrite);
  EXPECT_EQ(caps.later, 0U) << "what a longer structure has beyond ours";
  EXPECT_EQ(query_comp_cntr_caps(context.get(), nullptr, sizeof caps), EINVAL);
}

TEST_F(CompletionCounterTest, UnknownAttributesAreRefused) {
  const auto refusal = [&](abi::CompCntrInitAttr attributes) {
    return error_of([&] { return create_comp_cntr(context.get(), &attributes); });
  };
  EXPECT_EQ(refusal({.comp_mask = 1, .type = abi::CompCntrType::wrs, .flags = 0}), EOPNOTSUPP);
  EXPECT_EQ(refusal({.comp_mask = 0, .type = abi::CompCntrType::wrs, .flags = 1}), EOPNOTSUPP);
  EXPECT_EQ(refusal({.comp_mask = 0, .type = static_cast<abi::CompCntrType>(2), .flags = 0}), EOPNOTSUPP);
  EXPECT_EQ(error_of([&] { return create_comp_cntr(context.get(), nullptr); }), EINVAL);
}

TEST_F(CompletionCounterTest, ProgramsSetIncrementAndRead) {
  const CounterPtr counter = make_counter();
  ASSERT_NE(counter, nullptr);
  EXPECT_EQ(counter->context, context.get());
  EXPECT_EQ(value(counter), 0U);
  EXPECT_EQ(set_comp_cntr(counter.get(), 40), 0);
  EXPECT_EQ(inc_comp_cntr(counter.get(), 2), 0);
  EXPECT_EQ(set_err_comp_cntr(counter.get(), UINT64_MAX), 0);
  EXPECT_EQ(value(counter), 42U);
  EXPECT_EQ(failures(counter), UINT64_MAX);
  EXPECT_EQ(inc_err_comp_cntr(counter.get(), 1), 0);
  EXPECT_EQ(failures(counter), 0U) << "beyond max_value comes zero";
  EXPECT_EQ(read_comp_cntr(counter.get(), nullptr), EINVAL);
  EXPECT_EQ(set_comp_cntr(nullptr, 1), EINVAL);
}

TEST_F(CompletionCounterTest, IsAttachedBeforeTheQueuePairIsReady) {
  const CounterPtr counter = make_counter();
  const CounterPtr other = make_counter();
  QpPtr qp = make_qp(IBV_QPT_RC);
  EXPECT_EQ(attach(qp.get(), counter, 0), EINVAL);
  EXPECT_EQ(attach(qp.get(), counter, 1 << 6), EOPNOTSUPP);
  abi::QpAttachCompCntrAttr unknown{.comp_mask = 1, .op_mask = kSend};
  EXPECT_EQ(qp_attach_comp_cntr(qp.get(), counter.get(), &unknown), EINVAL);
  EXPECT_EQ(attach(qp.get(), counter, kSend | kRead), 0);
  EXPECT_EQ(attach(qp.get(), other, kRead | kWrite), EBUSY);
  EXPECT_EQ(to_init(qp.get()), 0);
  EXPECT_EQ(attach(qp.get(), other, kWrite), 0);
  EXPECT_EQ(attach(qp.get(), counter, kRecv), 0) << "more for the same counter";
  EXPECT_EQ(to_rtr(qp.get(), qp->qp_num), 0);
  EXPECT_EQ(attach(qp.get(), other, kRemoteRead), EINVAL);
  EXPECT_EQ(destroy_comp_cntr(counter.get()), EBUSY);
  EXPECT_EQ(destroy_comp_cntr(other.get()), EBUSY);
  const ContextPtr elsewhere(open_first());
  abi::CompCntrInitAttr attributes{};
  const CounterPtr foreign(create_comp_cntr(elsewhere.get(), &attributes));
  QpPtr fresh = make_qp(IBV_QPT_RC);
  EXPECT_EQ(attach(fresh.get(), foreign, kSend), EINVAL);
}

TEST_F(CompletionCounterTest, EachOperationIsCountedWhereItIsAttached) {
  const CounterPtr sends = make_counter(), writes = make_counter(), reads = make_counter();
  const auto bytes = abi::CompCntrType::bytes;
  const CounterPtr receives = make_counter(bytes), remote_writes = make_counter(bytes),
                   remote_reads = make_counter(bytes);
  QpPtr a = make_qp(IBV_QPT_RC);
  QpPtr b = make_qp(IBV_QPT_RC);
  ASSERT_EQ(attach(a.get(), sends, kSend), 0);
  ASSERT_EQ(attach(a.get(), writes, kWrite), 0);
  ASSERT_EQ(attach(a.get(), reads, kRead), 0);
  ASSERT_EQ(attach(b.get(), receives, kRecv), 0);
  ASSERT_EQ(attach(b.get(), remote_writes, kRemoteWrite), 0);
  ASSERT_EQ(attach(b.get(), remote_reads, kRemoteRead), 0);
  connect(a.get(), b.get());
  receive(b.get(), 5000);
  ibv_send_wr quiet = request(IBV_WR_SEND, 100), *bad = nullptr;
  quiet.send_flags = 0;
  ASSERT_EQ(ibv_post_send(a.get(), &quiet, &bad), 0);
  EXPECT_EQ(collect(cq.get(), 1)[0].opcode, IBV_WC_RECV);
  receive(b.get(), 5000);
  ibv_send_wr send = request(IBV_WR_SEND, 5000);
  ASSERT_EQ(ibv_post_send(a.get(), &send, &bad), 0);
  collect(cq.get(), 2);
  EXPECT_EQ(value(sends), 2U) << "whether signaled or not";
  EXPECT_EQ(value(receives), 5100U);
  for (const std::uint32_t length : {1U, 3000U, 900000U})
    EXPECT_EQ(run(a.get(), IBV_WR_RDMA_WRITE, length), 0);
  EXPECT_EQ(value(writes), 3U);
  EXPECT_EQ(value(remote_writes), 903001U);
  for (const std::uint32_t length : {2U, 800000U}) EXPECT_EQ(run(a.get(), IBV_WR_RDMA_READ, length), 0);
  EXPECT_EQ(value(reads), 2U);
  EXPECT_EQ(value(remote_reads), 800002U);
  ibv_send_wr atomic = request(IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
  atomic.wr.atomic = {
      .remote_addr = atomic.wr.rdma.remote_addr, .compare_add = 1, .swap = 0, .rkey = mr->rkey};
  EXPECT_EQ(run(a.get(), atomic), 0);
  EXPECT_EQ(value(reads) + value(writes) + value(sends), 7U) << "atomics are none of them";
  for (const auto* counter : {&sends, &writes, &reads, &receives, &remote_writes, &remote_reads})
    EXPECT_EQ(failures(*counter), 0U);
}

// The peer, of the same process or host, would carry them out itself, and this side not notice.
TEST_F(CompletionCounterTest, RequestsOfALocalPeerAreCounted) {
  constexpr unsigned kRounds = 300;
  const CounterPtr remote = make_counter();
  QpPtr a = make_qp(IBV_QPT_RC);
  QpPtr b = make_qp(IBV_QPT_RC);
  ASSERT_EQ(attach(b.get(), remote, kRemoteRead | kRemoteWrite), 0);
  connect(a.get(), b.get());
  for (unsigned i = 0; i < kRounds; ++i) {
    ASSERT_EQ(run(a.get(), IBV_WR_RDMA_WRITE, 64), IBV_WC_SUCCESS);
    ASSERT_EQ(run(a.get(), IBV_WR_RDMA_READ, 64), IBV_WC_SUCCESS);
  }
  EXPECT_EQ(value(remote), 2 * kRounds);
}

TEST_F(CompletionCounterTest, WriteWithImmediateIsAWriteAndAReceive) {
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
    const CounterPtr writes = make_counter();
    const CounterPtr arrived = make_counter(abi::CompCntrType::bytes);
    const CounterPtr receives = make_counter();
    QpPtr a = make_qp(type);
    QpPtr b = make_qp(type);
    ASSERT_EQ(attach(a.get(), writes, kWrite | kSend), 0);
    ASSERT_EQ(attach(b.get(), arrived, kRemoteWrite), 0);
    ASSERT_EQ(attach(b.get(), receives, kRecv), 0);
    connect(a.get(), b.get());
    receive(b.get(), 0);
    ibv_send_wr wr = request(IBV_WR_RDMA_WRITE_WITH_IMM, 3000), *bad = nullptr;
    ASSERT_EQ(ibv_post_send(a.get(), &wr, &bad), 0);
    collect(cq.get(), 2);
    EXPECT_EQ(value(writes), 1U);
    EXPECT_EQ(value(arrived), 3000U);
    EXPECT_EQ(value(receives), 1U);
    a.reset();
    b.reset();
  }
}

TEST_F(CompletionCounterTest, FailuresAreCountedApart) {
  const CounterPtr local = make_counter(abi::CompCntrType::bytes);
  const CounterPtr remote = make_counter(abi::CompCntrType::bytes);
  const CounterPtr receives = make_counter();
  QpPtr a = make_qp(IBV_QPT_RC);
  QpPtr b = make_qp(IBV_QPT_RC);
  ASSERT_EQ(attach(a.get(), local, kSend | kWrite), 0);
  ASSERT_EQ(attach(b.get(), remote, kRemoteWrite | kRemoteRead), 0);
  ASSERT_EQ(attach(b.get(), receives, kRecv), 0);
  connect(a.get(), b.get());
  receive(b.get(), 64);
  receive(b.get(), 64);
  ibv_send_wr wrong = request(IBV_WR_RDMA_WRITE, 64);
  wrong.wr.rdma.rkey ^= 0xff;
  ibv_send_wr behind = request(IBV_WR_SEND, 64), *bad = nullptr;
  wrong.next = &behind;
  ASSERT_EQ(ibv_post_send(a.get(), &wrong, &bad), 0);
  const auto ends = collect(cq.get(), 4);  // two sends, two receives
  EXPECT_EQ(
      std::count_if(ends.begin(), ends.end(), [](auto& wc) { return wc.status == IBV_WC_WR_FLUSH_ERR; }), 3);
  EXPECT_EQ(failures(local), 2U) << "the WRITE, and the SEND that was flushed behind it";
  EXPECT_EQ(failures(remote), 1U);
  EXPECT_EQ(failures(receives), 2U);
  EXPECT_EQ(value(local) + value(remote) + value(receives), 0U);
  ibv_send_wr late = request(IBV_WR_SEND, 64);
  ASSERT_EQ(run(a.get(), late), IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(failures(local), 3U);
}

TEST_F(CompletionCounterTest, RefusedReadsAreFailuresOfThePeersRequests) {
  const CounterPtr reads = make_counter();
  const CounterPtr remote = make_counter();
  QpPtr a = make_qp(IBV_QPT_RC);
  QpPtr b = make_qp(IBV_QPT_RC);
  ASSERT_EQ(attach(a.get(), reads, kRead), 0);
  ASSERT_EQ(attach(b.get(), remote, kRemoteRead), 0);
  connect(a.get(), b.get());
  ibv_send_wr wrong = request(IBV_WR_RDMA_READ, 64);
  wrong.wr.rdma.rkey ^= 0xff;
  EXPECT_EQ(run(a.get(), wrong), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(failures(reads), 1U);
  EXPECT_EQ(failures(remote), 1U);
  EXPECT_EQ(value(reads) + value(remote), 0U);
}

TEST_F(CompletionCounterTest, OneCounterForSeveralQueuePairs) {
  const CounterPtr counter = make_counter();
  std::vector<QpPtr> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(make_qp(IBV_QPT_RC));
    ASSERT_EQ(attach(all.back().get(), counter, kWrite | kRemoteWrite), 0);
  }
  connect(all[0].get(), all[1].get());
  connect(all[2].get(), all[3].get());
  EXPECT_EQ(run(all[0].get(), IBV_WR_RDMA_WRITE, 64), IBV_WC_SUCCESS);
  EXPECT_EQ(run(all[2].get(), IBV_WR_RDMA_WRITE, 64), IBV_WC_SUCCESS);
  EXPECT_EQ(value(counter), 4U);
  all.pop_back();
  EXPECT_EQ(destroy_comp_cntr(counter.get()), EBUSY) << "the others still use it";
}

TEST_F(CompletionCounterTest, ResetKeepsTheCounter) {
  const CounterPtr writes = make_counter();
  QpPtr a = make_qp(IBV_QPT_RC);
  QpPtr b = make_qp(IBV_QPT_RC);
  ASSERT_EQ(attach(a.get(), writes, kWrite), 0);
  for (unsigned round = 1; round <= 2; ++round) {
    connect(a.get(), b.get());
    EXPECT_EQ(run(a.get(), IBV_WR_RDMA_WRITE, 64), IBV_WC_SUCCESS);
    EXPECT_EQ(value(writes), round);
    ASSERT_EQ(to_state(a.get(), IBV_QPS_RESET), 0);
    ASSERT_EQ(to_state(b.get(), IBV_QPS_RESET), 0);
  }
}

TEST_F(CompletionCounterTest, DatagramsAreSendsAndReceives) {
  const CounterPtr sends = make_counter();
  const CounterPtr receives = make_counter(abi::CompCntrType::bytes);
  QpPtr a = make_qp(IBV_QPT_UD);
  QpPtr b = make_qp(IBV_QPT_UD);
  ASSERT_EQ(attach(a.get(), sends, kSend), 0);
  ASSERT_EQ(attach(b.get(), receives, kRecv), 0);
  connect(a.get(), b.get());
  receive(b.get(), 140);
  ibv_ah_attr to = address();
  const AhPtr ah(ibv_create_ah(pd.get(), &to));
  ibv_send_wr wr = request(IBV_WR_SEND, 100), *bad = nullptr;
  wr.wr.ud = {.ah = ah.get(), .remote_qpn = b->qp_num, .remote_qkey = kQkey};
  ASSERT_EQ(ibv_post_send(a.get(), &wr, &bad), 0);
  collect(cq.get(), 2);
  EXPECT_EQ(value(sends), 1U);
  EXPECT_EQ(value(receives), 140U) << "byte_len of the completion: the GRH too";
}

}  // namespace
}  // namespace softrnic::abi_test
