// Regions with on-demand paging: traffic with memory that is mapped, unmapped and mapped again behind them.
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <numeric>
#include <thread>

#include "tests/abi/verbs_fixture.h"

namespace softrnic::abi_test {
namespace {

constexpr std::size_t kMappedBytes = 8 * kPage;
constexpr int kAccess = IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                        IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

/// Far from where the kernel puts what others map: that must not lie where pages of these tests have gone and
/// come back. TSan allows no such address.
#ifdef __SANITIZE_THREAD__
void* const kFarAway = nullptr;
#else
void* const kFarAway = reinterpret_cast<void*>(std::uintptr_t{1} << 45);
#endif

class OnDemandTest : public VerbsTest {
 protected:
  void SetUp() override {
    VerbsTest::SetUp();
    ibv_device_attr_ex device{};
    ASSERT_EQ(ibv_query_device_ex(context.get(), nullptr, &device), 0);
    if ((device.odp_caps.general_caps & IBV_ODP_SUPPORT) == 0) GTEST_SKIP() << "not allowed here";
    pages = static_cast<char*>(
        mmap(kFarAway, kMappedBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(static_cast<void*>(pages), MAP_FAILED);
    std::iota(std::begin(local), std::end(local), char{1});
    local_mr = make_mr(local, sizeof local, IBV_ACCESS_LOCAL_WRITE);
    reconnect();
  }
  void TearDown() override {
    if (pages != nullptr) munmap(pages, kMappedBytes);
    VerbsTest::TearDown();
  }
  void reconnect() {
    a = make_qp(IBV_QPT_RC);
    b = make_qp(IBV_QPT_RC);
    connect(a.get(), b.get());
  }
  void map_again() const {
    mmap(pages, kMappedBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  }
  /// `a` moves the bytes of `sge` to or from `address` of its peer.
  ibv_wc_status by_peer(ibv_wr_opcode opcode, ibv_sge sge, std::uint32_t rkey, const void* address) {
    ibv_send_wr wr{};
    wr.opcode = opcode;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.send_flags = IBV_SEND_SIGNALED;
    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      wr.wr.atomic = {.remote_addr = to_address(address), .compare_add = 5, .swap = 0, .rkey = rkey};
    } else {
      wr.wr.rdma = {.remote_addr = to_address(address), .rkey = rkey};
    }
    ibv_send_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_send(a.get(), &wr, &bad), 0);
    return collect(cq.get(), 1)[0].status;
  }
  ibv_sge all_local() { return sge_of(local, sizeof local, local_mr.get()); }

  char* pages = nullptr;
  alignas(64) char local[kMappedBytes] = {};
  MrPtr local_mr;
  QpPtr a, b;
};

TEST_F(OnDemandTest, EveryTransportIsAdvertised) {
  ibv_device_attr_ex device{};
  ASSERT_EQ(ibv_query_device_ex(context.get(), nullptr, &device), 0);
  EXPECT_EQ(device.odp_caps.general_caps, std::uint64_t{IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT});
  const auto& caps = device.odp_caps.per_transport_caps;
  EXPECT_EQ(caps.rc_odp_caps, 0x3fU) << "send, receive, write, read, atomic, SRQ";
  EXPECT_EQ(device.xrc_odp_caps, 0x3fU);
  EXPECT_EQ(caps.uc_odp_caps, 0x27U);
  EXPECT_EQ(caps.ud_odp_caps, 0x23U);
}

TEST_F(OnDemandTest, ARegionOutlivesItsPages) {
  MrPtr mr = make_mr(pages, kMappedBytes, kAccess);
  for (int round = 0; round < 3; ++round) {
    munmap(pages, kMappedBytes);
    EXPECT_EQ(by_peer(IBV_WR_RDMA_WRITE, all_local(), mr->rkey, pages), IBV_WC_REM_ACCESS_ERR);
    map_again();
    reconnect();
    EXPECT_EQ(by_peer(IBV_WR_RDMA_WRITE, all_local(), mr->rkey, pages), IBV_WC_SUCCESS);
    EXPECT_EQ(std::memcmp(pages, local, kMappedBytes), 0);
    EXPECT_EQ(by_peer(IBV_WR_ATOMIC_FETCH_AND_ADD, sge_of(local, 8, local_mr.get()), mr->rkey, pages + kPage),
              IBV_WC_SUCCESS);
    EXPECT_EQ(pages[kPage], static_cast<char>(local[kPage] + 5));
    pages[kPage] = static_cast<char>(pages[kPage] - 5);
    std::memset(local, 0, sizeof local);
    EXPECT_EQ(by_peer(IBV_WR_RDMA_READ, all_local(), mr->rkey, pages), IBV_WC_SUCCESS);
    EXPECT_EQ(std::memcmp(pages, local, kMappedBytes), 0);
  }
}

TEST_F(OnDemandTest, TheAddressSpaceIsOneRegion) {
  MrPtr all(ibv_reg_mr(pd.get(), nullptr, SIZE_MAX, kAccess));
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(by_peer(IBV_WR_RDMA_WRITE, {to_address(local), kMappedBytes, all->lkey}, all->rkey, pages),
            IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(pages, local, kMappedBytes), 0);
  EXPECT_EQ(by_peer(IBV_WR_RDMA_WRITE, {to_address(local), 8, all->lkey}, all->rkey, nullptr),
            IBV_WC_REM_ACCESS_ERR);
  reconnect();
  EXPECT_EQ(by_peer(IBV_WR_RDMA_READ, {64, 8, all->lkey}, all->rkey, pages), IBV_WC_LOC_PROT_ERR);
}

TEST_F(OnDemandTest, SendsAndReceives) {
  MrPtr mr = make_mr(pages, kMappedBytes, kAccess);
  const std::uint32_t half = kMappedBytes / 2;
  std::memset(pages, 3, half);
  EXPECT_EQ(post_recv(b.get(), 1, sge_of(pages + half, half, mr.get())), 0);
  EXPECT_EQ(post_send(a.get(), 2, sge_of(pages, half, mr.get())), 0);
  for (const ibv_wc& wc : collect(cq.get(), 2)) EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(pages, pages + half, half), 0);
  munmap(pages, kPage);
  EXPECT_EQ(post_send(a.get(), 3, sge_of(pages, half, mr.get())), 0);
  EXPECT_EQ(collect(cq.get(), 1)[0].status, IBV_WC_LOC_PROT_ERR);
}

TEST_F(OnDemandTest, AWindowOnTheRegion) {
  MrPtr mr = make_mr(pages, kMappedBytes, kAccess | IBV_ACCESS_MW_BIND);
  Owner<ibv_mw, ibv_dealloc_mw> mw(ibv_alloc_mw(pd.get(), IBV_MW_TYPE_1));
  ibv_mw_bind bind{};
  bind.send_flags = IBV_SEND_SIGNALED;
  bind.bind_info = {mr.get(), to_address(pages), kMappedBytes, IBV_ACCESS_REMOTE_WRITE};
  ASSERT_EQ(ibv_bind_mw(b.get(), mw.get(), &bind), 0);
  EXPECT_EQ(collect(cq.get(), 1)[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(by_peer(IBV_WR_RDMA_WRITE, all_local(), mw->rkey, pages), IBV_WC_SUCCESS);
  munmap(pages, kMappedBytes);
  EXPECT_EQ(by_peer(IBV_WR_RDMA_WRITE, all_local(), mw->rkey, pages), IBV_WC_REM_ACCESS_ERR);
}

// Whenever the pages go, nobody faults: the peer's request is done, or refused.
TEST_F(OnDemandTest, PagesThatGoUnderTraffic) {
  MrPtr mr = make_mr(pages, kMappedBytes, kAccess);
  std::atomic<bool> done{false};
  std::thread mapper([&] {
    while (!done) {
      munmap(pages, kMappedBytes);
      map_again();
      std::this_thread::yield();
    }
  });
  int succeeded = 0, refused = 0;
  for (int i = 0; i < 400; ++i) {
    const ibv_wr_opcode opcode = i % 2 == 0 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
    const ibv_wc_status status = by_peer(opcode, all_local(), mr->rkey, pages);
    if (status == IBV_WC_SUCCESS) {
      ++succeeded;
    } else {
      ++refused;
      ASSERT_EQ(status, IBV_WC_REM_ACCESS_ERR);
      reconnect();
    }
  }
  done = true;
  mapper.join();
  EXPECT_EQ(succeeded + refused, 400);
}

TEST_F(OnDemandTest, AdviceByTheVerb) {
  MrPtr mr = make_mr(pages, kMappedBytes, kAccess);
  ibv_sge range = sge_of(pages, kMappedBytes, mr.get());
  EXPECT_EQ(ibv_advise_mr(pd.get(), IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH, &range, 1),
            0);
  munmap(pages, kPage);
  EXPECT_EQ(ibv_advise_mr(pd.get(), IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, &range, 1),
            EFAULT);
  EXPECT_EQ(ibv_advise_mr(pd.get(), IBV_ADVISE_MR_ADVICE_PREFETCH, 0, nullptr, 1), EINVAL);
  range.lkey = 0x123456;
  EXPECT_EQ(ibv_advise_mr(pd.get(), IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &range, 1), EFAULT);
}

}  // namespace
}  // namespace softrnic::abi_test
