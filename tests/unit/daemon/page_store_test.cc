#include "daemon/page_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

namespace softrnic::daemon {
namespace {

const Credentials kAnybody = Credentials::own();

UniqueFd page(off_t size, bool sealed = true) {
  UniqueFd fd(memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(ftruncate(fd.get(), size), 0);
  if (sealed) {
    EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  }
  return fd;
}

TEST(PageStore, HandsOutReadOnly) {
  PageStore store;
  ASSERT_EQ(store.add(page(4096), 5, "a", kAnybody), 1U);
  std::uint64_t number = 0;
  const PageStore::Page* held = store.next(0, kAnybody, number);
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(number, 1U);
  EXPECT_EQ(fcntl(held->fd.get(), F_GETFL) & O_ACCMODE, O_RDONLY);
  EXPECT_EQ(store.next(1, kAnybody, number), nullptr);
}

TEST(PageStore, ShowsAPageToThoseWhoMayAttachToItsProcess) {
  PageStore store;
  EXPECT_EQ(store.add(page(4096), 5, "hidden", Credentials()), 1U);
  EXPECT_EQ(store.add(page(4096), 6, "a", kAnybody), 2U);
  std::uint64_t number = 0;
  EXPECT_EQ(store.next(0, Credentials(), number), nullptr);
  ASSERT_NE(store.next(0, kAnybody, number), nullptr);
  EXPECT_EQ(number, 2U);
}

TEST(PageStore, RefusesWhatCouldShrinkOrIsNoMemfd) {
  PageStore store;
  EXPECT_EQ(store.add(page(4096, false), 5, "a", kAnybody), 0U);
  EXPECT_EQ(store.add(page(0), 5, "a", kAnybody), 0U);
  EXPECT_EQ(store.add(page(off_t{1} << 30), 5, "a", kAnybody), 0U);
  EXPECT_EQ(store.add(UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC)), 5, "a", kAnybody), 0U);
}

TEST(PageStore, ForgetsTheOldestDead) {
  PageStore store;
  const std::uint64_t living = store.add(page(4096), 1, "alive", kAnybody);
  for (std::size_t i = 0; i < PageStore::kMostDead + 3; ++i)
    store.ended(store.add(page(4096), 2, "dead", kAnybody), 1);
  EXPECT_EQ(store.dead(), PageStore::kMostDead);
  std::uint64_t number = 0;
  ASSERT_NE(store.next(0, kAnybody, number), nullptr);
  EXPECT_EQ(number, living);
  ASSERT_NE(store.next(living, kAnybody, number), nullptr);
  EXPECT_EQ(number, living + 4);
  store.ended(number, 1);
  EXPECT_EQ(store.dead(), PageStore::kMostDead) << "ended twice counts once";
}

}  // namespace
}  // namespace softrnic::daemon
