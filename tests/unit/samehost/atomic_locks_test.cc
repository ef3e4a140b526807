// Locks between processes, and the memory that they lie in.
#include "samehost/atomic_locks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "base/thread_number.h"
#include "control/shared_memory.h"

namespace softrnic::samehost {
namespace {

constexpr std::chrono::milliseconds kLockPatience{1};
constexpr std::uint64_t kWord = 0x1008;

/// Runs `body` in a child, which has its own mapping: ours is not there in a child.
template <typename Body>
pid_t start(const UniqueFd& table, Body body) {
  const pid_t child = fork();
  if (child != 0) return child;
  forget_thread_number();
  body(DirectLocks(table).of(kWord));
  _exit(0);
}

class DirectLocksTest : public testing::Test {
 protected:
  bool take(std::uint8_t lane) { return ours.of(kWord).try_lock_for(lane, kLockPatience); }

  const UniqueFd fd = DirectLocks::make();
  const DirectLocks ours{fd};
};

TEST_F(DirectLocksTest, OneHolderAtATime) {
  ASSERT_TRUE(take(3));
  EXPECT_EQ(ours.of(kWord).holder(), gettid());
  EXPECT_FALSE(take(4));
  ours.of(kWord).unlock(3);
  EXPECT_EQ(ours.of(kWord).holder(), 0);
  EXPECT_TRUE(take(4));
  ours.of(kWord).unlock(4);
}

TEST_F(DirectLocksTest, TheLockOfTheDeadIsFree) {
  const pid_t child = start(fd, [](DirectLock& lock) {
    lock.try_lock_for(4, {});
    kill(getpid(), SIGKILL);
  });
  siginfo_t status{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &status, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(take(3)) << "of one that nobody has buried yet";
  ours.of(kWord).unlock(3);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(take(3));
  ours.of(kWord).unlock(3);
}

TEST_F(DirectLocksTest, ALockOfAStoppedProcessIsWaitedForBriefly) {
  const pid_t child = start(fd, [](DirectLock& lock) {
    lock.try_lock_for(4, {});
    raise(SIGSTOP);
  });
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  EXPECT_FALSE(take(3));
  EXPECT_EQ(ours.of(kWord).holder(), child);
  ours.release(5);
  EXPECT_FALSE(take(3));
  ours.release(4);
  EXPECT_TRUE(take(3)) << "what the daemon does for a lane that was given back";
  ours.of(kWord).unlock(3);
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, &status, 0), child);
}

// Whatever somebody writes there: whoever waits comes to an end, and what names no living thread holds
// nothing.
TEST_F(DirectLocksTest, GarbageHoldsNobodyUp) {
  void* const table = control::map_shared_memory(fd.get(), kDirectLocks * sizeof(DirectLock));
  ASSERT_NE(table, nullptr);
  auto& word = *reinterpret_cast<std::atomic<std::uint32_t>*>(static_cast<std::byte*>(table) +
                                                              kWord / 8 % kDirectLocks * sizeof(DirectLock));
  for (const std::uint32_t garbage : {1U, 0xffU, 0x8000'0000U, 0xffff'ffffU, 0xdead'beefU}) {
    word = garbage;
    EXPECT_TRUE(take(3)) << garbage;
    word = garbage;
    ours.of(kWord).unlock(3);
    EXPECT_EQ(word, garbage) << "not held any more";
  }
  std::atomic<bool> end{false};
  std::thread writer([&] {
    for (std::uint32_t i = 1; !end; ++i) word = i * 2654435761U | 1;
  });
  for (int i = 0; i < 20; ++i)
    if (take(3)) ours.of(kWord).unlock(3);
  end = true;
  writer.join();
  munmap(table, kDirectLocks * sizeof(DirectLock));
}

TEST(DirectLocks, AWordHasOneLockWhereverItIsMapped) {
  const UniqueFd fd = DirectLocks::make();
  const DirectLocks locks(fd);
  ASSERT_TRUE(locks);
  EXPECT_EQ(&locks.of(0x7f00'0000'1018), &locks.of(0x5500'1234'5018));
  EXPECT_NE(&locks.of(0x1018), &locks.of(0x1020));
}

TEST(SharedMemory, OthersCannotSealIt) {
  const UniqueFd fd = control::make_shared_memory("test", 8192);
  EXPECT_NE(fcntl(fd.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
  EXPECT_NE(fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE), 0);
}

TEST(SharedMemory, ItsOwnerAloneWrites) {
  const control::OwnedMemory memory = control::make_owned_memory("test", 8192);
  ASSERT_NE(memory.place, nullptr);
  const int fd = memory.fd.get();
  static_cast<char*>(memory.place)[4096] = 'x';
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const UniqueFd again(open(link.c_str(), O_RDWR | O_CLOEXEC));
  for (const int other : {fd, again.get()}) {
    EXPECT_EQ(control::map_shared_memory(other, 8192), nullptr);
    EXPECT_NE(pwrite(other, "y", 1, 4096), 1);
    EXPECT_NE(fallocate(other, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 4096), 0);
  }
  auto* const seen = static_cast<const char*>(control::map_to_read(fd, 8192));
  ASSERT_NE(seen, nullptr);
  EXPECT_NE(mprotect(const_cast<char*>(seen), 8192, PROT_READ | PROT_WRITE), 0);
  EXPECT_EQ(seen[4096], 'x');
  static_cast<char*>(memory.place)[4096] = 'z';
  EXPECT_EQ(seen[4096], 'z');
  munmap(const_cast<char*>(seen), 8192);
  munmap(memory.place, 8192);
}

// There may be no huge page for what was never touched: SIGBUS.
TEST(SharedMemory, HugePagesAreNot) {
  constexpr std::size_t kHuge = 2 << 20;
  const UniqueFd huge(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB));
  if (!huge) GTEST_SKIP() << "the kernel has none";
  ASSERT_EQ(ftruncate(huge.get(), kHuge), 0);
  ASSERT_EQ(fcntl(huge.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_FALSE(control::is_shared_memory(huge.get(), 1));
}

TEST(SharedMemory, OnlyWhatCannotShrinkIsMapped) {
  const UniqueFd good = control::make_shared_memory("test", 8192);
  ASSERT_TRUE(good);
  EXPECT_NE(ftruncate(good.get(), 0), 0);
  EXPECT_EQ(control::map_shared_memory(good.get(), 8193), nullptr);
  void* const place = control::map_shared_memory(good.get(), 8192);
  ASSERT_NE(place, nullptr);
  munmap(place, 8192);
  const UniqueFd unsealed(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(unsealed.get(), 8192), 0);
  EXPECT_EQ(control::map_shared_memory(unsealed.get(), 8192), nullptr);
  const UniqueFd no_memfd(open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_FALSE(control::is_shared_memory(no_memfd.get(), 0));
}

TEST(SharedMemory, NobodyTakesItFromItsOwnerByASeal) {
  const UniqueFd shared = control::make_shared_memory("test", 8192);
  EXPECT_NE(fcntl(shared.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
  void* const place = control::map_shared_memory(shared.get(), 8192);
  ASSERT_NE(place, nullptr);
  munmap(place, 8192);
}

// A descriptor for reading alone protects nothing: who has it opens it anew.
TEST(SharedMemory, WhatIsShownIsWrittenByItsOwnerAlone) {
  const control::OwnedMemory shown = control::make_owned_memory("test", 8192);
  ASSERT_NE(shown.place, nullptr);
  static_cast<char*>(shown.place)[5] = 'x';
  const UniqueFd again(open(("/proc/self/fd/" + std::to_string(shown.fd.get())).c_str(), O_RDWR | O_CLOEXEC));
  for (const UniqueFd* fd : {&shown.fd, &again}) {
    EXPECT_EQ(control::map_shared_memory(fd->get(), 8192), nullptr);
    EXPECT_NE(pwrite(fd->get(), "y", 1, 5), 1);
    EXPECT_NE(ftruncate(fd->get(), 0), 0);
    char read = 0;
    EXPECT_EQ(pread(fd->get(), &read, 1, 5), 1);
    EXPECT_EQ(read, 'x');
  }
  munmap(shown.place, 8192);
}

}  // namespace
}  // namespace softrnic::samehost
