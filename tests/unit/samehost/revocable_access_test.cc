// Accesses that the owner of the memory can revoke, also while they are interrupted.
#include "samehost/revocable_access.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <numeric>
#include <vector>

namespace softrnic::samehost {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(i * 7 + seed);
  return out;
}

class RevocableTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!accesses_are_revocable()) GTEST_SKIP() << "no restartable sequences here";
  }
  std::atomic<std::uint64_t> revoked_{0}, visit_{7};
  const Revocation revocation_{&revoked_, &visit_};
};

TEST_F(RevocableTest, CopiesEverySizeToEveryPlace) {
  const auto from = pattern(600, 1);
  for (std::size_t bytes = 0; bytes < 300; ++bytes) {
    for (std::size_t at = 0; at < 9; ++at) {
      auto to = pattern(320, 2);
      auto wanted = to;
      std::memcpy(wanted.data() + at, from.data() + bytes % 5, bytes);
      ASSERT_TRUE(revocable_copy(to.data() + at, from.data() + bytes % 5, bytes, revocation_));
      ASSERT_EQ(to, wanted) << bytes << " bytes to " << at;
    }
  }
}

// Where the string instruction would crawl vectors copy, with another end behind each number of blocks.
TEST_F(RevocableTest, CopiesToEveryPlaceOfAPage) {
  const auto from = pattern(2 * 4096, 1);
  auto to = pattern(3 * 4096, 2);
  const std::size_t same =
      (reinterpret_cast<std::uintptr_t>(from.data()) - reinterpret_cast<std::uintptr_t>(to.data())) % 4096;
  for (const std::size_t behind : {0U, 1U, 7U, 16U, 63U, 64U, 4095U})
    for (const std::size_t bytes : {63U, 64U, 65U, 72U, 127U, 128U, 136U, 4000U, 4099U}) {
      const std::size_t at = (same + behind) % 4096;
      auto wanted = to;
      std::copy_n(from.begin(), bytes, wanted.begin() + static_cast<std::ptrdiff_t>(at));
      ASSERT_TRUE(revocable_copy(&to[at], from.data(), bytes, revocation_));
      ASSERT_EQ(to, wanted) << bytes << " bytes, " << behind << " behind";
      std::fill_n(to.begin() + static_cast<std::ptrdiff_t>(at), bytes, std::byte{0x55});
    }
}

TEST_F(RevocableTest, DoesNothingOnceItIsRevoked) {
  revoked_ = 7;
  const auto from = pattern(100, 1), before = pattern(100, 2);
  auto to = before;
  for (const std::size_t bytes : {1U, 4U, 8U, 99U})
    EXPECT_FALSE(revocable_copy(to.data(), from.data(), bytes, revocation_));
  EXPECT_EQ(to, before);
  std::uint64_t word = 5;
  EXPECT_FALSE(revocable_execute(&word, {.operand = 2}, revocation_));
  EXPECT_FALSE(revocable_execute(&word, {.kind = ib::AtomicKind::compare_swap, .operand = 2, .compare = 5},
                                 revocation_));
  EXPECT_EQ(word, 5U);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(revocable_call(revocation_, SYS_write, ends[1], reinterpret_cast<long>("x"), 1, 0), -1);
  EXPECT_EQ(errno, ECANCELED);
  close(ends[1]);
  char none = 0;
  EXPECT_EQ(read(ends[0], &none, 1), 0);
  close(ends[0]);
}

TEST_F(RevocableTest, ExecutesAtomicsAndCalls) {
  std::uint64_t word = 5;
  EXPECT_EQ(revocable_execute(&word, {.operand = 2}, revocation_), 5U);
  EXPECT_EQ(word, 7U);
  EXPECT_EQ(revocable_execute(&word, {.kind = ib::AtomicKind::compare_swap, .operand = 2, .compare = 5},
                              revocation_),
            7U);
  EXPECT_EQ(word, 7U);
  EXPECT_EQ(revocable_execute(&word, {.kind = ib::AtomicKind::compare_swap, .operand = 2, .compare = 7},
                              revocation_),
            7U);
  EXPECT_EQ(word, 2U);
  EXPECT_EQ(revocable_call(revocation_, SYS_getpid, 0, 0, 0, 0), getpid());
  EXPECT_EQ(revocable_call(revocation_, SYS_close, -1, 0, 0, 0), -1);
  EXPECT_EQ(errno, EBADF);
}

// Each signal makes the kernel begin the sequence anew, with its handler in between.
TEST_F(RevocableTest, GoesOnAfterSignals) {
  static std::atomic<unsigned> signals{0};
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) { ++signals; };
  ASSERT_EQ(sigaction(SIGALRM, &action, &before), 0);
  const itimerval often{{0, 50}, {0, 50}}, never{};
  setitimer(ITIMER_REAL, &often, nullptr);
  const auto limit = Clock::now() + std::chrono::seconds(20);
  bool right = true;
  std::uint64_t word = 0, added = 0;
  for (unsigned round = 0; right && signals < 1000 && Clock::now() < limit; ++round) {
    const auto from = pattern(1 << 20, round);
    std::vector<std::byte> to(from.size());
    right = revocable_copy(to.data(), from.data(), from.size(), revocation_) && to == from;
    for (int i = 0; i < 10'000; ++i)
      right = right && revocable_execute(&word, {.operand = 1}, revocation_) == added++;
  }
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  EXPECT_TRUE(right);
  EXPECT_GE(signals, 1000U);
}

/// A child that copies all the time.
pid_t start_copying() {
  const pid_t child = fork();
  if (child != 0) return child;
  const std::atomic<std::uint64_t> revoked{0}, access{7};
  std::vector<std::byte> from(1 << 20), to(1 << 20);
  while (revocable_copy(to.data(), from.data(), from.size(), {&revoked, &access})) continue;
  _exit(1);
}

TEST_F(RevocableTest, WhoIsStoppedIsKnown) {
  const pid_t child = start_copying();
  int status = 0;
  EXPECT_FALSE(is_stopped(child));
  kill(child, SIGSTOP);
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  const auto limit = Clock::now() + std::chrono::seconds(20);
  while (!is_stopped(child) && Clock::now() < limit)
    continue;  // the parent hears of it before it has left the processor
  EXPECT_TRUE(is_stopped(child));
  kill(child, SIGCONT);
  while (is_stopped(child) && Clock::now() < limit) continue;
  EXPECT_FALSE(is_stopped(child));
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  EXPECT_FALSE(is_stopped(child));
}

// On the way into a system call that reaches memory: the call is still to come.
TEST_F(RevocableTest, WhoIsStoppedOnTheWayIntoACallIsNot) {
  const pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    char byte = 0;
    syscall(SYS_pread64, -1, &byte, 1, 0);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD);
  long number = -1;
  while (number != SYS_pread64) {
    ASSERT_EQ(ptrace(PTRACE_SYSCALL, child, nullptr, nullptr), 0);
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSTOPPED(status));
    __ptrace_syscall_info info{};
    ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info);
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) number = static_cast<long>(info.entry.nr);
  }
  for (int look = 0; look < 100; ++look) EXPECT_FALSE(is_stopped(child));
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
}

}  // namespace
}  // namespace softrnic::samehost
