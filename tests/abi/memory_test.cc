// Protection domains and memory regions: what the calls answer, and when they refuse.
#include <sys/mman.h>

#include <cerrno>

#include "tests/abi/verbs_fixture.h"

namespace softrnic::abi_test {
namespace {

class MemoryTest : public VerbsTest {
 protected:
  alignas(64) char buffer[4096] = {};
};

TEST_F(MemoryTest, RegionShowsWhatWasRegistered) {
  MrPtr mr = make_mr(buffer, sizeof buffer, kRemoteReadWrite);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(mr->addr, buffer);
  EXPECT_EQ(mr->length, sizeof buffer);
  EXPECT_EQ(mr->pd, pd.get());
  EXPECT_EQ(mr->context, context.get());
  EXPECT_EQ(mr->lkey, mr->rkey) << "programs give the lkey to their peers";
  MrPtr other = make_mr(buffer, 64, 0);
  EXPECT_NE(other->lkey, mr->lkey);
}

TEST_F(MemoryTest, BadAccessFlagsAreRefused) {
  errno = 0;
  EXPECT_EQ(make_mr(buffer, sizeof buffer, IBV_ACCESS_REMOTE_WRITE), nullptr);
  EXPECT_EQ(errno, EINVAL);
  errno = 0;
  EXPECT_EQ(make_mr(buffer, sizeof buffer, IBV_ACCESS_REMOTE_ATOMIC), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_reg_mr(pd.get(), buffer, sizeof buffer, 1 << 18), nullptr);
}

TEST_F(MemoryTest, OptionalAccessFlagsAreIgnored) {
  const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING;
  MrPtr mr = make_mr(buffer, sizeof buffer, access);
  EXPECT_NE(mr, nullptr);
}

TEST_F(MemoryTest, UnmappedMemoryIsRefused) {
  void* const page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  MrPtr readable = make_mr(page, 4096, 0);
  EXPECT_NE(readable, nullptr);
  errno = 0;
  EXPECT_EQ(make_mr(page, 4096, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, EFAULT);
  readable.reset();
  munmap(page, 4096);
  errno = 0;
  EXPECT_EQ(ibv_reg_mr(pd.get(), page, 4096, 0), nullptr);
  EXPECT_EQ(errno, EFAULT);
}

TEST_F(MemoryTest, ReregistrationRefusesWhatTheManualCallsInputErrors) {
  MrPtr mr = make_mr(buffer, sizeof buffer, kRemoteReadWrite);
  const auto rereg = [&](int flags, ibv_pd* to, void* address, std::size_t length, int access) {
    errno = 0;
    return ibv_rereg_mr(mr.get(), flags, to, address, length, access);
  };
  EXPECT_EQ(rereg(1 << 8, nullptr, nullptr, 0, 0), IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(rereg(IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, nullptr, 64, 0), IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(rereg(IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, buffer, 0, 0), IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(rereg(IBV_REREG_MR_CHANGE_PD, nullptr, nullptr, 0, 0), IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(rereg(0, nullptr, nullptr, 0, IBV_ACCESS_LOCAL_WRITE), IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(rereg(IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_REMOTE_WRITE),
            IBV_REREG_MR_ERR_CMD);
}

TEST_F(MemoryTest, ReregistrationChangesRegionAndDomain) {
  PdPtr second(ibv_alloc_pd(context.get()));
  MrPtr mr = make_mr(buffer, sizeof buffer, kRemoteReadWrite);
  EXPECT_EQ(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD, second.get(),
                         buffer + 64, 128, 0),
            0);
  EXPECT_EQ(mr->addr, buffer + 64);
  EXPECT_EQ(mr->length, 128U);
  EXPECT_EQ(mr->pd, second.get());
  EXPECT_EQ(ibv_dealloc_pd(second.get()), EBUSY);
}

TEST_F(MemoryTest, UsedDomainIsBusy) {
  MrPtr mr = make_mr(buffer, sizeof buffer, 0);
  EXPECT_EQ(ibv_dealloc_pd(pd.get()), EBUSY);
  mr.reset();
  QpPtr qp = make_qp(IBV_QPT_RC);
  EXPECT_EQ(ibv_dealloc_pd(pd.get()), EBUSY);
  EXPECT_EQ(ibv_destroy_cq(cq.get()), EBUSY);
}

TEST_F(MemoryTest, ClosedDeviceKillsTheKeysOfForgottenRegions) {
  ibv_context* const other = open_first();
  ASSERT_NE(other, nullptr);
  ibv_pd* const forgotten_pd = ibv_alloc_pd(other);
  ibv_mr* const forgotten = ibv_reg_mr(forgotten_pd, buffer, sizeof buffer, kRemoteReadWrite);
  ASSERT_NE(forgotten, nullptr);
  EXPECT_EQ(ibv_close_device(other), 0);
  EXPECT_EQ(ibv_dereg_mr(forgotten), 0) << "late, but harmless";
  EXPECT_EQ(ibv_dealloc_pd(forgotten_pd), 0);
}

TEST_F(MemoryTest, IovaNamesTheRegionForPeers) {
  constexpr std::uint64_t kIova = 0x10000;
  const int access = kRemoteReadWrite;
  MrPtr mr(ibv_reg_mr_iova(pd.get(), buffer, sizeof buffer, kIova, access));
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(mr->addr, buffer);
  expect_reached(mr.get(), kIova + 100, buffer + 100);
}

}  // namespace
}  // namespace softrnic::abi_test
