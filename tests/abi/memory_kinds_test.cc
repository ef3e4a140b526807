// Memory windows, device memory and null regions: what the calls answer, and that traffic heeds them.
#include <cerrno>
#include <numeric>

#include "tests/abi/verbs_fixture.h"

namespace softrnic::abi_test {
namespace {

constexpr int kRemoteAccess = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
using MwPtr = Owner<ibv_mw, ibv_dealloc_mw>;
using DmPtr = Owner<ibv_dm, ibv_free_dm>;

class MemoryKindsTest : public VerbsTest {
 protected:
  void SetUp() override {
    VerbsTest::SetUp();
    std::iota(std::begin(source), std::end(source), char{1});
    source_mr = make_mr(source, sizeof source, IBV_ACCESS_LOCAL_WRITE);
    reconnect();
  }
  void reconnect() {
    a = make_qp(IBV_QPT_RC);
    b = make_qp(IBV_QPT_RC);
    connect(a.get(), b.get());
  }
  /// Of the only completion.
  ibv_wc run(ibv_qp* qp, ibv_send_wr wr) const {
    ibv_send_wr* bad = nullptr;
    wr.send_flags |= IBV_SEND_SIGNALED;
    EXPECT_EQ(ibv_post_send(qp, &wr, &bad), 0);
    return collect(cq.get(), 1)[0];
  }
  /// `a` does that with the beginning of `source`.
  ibv_wc_status by_peer(ibv_wr_opcode opcode, std::uint32_t rkey, std::uint64_t address,
                        std::uint32_t length) {
    ibv_sge sge = sge_of(source, length, source_mr.get());
    ibv_send_wr wr{};
    wr.opcode = opcode;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      wr.wr.atomic = {.remote_addr = address, .compare_add = 5, .swap = 0, .rkey = rkey};
    } else {
      wr.wr.rdma = {.remote_addr = address, .rkey = rkey};
    }
    return run(a.get(), wr).status;
  }

