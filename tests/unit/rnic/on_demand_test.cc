// Regions with on-demand paging, and what ibv_advise_mr says of them.
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "base/reason_id.h"
#include "base/unique_fd.h"
#include "rnic/advise_region.h"
#include "rnic/on_demand_memory.h"
#include "tests/unit/rnic/fixture.h"

namespace softrnic::rnic::test {
namespace {

constexpr std::uint32_t kOnDemand = IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE;

std::byte* map_pages(std::size_t count, std::byte* at = nullptr, int protection = PROT_READ | PROT_WRITE) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (at != nullptr ? MAP_FIXED : 0);
  void* const place = mmap(at, count * kPage, protection, flags, -1, 0);
  EXPECT_NE(place, MAP_FAILED);
  return static_cast<std::byte*>(place);
}

class OnDemandTest : public RnicTest {
 protected:
  void SetUp() override {
    RnicTest::SetUp();
    if (!OnDemandMemory::supported()) GTEST_SKIP() << "process_vm_readv is not allowed";
    pages_ = map_pages(4);
  }
  void TearDown() override {
    if (region_ != nullptr) {
      EXPECT_TRUE(region_->destroy());
    }
    if (pages_ != nullptr) munmap(pages_, 4 * kPage);
    RnicTest::TearDown();
  }

  void register_all(std::uint32_t access = kOnDemand) {
    auto made =
        MemoryRegion::create(*pd, {pages_, 4 * kPage, reinterpret_cast<std::uintptr_t>(pages_), access});
    ASSERT_TRUE(made);
    region_ = std::move(*made);
  }
  int advise_pages(std::size_t first, std::size_t count, ibv_advise_mr_advice advice,
                   std::uint32_t flags = IBV_ADVISE_MR_FLAG_FLUSH) {
    const ibv_sge range{reinterpret_cast<std::uintptr_t>(pages_ + first * kPage),
                        static_cast<std::uint32_t>(count * kPage), region_->key().value};
    return error_of(advise(*pd, advice, flags, {&range, 1}));
  }
  bool present(std::size_t page) const {
    unsigned char in_core = 0;
    EXPECT_EQ(mincore(pages_ + page * kPage, kPage, &in_core), 0);
    return (in_core & 1) != 0;
  }

  std::byte* pages_ = nullptr;
  std::unique_ptr<MemoryRegion> region_;
};

/// Where the kernel's clock data is mapped: pages that are of no memory, as those of a device (VM_PFNMAP).
std::byte* clock_data() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("[vvar]") != std::string::npos)
      return reinterpret_cast<std::byte*>(std::strtoull(line.c_str(), nullptr, 16));
  }
  return nullptr;
}

TEST_F(OnDemandTest, CopiesFromPagesThatCannotBePinned) {
  const std::byte* const data = clock_data();
  if (data == nullptr) GTEST_SKIP() << "no [vvar] here";
  std::array<std::byte, 64> copy{};
  EXPECT_TRUE(OnDemandMemory::read(copy.data(), data, copy.size()));
}

/// The control page of an event of perf_event_open(2), of that kind too since Linux 6.14; a program may write
/// one word of it.
class EventPage {
 public:
  EventPage() {
    perf_event_attr wanted{};
    wanted.type = PERF_TYPE_SOFTWARE;
    wanted.size = sizeof wanted;
    wanted.config = PERF_COUNT_SW_DUMMY;
    wanted.exclude_kernel = 1;
    const UniqueFd event(static_cast<int>(syscall(SYS_perf_event_open, &wanted, 0, -1, -1, 0)));
    if (event) page_ = mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, event.get(), 0);
  }
  ~EventPage() {
    if (page_ != MAP_FAILED) munmap(page_, 2 * kPage);
  }
  EventPage(const EventPage&) = delete;
  EventPage& operator=(const EventPage&) = delete;
  std::byte* word() const {
    return page_ == MAP_FAILED ? nullptr
                               : static_cast<std::byte*>(page_) + offsetof(perf_event_mmap_page, data_tail);
  }

 private:
  void* page_ = MAP_FAILED;
};

TEST_F(OnDemandTest, CopiesToPagesThatCannotBePinned) {
  const EventPage page;
  std::byte* const word = page.word();
  if (word == nullptr) GTEST_SKIP() << "perf_event_open is not allowed";
  const std::array<std::byte, 8> from{std::byte{8}, std::byte{1}};
  std::array<std::byte, 8> back{};
  EXPECT_TRUE(OnDemandMemory::write(word, from.data(), from.size()));
  EXPECT_TRUE(OnDemandMemory::read(back.data(), word, back.size()));
  EXPECT_EQ(back, from);
}

TEST_F(OnDemandTest, CopiesWhatIsThereAndSaysWhatIsNot) {
  std::array<std::byte, 16> word{};
  pages_[kPage - 8] = std::byte{7};
  EXPECT_TRUE(OnDemandMemory::read(word.data(), pages_ + kPage - 8, word.size()));
  EXPECT_EQ(word[0], std::byte{7});
  munmap(pages_ + kPage, kPage);
  EXPECT_FALSE(OnDemandMemory::read(word.data(), pages_ + kPage - 8, word.size())) << "half of it is gone";
  EXPECT_FALSE(OnDemandMemory::write(pages_ + kPage, word.data(), word.size()));
  map_pages(1, pages_ + kPage, PROT_READ);
  EXPECT_TRUE(OnDemandMemory::read(word.data(), pages_ + kPage, word.size()));
  EXPECT_FALSE(OnDemandMemory::write(pages_ + kPage, word.data(), word.size())) << "it may not be written";
  map_pages(1, pages_ + kPage);
  EXPECT_TRUE(OnDemandMemory::write(pages_ + kPage, word.data(), word.size()));
}

