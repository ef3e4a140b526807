#include "base/quick_mutex.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/support/thread_state.h"

namespace softrnic {
namespace {

TEST(QuickMutex, IsTakenByOneAtATime) {
  QuickMutex mutex;
  EXPECT_TRUE(mutex.try_lock());
  EXPECT_FALSE(mutex.try_lock());
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

// More threads than processors: some wait in the kernel.
TEST(QuickMutex, LosesNoCountAmongManyThreads) {
  constexpr int kThreads = 8, kRounds = 20'000;
  QuickMutex mutex;
  long count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        const std::lock_guard lock(mutex);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, long{kThreads} * kRounds);
}

TEST(QuickMutex, WakesWhoeverSleepsForIt) {
  QuickMutex mutex;
  int turns = 0;
  std::array<std::atomic<pid_t>, 3> ids{};
  mutex.lock();
  std::vector<std::thread> threads;
  for (auto& id : ids) {
    threads.emplace_back([&] {
      id = gettid();
      const std::lock_guard lock(mutex);
      ++turns;
    });
  }
  for (auto& id : ids)
    while (id == 0 || test::state_of(id) != 'S') std::this_thread::yield();
  mutex.unlock();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(turns, 3);
}

}  // namespace
}  // namespace softrnic
