#include <sys/mman.h>

#include <cerrno>

#include "base/reason_id.h"
#include "rnic/mapped_memory.h"
#include "tests/unit/rnic/fixture.h"

namespace softrnic::rnic::test {
namespace {

/// Pages from mmap with some protection.
struct Pages {
  explicit Pages(std::size_t bytes, int protection = PROT_READ | PROT_WRITE)
      : size(bytes),
        address(static_cast<std::byte*>(
            mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {}
  ~Pages() { munmap(address, size); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  std::size_t size;
  std::byte* address;
};

class MemoryTest : public RnicTest {
 protected:
  Registration of(const Pages& pages, std::uint32_t access = IBV_ACCESS_LOCAL_WRITE) {
    return {pages.address, pages.size, reinterpret_cast<std::uintptr_t>(pages.address), access};
  }
  int attempt(const Registration& wanted) {
    auto made = MemoryRegion::create(*pd, wanted);
    const int error = error_of(made);
    if (error == 0) {
      EXPECT_TRUE((*made)->destroy());
    }
    return error;
  }
  ReasonId remote_reason(MemoryKey key, std::uint64_t address, std::uint64_t length, std::uint32_t access) {
    const auto got = KeyTable::process().remote(pd.get(), key, address, length, access);
    return got ? ReasonId::none : got.error().id;
  }
};

TEST_F(MemoryTest, AccessFlags) {
  Pages pages(kPage);
  const auto with = [&](std::uint32_t access) { return attempt(of(pages, access)); };
  EXPECT_EQ(with(0), 0);
  EXPECT_EQ(with(IBV_ACCESS_REMOTE_READ), 0);
  EXPECT_EQ(with(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC), 0);
  EXPECT_EQ(with(IBV_ACCESS_RELAXED_ORDERING | IBV_ACCESS_HUGETLB | IBV_ACCESS_MW_BIND | 1U << 29), 0);
  EXPECT_TRUE(explanations().empty());
  for (const std::uint32_t bad : {std::uint32_t{IBV_ACCESS_REMOTE_WRITE},
                                  std::uint32_t{IBV_ACCESS_REMOTE_ATOMIC}, 1U << 19, 1U << 30}) {
    EXPECT_EQ(with(bad), EINVAL) << bad;
    EXPECT_EQ(only_reason(), ReasonId::bad_access_flags);
  }
}

TEST_F(MemoryTest, MemoryThatIsNotThere) {
  for (const std::size_t size : {4 * kPage, std::size_t{64} << 20}) {
    Pages pages(size);
    EXPECT_EQ(attempt(of(pages)), 0);
    munmap(pages.address + size / 2, kPage);
    explanations().clear();
    EXPECT_EQ(attempt(of(pages)), EFAULT);
    EXPECT_EQ(only_reason(), ReasonId::memory_not_mapped);
    EXPECT_EQ(attempt({nullptr, kPage, 0, 0}), EFAULT);
  }
}

TEST_F(MemoryTest, ProtectionCounts) {
  for (const std::size_t size : {4 * kPage, std::size_t{64} << 20}) {
    Pages pages(size);
    mprotect(pages.address + size / 2, kPage, PROT_READ);
    EXPECT_EQ(attempt(of(pages, IBV_ACCESS_LOCAL_WRITE)), EFAULT);
    EXPECT_EQ(attempt(of(pages, IBV_ACCESS_REMOTE_READ)), 0);
    mprotect(pages.address + size / 2, kPage, PROT_NONE);
    EXPECT_EQ(attempt(of(pages, 0)), EFAULT);
  }
}

TEST_F(MemoryTest, Lengths) {
  EXPECT_EQ(attempt({nullptr, 0, 0, IBV_ACCESS_LOCAL_WRITE}), 0);
  Pages pages(kPage);
  explanations().clear();
  EXPECT_EQ(attempt({pages.address, ~std::uint64_t{0}, 0, 0}), EINVAL);
  EXPECT_EQ(only_reason(), ReasonId::bad_length);
  EXPECT_EQ(attempt({pages.address, kPage, ~std::uint64_t{0} - 100, 0}), EINVAL) << "iova wraps";
}

TEST_F(MemoryTest, BigRegionsStayUntouched) {
  Pages pages(std::size_t{1} << 38);  // far more than there is
  if (pages.address == MAP_FAILED) GTEST_SKIP() << "no address space";
  EXPECT_EQ(attempt(of(pages)), 0);
}

TEST_F(MemoryTest, KeysAreCheckedForPeers) {
  Pages pages(2 * kPage);
  const auto start = reinterpret_cast<std::uintptr_t>(pages.address);
  auto mr = make_mr(pages.address, kPage, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  const auto write = IBV_ACCESS_REMOTE_WRITE;
  EXPECT_EQ(KeyTable::process().remote(pd.get(), mr->key(), start + 8, kPage - 8, write)->at,
            pages.address + 8);
  EXPECT_EQ(remote_reason(mr->key(), start + 1, kPage, write), ReasonId::nak_rkey_range);
  EXPECT_EQ(remote_reason(mr->key(), start - 1, 1, write), ReasonId::nak_rkey_range);
  EXPECT_EQ(remote_reason(mr->key(), start, ~std::uint64_t{0}, write), ReasonId::nak_rkey_range);
  EXPECT_EQ(remote_reason(mr->key(), start, 8, IBV_ACCESS_REMOTE_READ), ReasonId::nak_rkey_access);
  EXPECT_EQ(remote_reason(MemoryKey(0xdeadbe), 0, 0, write), ReasonId::none) << "C9-88";
  EXPECT_EQ(remote_reason(MemoryKey(0xdeadbe), start, 1, write), ReasonId::nak_rkey_unknown);
  EXPECT_EQ(remote_reason(MemoryKey(0xffffffff), start, 1, write), ReasonId::nak_rkey_unknown);
  const auto other = KeyTable::process().remote(nullptr, mr->key(), start, 1, write);
  EXPECT_EQ(other.error().id, ReasonId::nak_rkey_other_pd);
  const auto range = KeyTable::process().remote(pd.get(), mr->key(), start + 10, kPage, write);
  EXPECT_EQ(range.error().figures[2], 10U) << "ten bytes too far";
  EXPECT_TRUE(mr->destroy());
  EXPECT_EQ(remote_reason(mr->key(), start, 1, write), ReasonId::nak_rkey_unknown);
}

TEST_F(MemoryTest, KeysAreCheckedForOwnElements) {
  Pages pages(kPage);
  const auto start = reinterpret_cast<std::uintptr_t>(pages.address);
  auto mr = make_mr(pages.address, kPage, IBV_ACCESS_REMOTE_READ);
  const auto reason = [&](const ProtectionDomain* domain, std::uint64_t length, std::uint32_t access) {
    const auto got = KeyTable::process().local(domain, mr->key(), start, length, access);
    return got ? ReasonId::none : got.error().id;
  };
  EXPECT_EQ(reason(pd.get(), kPage, 0), ReasonId::none);
  EXPECT_EQ(reason(pd.get(), kPage + 1, 0), ReasonId::lkey_range);
  EXPECT_EQ(reason(pd.get(), 1, IBV_ACCESS_LOCAL_WRITE), ReasonId::lkey_access);
  EXPECT_EQ(reason(nullptr, 1, 0), ReasonId::lkey_other_pd);
  EXPECT_EQ(reason(nullptr, 0, IBV_ACCESS_LOCAL_WRITE), ReasonId::none) << "zero bytes";
  EXPECT_TRUE(mr->destroy());
  EXPECT_EQ(reason(pd.get(), 1, 0), ReasonId::lkey_unknown);
}

TEST_F(MemoryTest, IovaAndZeroBased) {
  Pages pages(kPage);
  auto mr = std::move(*MemoryRegion::create(*pd, {pages.address, kPage, 0x5000, IBV_ACCESS_LOCAL_WRITE}));
  EXPECT_EQ(KeyTable::process().local(pd.get(), mr->key(), 0x5010, 8, 0)->at, pages.address + 0x10);
  EXPECT_TRUE(mr->destroy());
  mr = std::move(*MemoryRegion::create(*pd, of(pages, IBV_ACCESS_ZERO_BASED)));
  EXPECT_EQ(KeyTable::process().local(pd.get(), mr->key(), 0x10, 8, 0)->at, pages.address + 0x10);
  EXPECT_TRUE(mr->destroy());
}

TEST_F(MemoryTest, KeysAreNotSoonUsedAgain) {
  Pages pages(kPage);
  std::vector<std::uint32_t> seen;
  for (int i = 0; i < 1000; ++i) {
    auto mr = make_mr(pages.address, kPage);
    seen.push_back(mr->key().value);
    EXPECT_NE(mr->key().value, 0U);
    EXPECT_TRUE(mr->destroy());
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

TEST_F(MemoryTest, DeregistrationWaitsForTheLanes) {
  Pages pages(kPage);
  auto mr = make_mr(pages.address, kPage);
  const int before = lanes.lane.quiesce_calls;
  EXPECT_TRUE(mr->destroy());
  EXPECT_EQ(lanes.lane.quiesce_calls, before + 1);
}

TEST_F(MemoryTest, Reregistration) {
  Pages a(kPage);
  Pages b(2 * kPage);
  auto other = std::move(*ProtectionDomain::create(context));
  auto mr = make_mr(a.address, kPage);
  const MemoryKey key = mr->key();
  EXPECT_TRUE(mr->reregister(IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, of(b)));
  EXPECT_EQ(mr->key(), key);
  EXPECT_EQ(mr->entry().base, b.address);
  EXPECT_EQ(mr->entry().length, 2 * kPage);
  EXPECT_TRUE(mr->reregister(IBV_REREG_MR_CHANGE_ACCESS | IBV_REREG_MR_CHANGE_PD, other.get(),
                             {nullptr, 0, 0, IBV_ACCESS_REMOTE_READ}));
  EXPECT_EQ(mr->entry().access, std::uint32_t{IBV_ACCESS_REMOTE_READ});
  EXPECT_EQ(mr->entry().base, b.address);
  EXPECT_EQ(&mr->pd(), other.get());
  EXPECT_EQ(pd->uses.users(), 0U);
  EXPECT_EQ(error_of(other->destroy()), EBUSY);
  explanations().clear();
  EXPECT_EQ(
      error_of(mr->reregister(IBV_REREG_MR_CHANGE_ACCESS, nullptr, {nullptr, 0, 0, IBV_ACCESS_REMOTE_WRITE})),
      EINVAL);
  EXPECT_EQ(only_reason(), ReasonId::bad_access_flags);
  EXPECT_EQ(error_of(mr->reregister(0, nullptr, {})), EINVAL);
  EXPECT_EQ(error_of(mr->reregister(8, nullptr, {})), EINVAL);
  EXPECT_EQ(error_of(mr->reregister(IBV_REREG_MR_CHANGE_PD, nullptr, {})), EINVAL);
  EXPECT_EQ(error_of(mr->reregister(IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, {nullptr, kPage, 0, 0})),
            EFAULT);
  EXPECT_EQ(KeyTable::process().find(key)->base, b.address) << "failure keeps the old region";
  EXPECT_TRUE(mr->destroy());
  EXPECT_TRUE(other->destroy());
}

}  // namespace
}  // namespace softrnic::rnic::test