  alignas(64) char source[8192] = {};
  alignas(64) char target[8192] = {};
  MrPtr source_mr;
  QpPtr a, b;
};

TEST_F(MemoryKindsTest, WindowsOfType1AreBoundByTheVerb) {
  MrPtr mr = make_mr(target, sizeof target, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
  MwPtr mw(ibv_alloc_mw(pd.get(), IBV_MW_TYPE_1));
  ASSERT_NE(mw, nullptr);
  const std::uint32_t first = mw->rkey;
  ibv_mw_bind bind{};
  bind.wr_id = 8;
  bind.send_flags = IBV_SEND_SIGNALED;
  bind.bind_info = {mr.get(), to_address(target + 64), 4096, kRemoteAccess};
  ASSERT_EQ(ibv_bind_mw(b.get(), mw.get(), &bind), 0);
  EXPECT_EQ(mw->rkey, ibv_inc_rkey(first));
  const ibv_wc bound = collect(cq.get(), 1)[0];
  EXPECT_EQ(bound.status, IBV_WC_SUCCESS);
  EXPECT_EQ(bound.opcode, IBV_WC_BIND_MW);
  EXPECT_EQ(bound.wr_id, 8U);
  EXPECT_EQ(by_peer(IBV_WR_RDMA_WRITE, mw->rkey, to_address(target + 64), 4096), IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(source, target + 64, 4096), 0);
  EXPECT_EQ(by_peer(IBV_WR_ATOMIC_FETCH_AND_ADD, mw->rkey, to_address(target + 64), 8), IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_dereg_mr(mr.get()), EBUSY);
  EXPECT_EQ(by_peer(IBV_WR_RDMA_WRITE, mw->rkey, to_address(target), 65), IBV_WC_REM_ACCESS_ERR);
  reconnect();
  EXPECT_EQ(by_peer(IBV_WR_RDMA_WRITE, mw->rkey, to_address(target + 64), 8), IBV_WC_SUCCESS);
  bind.bind_info = {nullptr, 0, 0, 0};
  ASSERT_EQ(ibv_bind_mw(b.get(), mw.get(), &bind), 0);
  EXPECT_EQ(collect(cq.get(), 1)[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(by_peer(IBV_WR_RDMA_WRITE, mw->rkey, to_address(target + 64), 8), IBV_WC_REM_ACCESS_ERR);
  mr.reset();
}

TEST_F(MemoryKindsTest, WindowsOfType2AreBoundByWorkRequests) {
  ibv_qp_init_attr_ex init{};
  const ibv_qp_init_attr plain = qp_init(IBV_QPT_RC);
  std::memcpy(&init, &plain, sizeof plain);
  init.pd = pd.get();
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  init.send_ops_flags = IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV;
  b.reset(ibv_create_qp_ex(context.get(), &init));
  ASSERT_NE(b, nullptr);
  a = make_qp(IBV_QPT_RC);
  connect(a.get(), b.get());
  MrPtr mr = make_mr(target, sizeof target, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
  MwPtr mw(ibv_alloc_mw(pd.get(), IBV_MW_TYPE_2));
  const std::uint32_t key = ibv_inc_rkey(mw->rkey);
  const ibv_mw_bind_info info{mr.get(), to_address(target + 64), 4096, kRemoteAccess | IBV_ACCESS_ZERO_BASED};
  ibv_qp_ex* const extended = ibv_qp_to_qp_ex(b.get());
  ibv_wr_start(extended);
  extended->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_bind_mw(extended, mw.get(), key, &info);
  ASSERT_EQ(ibv_wr_complete(extended), 0);
  EXPECT_EQ(collect(cq.get(), 1)[0].opcode, IBV_WC_BIND_MW);
  for (int i = 0; i < 20; ++i)  // the first by packets perhaps, the last direct
    EXPECT_EQ(by_peer(IBV_WR_RDMA_WRITE, key, 16, 4080), IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(source, target + 80, 4080), 0);
  ibv_wr_start(extended);
  ibv_wr_local_inv(extended, key);
  ASSERT_EQ(ibv_wr_complete(extended), 0);
  EXPECT_EQ(collect(cq.get(), 1)[0].opcode, IBV_WC_LOCAL_INV);
  EXPECT_EQ(by_peer(IBV_WR_RDMA_WRITE, key, 16, 8), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(MemoryKindsTest, WindowsOfType2ServeOneQueuePair) {
  MrPtr mr = make_mr(target, sizeof target, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
  MwPtr mw(ibv_alloc_mw(pd.get(), IBV_MW_TYPE_2));
  QpPtr c = make_qp(IBV_QPT_RC), d = make_qp(IBV_QPT_RC);
  connect(c.get(), d.get());
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_BIND_MW;
  wr.bind_mw = {mw.get(), ibv_inc_rkey(mw->rkey), {mr.get(), to_address(target), 64, kRemoteAccess}};
  EXPECT_EQ(run(d.get(), wr).status, IBV_WC_SUCCESS);
  for (int i = 0; i < 20; ++i) {  // however that goes
    EXPECT_EQ(by_peer(IBV_WR_RDMA_WRITE, wr.bind_mw.rkey, to_address(target), 8), IBV_WC_REM_ACCESS_ERR);
    reconnect();
  }
}

TEST_F(MemoryKindsTest, WindowsOfType2TakeTheLowByteOfTheirKey) {
  MrPtr mr = make_mr(target, sizeof target, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
  MwPtr mw(ibv_alloc_mw(pd.get(), IBV_MW_TYPE_2));
  const std::uint32_t first = mw->rkey;
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_BIND_MW;
  wr.bind_mw = {mw.get(), 0xba, {mr.get(), to_address(target), 64, kRemoteAccess}};
  EXPECT_EQ(run(b.get(), wr).status, IBV_WC_SUCCESS);
  EXPECT_EQ(mw->rkey, (first & ~0xffU) | 0xba);
  EXPECT_EQ(by_peer(IBV_WR_RDMA_WRITE, mw->rkey, to_address(target), 64), IBV_WC_SUCCESS);
}

TEST_F(MemoryKindsTest, WindowsOfType2AreInvalidatedByTheirQueuePair) {
  MrPtr mr = make_mr(target, sizeof target, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
  MwPtr mw(ibv_alloc_mw(pd.get(), IBV_MW_TYPE_2));
  ibv_send_wr bind{}, invalidate{};
  bind.opcode = IBV_WR_BIND_MW;
  invalidate.opcode = IBV_WR_LOCAL_INV;
  invalidate.invalidate_rkey = ibv_inc_rkey(mw->rkey);
  bind.bind_mw = {mw.get(), invalidate.invalidate_rkey, {mr.get(), to_address(target), 64, kRemoteAccess}};
  EXPECT_EQ(run(b.get(), bind).status, IBV_WC_SUCCESS);
  EXPECT_EQ(run(a.get(), invalidate).status, IBV_WC_MW_BIND_ERR);
  EXPECT_EQ(run(b.get(), invalidate).status, IBV_WC_SUCCESS);
  EXPECT_EQ(run(b.get(), invalidate).status, IBV_WC_MW_BIND_ERR) << "it is not bound any more";
}

TEST_F(MemoryKindsTest, WindowsThatCannotBe) {
  errno = 0;
  EXPECT_EQ(ibv_alloc_mw(pd.get(), static_cast<ibv_mw_type>(3)), nullptr);
  EXPECT_EQ(errno, EINVAL);
  MwPtr mw(ibv_alloc_mw(pd.get(), IBV_MW_TYPE_1));
  EXPECT_EQ(ibv_dealloc_pd(pd.get()), EBUSY);
  ibv_mw* const gone = mw.release();
  const ibv_mw copy = *gone;
  EXPECT_EQ(ibv_dealloc_mw(gone), 0);
  EXPECT_EQ(copy.context->ops.dealloc_mw(gone), EINVAL);
  ibv_device_attr attributes{};
  ASSERT_EQ(ibv_query_device(context.get(), &attributes), 0);
  EXPECT_GT(attributes.max_mw, 0);
  EXPECT_NE(attributes.device_cap_flags & IBV_DEVICE_MEM_WINDOW, 0U);
  EXPECT_NE(attributes.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B, 0U);
}

TEST_F(MemoryKindsTest, DeviceMemoryIsReachedByOffset) {
  ibv_alloc_dm_attr attributes{};
  attributes.length = 4096;
  attributes.log_align_req = 3;
  DmPtr dm(ibv_alloc_dm(context.get(), &attributes));
  ASSERT_NE(dm, nullptr);
  EXPECT_EQ(ibv_memcpy_to_dm(dm.get(), 8, source, 64), 0);
  char back[64];
  EXPECT_EQ(ibv_memcpy_from_dm(back, dm.get(), 8, 64), 0);
  EXPECT_EQ(std::memcmp(back, source, 64), 0);
  EXPECT_EQ(ibv_memcpy_to_dm(dm.get(), 2, source, 4), EINVAL);
  EXPECT_EQ(ibv_memcpy_to_dm(dm.get(), 4, source, 4096), EINVAL);
  EXPECT_EQ(ibv_memcpy_from_dm(back, dm.get(), ~0ULL - 3, 8), EINVAL);
  const unsigned access = IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE | kRemoteAccess;
  EXPECT_EQ(ibv_reg_dm_mr(pd.get(), dm.get(), 0, 4096, IBV_ACCESS_LOCAL_WRITE), nullptr) << "not zero-based";
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_reg_dm_mr(pd.get(), dm.get(), 8, 4089, access), nullptr);
  EXPECT_EQ(errno, EINVAL);
  MrPtr mr(ibv_reg_dm_mr(pd.get(), dm.get(), 64, 1024, access | IBV_ACCESS_RELAXED_ORDERING));
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(ibv_free_dm(dm.get()), EBUSY);
  EXPECT_EQ(by_peer(IBV_WR_RDMA_WRITE, mr->rkey, 0, 1024), IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_memcpy_from_dm(back, dm.get(), 64, 64), 0);
  EXPECT_EQ(std::memcmp(back, source, 64), 0);
  std::uint64_t before = 0, after = 0;
  std::memcpy(&before, source, 8);
  EXPECT_EQ(by_peer(IBV_WR_ATOMIC_FETCH_AND_ADD, mr->rkey, 0, 8), IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_memcpy_from_dm(&after, dm.get(), 64, 8), 0);
  EXPECT_EQ(after, before + 5);
  EXPECT_EQ(by_peer(IBV_WR_RDMA_WRITE, mr->rkey, 1, 1024), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(MemoryKindsTest, DeviceMemoryRunsOut) {
  ibv_device_attr_ex device{};
  ASSERT_EQ(ibv_query_device_ex(context.get(), nullptr, &device), 0);
  ibv_alloc_dm_attr attributes{};
  attributes.length = device.max_dm_size + 1;
  EXPECT_EQ(ibv_alloc_dm(context.get(), &attributes), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  attributes.length = device.max_dm_size;
  DmPtr all(ibv_alloc_dm(context.get(), &attributes));
  ASSERT_NE(all, nullptr);
  attributes.length = 1;
  EXPECT_EQ(ibv_alloc_dm(context.get(), &attributes), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  ibv_dm* const imported = ibv_import_dm(context.get(), all->handle);
  ASSERT_NE(imported, nullptr);
  EXPECT_EQ(ibv_memcpy_to_dm(all.get(), 0, source, 8), 0);
  char back[8];
  EXPECT_EQ(ibv_memcpy_from_dm(back, imported, 0, 8), 0);
  EXPECT_EQ(std::memcmp(back, source, 8), 0);
  ibv_unimport_dm(imported);
  EXPECT_EQ(ibv_import_dm(context.get(), 0x7fffffff), nullptr);
  EXPECT_EQ(errno, ENOENT);
  attributes.length = 0;
  EXPECT_EQ(ibv_alloc_dm(context.get(), &attributes), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(MemoryKindsTest, NullRegionsGiveZerosAndTakeAnything) {
  MrPtr null(ibv_alloc_null_mr(pd.get()));
  ASSERT_NE(null, nullptr);
  MrPtr mr = make_mr(target, sizeof target, IBV_ACCESS_LOCAL_WRITE | kRemoteAccess);
  const auto rdma = [&](ibv_wr_opcode opcode, std::uint64_t at) {
    ibv_sge sge{at, 8192, null->lkey};
    ibv_send_wr wr{};
    wr.opcode = opcode;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.wr.rdma = {.remote_addr = to_address(target), .rkey = mr->rkey};
    return run(a.get(), wr).status;
  };
  for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{0x123456789abc}}) {
    std::memset(target, 7, sizeof target);
    EXPECT_EQ(rdma(IBV_WR_RDMA_READ, at), IBV_WC_SUCCESS);
    EXPECT_EQ(rdma(IBV_WR_RDMA_WRITE, at), IBV_WC_SUCCESS);
    for (const char byte : target) ASSERT_EQ(byte, 0);
  }
  // a SEND from there, and one that is received there
  EXPECT_EQ(post_recv(b.get(), 1, sge_of(source, sizeof source, source_mr.get())), 0);
  EXPECT_EQ(post_send(a.get(), 2, {0, 8192, null->lkey}), 0);
  for (const ibv_wc& wc : collect(cq.get(), 2)) EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  for (const char byte : source) ASSERT_EQ(byte, 0);
  EXPECT_EQ(post_recv(b.get(), 3, {64, 8192, null->lkey}), 0);
  EXPECT_EQ(post_send(a.get(), 4, sge_of(target, sizeof target, mr.get())), 0);
  for (const ibv_wc& wc : collect(cq.get(), 2)) EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(by_peer(IBV_WR_RDMA_READ, null->lkey, 0, 8), IBV_WC_REM_ACCESS_ERR) << "it has no rkey";
  EXPECT_NE(ibv_rereg_mr(null.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kRemoteAccess), 0);
}

}  // namespace
}  // namespace softrnic::abi_test
