// Whatever was opened and closed, and whatever was refused halfway, leaves neither
// descriptor nor thread behind.
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "side.h"
#include "workers.h"

namespace softrnic::robust {
namespace {

/// The test's, and the one that ThreadSanitizer starts along with the first other.
#ifdef __SANITIZE_THREAD__
constexpr std::size_t kOwnThreads = 2;
#else
constexpr std::size_t kOwnThreads = 1;
#endif

struct Held {
  std::size_t descriptors = descriptors_of(getpid());
  std::size_t threads = threads_of(getpid());
};

/// What the process holds once it has no more threads than `threads`: a joined thread may be listed
/// for a moment after pthread_join.
Held held_with_threads(std::size_t threads) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  Held now;
  while (now.threads > threads && std::chrono::steady_clock::now() < deadline) now = Held();
  return now;
}

void expect_no_more_than(const Held& before) {
  const Held now = held_with_threads(before.threads);
  EXPECT_EQ(now.descriptors, before.descriptors);
  EXPECT_EQ(now.threads, before.threads);
}

/// Everything that has a descriptor, a thread or a lane.
void open_use_and_close() {
  Couple couple;
  ASSERT_TRUE(couple.open());
  ibv_comp_channel* const channel = ibv_create_comp_channel(couple.a.context);
  ASSERT_NE(channel, nullptr);
  ibv_cq* const cq = ibv_create_cq(couple.a.context, 16, nullptr, channel, 0);
  ibv_srq_init_attr init{};
  init.attr = {.max_wr = 16, .max_sge = 1, .srq_limit = 0};
  ibv_srq* const srq = ibv_create_srq(couple.a.pd, &init);
  ASSERT_TRUE(cq != nullptr && srq != nullptr);
  ASSERT_EQ(couple.talk(0), 0);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
  EXPECT_TRUE(couple.close());
}

/// The first use leaves descriptors that stay (a connection to the daemon), but no thread.
Held held_after_first_use() {
  open_use_and_close();
  const Held held = held_with_threads(kOwnThreads);
  EXPECT_EQ(held.threads, kOwnThreads);
  return held;
}

TEST(Leaks, TwoHundredCyclesLeaveNoDescriptorAndNoThread) {
  const Held before = held_after_first_use();
  for (unsigned cycle = 0; cycle < 200; ++cycle) ASSERT_NO_FATAL_FAILURE(open_use_and_close()) << cycle;
  expect_no_more_than(before);
}

TEST(Leaks, WhatIsRefusedHalfwayLeavesNothing) {
  const Held before = held_after_first_use();
  rlimit all{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &all), 0);
  unsigned refusals = 0;
  bool opened = false;
  for (rlim_t room = 0; !opened && room < 64; ++room) {
    const rlimit few{before.descriptors + room, all.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    {
      Side side;
      opened = side.open();
      const int error = errno;
      EXPECT_TRUE(side.close());
      ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &all), 0);
      if (!opened) {
        EXPECT_EQ(error, EMFILE) << room;
        ++refusals;
      }
    }
    open_use_and_close();  // a connection to the daemon stays until the next close
    expect_no_more_than(before);
  }
  EXPECT_TRUE(opened);
  EXPECT_GT(refusals, 3U);
}

}  // namespace
}  // namespace softrnic::robust