TEST_F(OnDemandTest, Atomics) {
  auto* const word = reinterpret_cast<std::uint64_t*>(pages_);
  *word = 40;
  EXPECT_EQ(OnDemandMemory::execute(pages_, {.operand = 2}), 40U);
  EXPECT_EQ(
      OnDemandMemory::execute(pages_, {.kind = ib::AtomicKind::compare_swap, .operand = 9, .compare = 42}),
      42U);
  EXPECT_EQ(
      OnDemandMemory::execute(pages_, {.kind = ib::AtomicKind::compare_swap, .operand = 1, .compare = 42}),
      9U);
  EXPECT_EQ(*word, 9U);
  mprotect(pages_, kPage, PROT_READ);
  EXPECT_EQ(OnDemandMemory::execute(pages_, {.operand = 2}), std::nullopt);
  mprotect(pages_, kPage, PROT_NONE);
  EXPECT_EQ(OnDemandMemory::execute(pages_, {.operand = 2}), std::nullopt);
}

// What is registered need not be there yet; every key access says that it may not be.
TEST_F(OnDemandTest, RegistersWhatIsNotMapped) {
  munmap(pages_ + kPage, kPage);
  register_all();
  const auto at = reinterpret_cast<std::uintptr_t>(pages_);
  const auto memory = KeyTable::process().local(pd.get(), region_->key(), at + 8, 2 * kPage, 0);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->at, pages_ + 8);
  EXPECT_TRUE(memory->on_demand);
  EXPECT_FALSE(KeyTable::process().local(pd.get(), region_->key(), at + 8, 4 * kPage, 0)) << "beyond its end";
}

TEST_F(OnDemandTest, AllOfTheAddressSpace) {
  auto made = MemoryRegion::create(*pd, {nullptr, SIZE_MAX, 0, kOnDemand | IBV_ACCESS_REMOTE_READ});
  ASSERT_TRUE(made);
  region_ = std::move(*made);
  const auto at = reinterpret_cast<std::uintptr_t>(pages_);
  const auto memory =
      KeyTable::process().remote(pd.get(), region_->key(), at, 4 * kPage, IBV_ACCESS_REMOTE_READ);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->at, pages_);
  EXPECT_TRUE(memory->on_demand);
  // Without on-demand paging there is no such region.
  EXPECT_EQ(error_of(MemoryRegion::create(*pd, {nullptr, SIZE_MAX, 0, IBV_ACCESS_LOCAL_WRITE})), EINVAL);
}

TEST_F(OnDemandTest, PrefetchBringsPagesIn) {
  register_all();
  EXPECT_FALSE(present(0));
  EXPECT_EQ(advise_pages(0, 2, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT), 0);
  EXPECT_FALSE(present(0));
  EXPECT_EQ(advise_pages(0, 2, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE), 0);
  EXPECT_TRUE(present(0) && present(1));
  EXPECT_FALSE(present(2));
}

TEST_F(OnDemandTest, PrefetchOfWhatIsNotThere) {
  register_all();
  munmap(pages_ + kPage, kPage);
  EXPECT_EQ(advise_pages(0, 2, IBV_ADVISE_MR_ADVICE_PREFETCH), EFAULT);
  EXPECT_EQ(only_reason(), ReasonId::page_missing);
  EXPECT_EQ(advise_pages(0, 2, IBV_ADVISE_MR_ADVICE_PREFETCH, 0), 0) << "nobody waits for the result";
  EXPECT_EQ(advise_pages(0, 2, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT), 0);
  EXPECT_EQ(advise_pages(3, 2, IBV_ADVISE_MR_ADVICE_PREFETCH), EFAULT);
  EXPECT_EQ(only_reason(), ReasonId::lkey_range);
  map_pages(1, pages_ + kPage);
}

TEST_F(OnDemandTest, AdviceThatCannotBeTaken) {
  register_all(IBV_ACCESS_ON_DEMAND);
  EXPECT_EQ(advise_pages(0, 1, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE), EFAULT);
  EXPECT_EQ(only_reason(), ReasonId::lkey_access);
  EXPECT_EQ(advise_pages(0, 1, IBV_ADVISE_MR_ADVICE_PREFETCH, 2), EINVAL);
  EXPECT_EQ(only_reason(), ReasonId::bad_mr_advice);
  EXPECT_EQ(error_of(advise(*pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, {})), EINVAL) << "no range";
  EXPECT_EQ(only_reason(), ReasonId::bad_mr_advice);
  EXPECT_EQ(advise_pages(0, 1, static_cast<ibv_advise_mr_advice>(3)), EOPNOTSUPP);
  EXPECT_EQ(only_reason(), ReasonId::bad_mr_advice);
  EXPECT_TRUE(region_->destroy());
  region_.reset();
  register_all(IBV_ACCESS_LOCAL_WRITE);
  EXPECT_EQ(advise_pages(0, 1, IBV_ADVISE_MR_ADVICE_PREFETCH), EFAULT);
  EXPECT_EQ(only_reason(), ReasonId::region_not_on_demand);
}

}  // namespace
}  // namespace softrnic::rnic::test
