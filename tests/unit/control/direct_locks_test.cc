// Locks between processes, and the memory that they lie in.
#include "control/direct_locks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "control/shared_memory.h"

namespace softrnic::control {
namespace {

TEST(DirectLocks, TheLockOfTheDeadIsFree) {
  const UniqueFd fd = DirectLocks::make();
  ASSERT_TRUE(fd);
  const DirectLocks ours(fd);
  ASSERT_TRUE(ours);
  const pid_t child = fork();
  if (child == 0) {
    const DirectLocks theirs(fd);  // ours are not there in a child
    theirs.of(0x1008).lock();
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(ours.of(0x1008).lock());
  EXPECT_FALSE(ours.of(0x1008).try_lock());
  ours.of(0x1008).unlock();
  EXPECT_TRUE(ours.of(0x1008).try_lock());
  ours.of(0x1008).unlock();
}

TEST(DirectLocks, ALockOfAStoppedProcessIsWaitedForBriefly) {
  const UniqueFd fd = DirectLocks::make();
  const DirectLocks ours(fd);
  ASSERT_TRUE(ours);
  const pid_t child = fork();
  if (child == 0) {
    const DirectLocks theirs(fd);
    theirs.of(0x1008).lock();
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  EXPECT_FALSE(ours.of(0x1008).try_lock_for(std::chrono::milliseconds(1)));
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(ours.of(0x1008).try_lock_for(std::chrono::milliseconds(1)));
  ours.of(0x1008).unlock();
}

TEST(DirectLocks, AWordHasOneLockWhereverItIsMapped) {
  const UniqueFd fd = DirectLocks::make();
  const DirectLocks locks(fd);
  ASSERT_TRUE(locks);
  EXPECT_EQ(&locks.of(0x7f00'0000'1018), &locks.of(0x5500'1234'5018));
  EXPECT_NE(&locks.of(0x1018), &locks.of(0x1020));
}

TEST(SharedMemory, OnlyWhatCannotShrinkIsMapped) {
  const UniqueFd good = make_shared_memory("test", 8192);
  ASSERT_TRUE(good);
  EXPECT_NE(ftruncate(good.get(), 0), 0);
  EXPECT_EQ(map_shared_memory(good.get(), 8193), nullptr);
  void* const place = map_shared_memory(good.get(), 8192);
  ASSERT_NE(place, nullptr);
  munmap(place, 8192);
  const UniqueFd unsealed(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(unsealed.get(), 8192), 0);
  EXPECT_EQ(map_shared_memory(unsealed.get(), 8192), nullptr);
  const UniqueFd no_memfd(open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_FALSE(is_shared_memory(no_memfd.get(), 0));
}

}  // namespace
}  // namespace softrnic::control
