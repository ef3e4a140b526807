// Regions of dma-bufs: what is refused anywhere, and what is reached where the kernel has one to give.
#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/reason_id.h"
#include "rnic/key_table.h"
#include "tests/support/udmabuf.h"
#include "tests/unit/rnic/fixture.h"

namespace softrnic::rnic::test {
namespace {

constexpr std::uint32_t kWrite = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

class DmabufTest : public RnicTest {
 protected:
  /// The reason for which a region is refused, with `error`.
  ReasonId refusal(int error, const DmabufRegistration& wanted) {
    explanations().clear();
    EXPECT_EQ(error_of(MemoryRegion::create_dmabuf(*pd, wanted)), error);
    return only_reason();
  }
};

TEST_F(DmabufTest, WhatIsNoDmabufIsRefused) {
  EXPECT_EQ(refusal(EBADF, {.fd = 1 << 20, .length = kPage}), ReasonId::no_dmabuf);
  const UniqueFd memory(memfd_create("no-dmabuf", MFD_CLOEXEC));
  EXPECT_EQ(refusal(EINVAL, {.fd = memory.get(), .length = kPage}), ReasonId::no_dmabuf);
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_EQ(refusal(EINVAL, {.fd = null.get(), .length = kPage}), ReasonId::no_dmabuf);
}

TEST_F(DmabufTest, WhoAsksWhetherThereIsSupportIsToldNothing) {
  EXPECT_EQ(error_of(MemoryRegion::create_dmabuf(*pd, {.fd = -1, .length = kPage})), EBADF);
  EXPECT_TRUE(explanations().empty());
}

TEST_F(DmabufTest, AccessAndIovaAreCheckedBefore) {
  EXPECT_EQ(refusal(EINVAL, {.offset = 8, .length = 8, .iova = 16}), ReasonId::dmabuf_iova);
  for (const std::uint32_t access : {IBV_ACCESS_MW_BIND, IBV_ACCESS_ZERO_BASED, IBV_ACCESS_ON_DEMAND})
    EXPECT_EQ(refusal(EINVAL, {.length = 8, .access = access}), ReasonId::dmabuf_access);
  EXPECT_EQ(refusal(EINVAL, {.length = 8, .access = IBV_ACCESS_REMOTE_WRITE}), ReasonId::bad_access_flags);
}

/// With one of 4 pages.
class DmabufOfMemory : public DmabufTest {
 protected:
  void SetUp() override {
    DmabufTest::SetUp();
    if (!buffer.why_not().empty()) GTEST_SKIP() << buffer.why_not();
  }
  softrnic::test::Udmabuf buffer{4 * kPage};
};

TEST_F(DmabufOfMemory, ItsPartIsReachedByTheIovaAlsoWhenTheDescriptorIsClosed) {
  constexpr std::uint64_t kIova = 0x1000'0000'0008;
  auto made = MemoryRegion::create_dmabuf(
      *pd, {.fd = buffer.fd(), .offset = kPage + 8, .length = 2 * kPage, .iova = kIova, .access = kWrite});
  ASSERT_TRUE(made);
  MemoryRegion& region = **made;
  buffer.close_fd();
  const auto memory =
      KeyTable::process().remote(&pd->root(), region.key(), kIova + 5, 100, IBV_ACCESS_REMOTE_WRITE);
  ASSERT_TRUE(memory);
  EXPECT_TRUE(memory->on_demand) << "no other process can be let in";
  const char text[] = "by the adapter";
  ASSERT_TRUE(OnDemandMemory::write(memory->at, reinterpret_cast<const std::byte*>(text), sizeof text));
  EXPECT_STREQ(buffer.memory() + kPage + 8 + 5, text);
  char back[sizeof text] = {};
  ASSERT_TRUE(OnDemandMemory::read(reinterpret_cast<std::byte*>(back), memory->at, sizeof text));
  EXPECT_STREQ(back, text);
  EXPECT_FALSE(
      KeyTable::process().remote(&pd->root(), region.key(), kIova + 2 * kPage, 1, IBV_ACCESS_REMOTE_WRITE));
  EXPECT_EQ(error_of(region.reregister(IBV_REREG_MR_CHANGE_ACCESS, nullptr, {})), EINVAL);
  EXPECT_TRUE(region.destroy());
}

TEST_F(DmabufOfMemory, WhatIsOutsideIsRefused) {
  EXPECT_EQ(refusal(EINVAL, {.fd = buffer.fd(), .length = 4 * kPage + 1}), ReasonId::outside_dmabuf);
  EXPECT_EQ(refusal(EINVAL, {.fd = buffer.fd(), .offset = 4 * kPage, .length = 1}), ReasonId::outside_dmabuf);
  EXPECT_EQ(refusal(EINVAL, {.fd = buffer.fd(), .length = SIZE_MAX}), ReasonId::outside_dmabuf);
  EXPECT_EQ(refusal(EINVAL, {.fd = buffer.fd(), .length = 0}), ReasonId::outside_dmabuf);
}

}  // namespace
}  // namespace softrnic::rnic::test
