#include "samehost/foreign_descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <functional>
#include <iterator>

namespace softrnic::samehost {
namespace {

/// A process that has a memfd with a word in it, and waits.
class Owner {
 public:
  explicit Owner(bool dumpable = true) {
    int told[2];
    EXPECT_EQ(pipe(told), 0);
    pid_ = fork();
    if (pid_ == 0) {
      const int fd = memfd_create("test", MFD_CLOEXEC);
      if (write(fd, "word", 4) != 4) _exit(1);
      name = name_of(fd);
      prctl(PR_SET_DUMPABLE, dumpable ? 1 : 0);
      if (write(told[1], &name, sizeof name) != sizeof name) _exit(1);
      for (;;) pause();
    }
    EXPECT_EQ(read(told[0], &name, sizeof name), static_cast<ssize_t>(sizeof name));
    close(told[0]);
    close(told[1]);
  }
  ~Owner() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  pid_t pid() const { return pid_; }
  DescriptorName name;

 private:
  pid_t pid_;
};

bool holds_word(const UniqueFd& fd) {
  char word[5] = {};
  return pread(fd.get(), word, 4, 0) == 4 && std::string_view(word) == "word" &&
         pwrite(fd.get(), "word", 4, 0) == 4;
}

int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// What containers forbid.
bool forbid_pidfd_getfd() {
  constexpr auto kNumber = static_cast<std::uint32_t>(offsetof(seccomp_data, nr));
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_getfd, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{std::size(filter), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

constexpr uid_t kNobody = 65534;
bool become_nobody() {
  if (setresgid(kNobody, kNobody, kNobody) != 0 || setresuid(kNobody, kNobody, kNobody) != 0) return false;
  return prctl(PR_SET_DUMPABLE, 1) == 0;
}

TEST(ForeignDescriptor, IsTakenFromAProcessThatThisOneMayAttachTo) {
  const Owner owner;
  const auto taken = take_descriptor(owner.pid(), owner.name);
  ASSERT_TRUE(taken);
  EXPECT_TRUE(taken->attached);
  EXPECT_TRUE(holds_word(taken->fd));
  EXPECT_NE(fcntl(taken->fd.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(ForeignDescriptor, IsOpenedAnewWhereAFilterForbidsToTakeIt) {
  const Owner owner;
  EXPECT_EQ(in_child([&] {
              if (!forbid_pidfd_getfd()) return 1;
              const auto taken = take_descriptor(owner.pid(), owner.name);
              return taken && !taken->attached && holds_word(taken->fd) ? 0 : 2;
            }),
            0);
}

TEST(ForeignDescriptor, OfThisProcessIsADuplicate) {
  const UniqueFd own(memfd_create("test", MFD_CLOEXEC));
  const auto taken = take_descriptor(getpid(), name_of(own.get()));
  ASSERT_TRUE(taken);
  EXPECT_NE(taken->fd.get(), own.get());
}

// A number that was given to another file, or to another process, leads nowhere.
TEST(ForeignDescriptor, IsTheOneThatWasNamedOrNone) {
  const Owner owner, successor;
  DescriptorName other = owner.name;
  ++other.inode;
  EXPECT_EQ(take_descriptor(owner.pid(), other).error(), EBADF);
  EXPECT_EQ(take_descriptor(successor.pid(), owner.name).error(), EBADF);
  EXPECT_EQ(take_descriptor(owner.pid(), DescriptorName{}).error(), EBADF);
  EXPECT_FALSE(take_descriptor(0, owner.name));
  EXPECT_FALSE(take_descriptor(-1, owner.name));
}

TEST(ForeignDescriptor, IsNotTakenFromAProcessThatIsNotDumpable) {
  const int result = in_child([] {
    if (!become_nobody()) return 99;
    const Owner owner(false);
    const auto taken = take_descriptor(owner.pid(), owner.name);
    return !taken && (taken.error() == EPERM || taken.error() == EACCES) ? 0 : 1;
  });
  if (result == 99) GTEST_SKIP() << "needs root";
  EXPECT_EQ(result, 0);
}

TEST(ForeignDescriptor, IsNotTakenByAnotherUser) {
  const Owner owner;
  const int result = in_child([&] {
    if (geteuid() == kNobody || !become_nobody()) return 99;
    return take_descriptor(owner.pid(), owner.name) ? 1 : 0;
  });
  if (result == 99) GTEST_SKIP() << "needs root";
  EXPECT_EQ(result, 0);
}

}  // namespace
}  // namespace softrnic::samehost
