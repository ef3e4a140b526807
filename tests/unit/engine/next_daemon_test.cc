// The search for the daemon after one that has died: it ends, and it is never a storm.
#include "engine/next_daemon.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace softrnic::engine::test {
namespace {

using Milliseconds = NextDaemon::Milliseconds;

TEST(NextDaemon, TheFirstAttemptIsAtOnceAndLaterOnesAreEverRarer) {
  EXPECT_EQ(NextDaemon::pause_before(0), Milliseconds(0));
  EXPECT_EQ(NextDaemon::pause_before(1), NextDaemon::kFirstPause);
  for (unsigned i = 1; i < 100; ++i) {
    EXPECT_GE(NextDaemon::pause_before(i), NextDaemon::pause_before(i - 1));
    EXPECT_LE(NextDaemon::pause_before(i), NextDaemon::kLongestPause);
  }
}

/// A daemon that ends at once, each time that it is started, and leaves a byte behind. std::filesystem frees
/// by another operator delete than that of memory_test.cc.
class VainDaemon {
 public:
  VainDaemon() {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    std::ofstream(path()) << "#!/bin/sh\nprintf x >> " << traces() << "\n";
    EXPECT_EQ(chmod(path().c_str(), S_IRWXU), 0);
  }
  ~VainDaemon() {
    for (const std::string& file : {path(), traces()}) unlink(file.c_str());
    rmdir(folder_.c_str());
  }
  VainDaemon(const VainDaemon&) = delete;
  VainDaemon& operator=(const VainDaemon&) = delete;

  std::string path() const { return folder_ + "/softrnicd"; }
  unsigned starts() const {
    struct stat made {};
    return stat(traces().c_str(), &made) == 0 ? static_cast<unsigned>(made.st_size) : 0;
  }

 private:
  std::string traces() const { return folder_ + "/starts"; }

  std::string folder_ = testing::TempDir() + "softrnic-next-XXXXXX";
};

/// In a network namespace without any daemon. 0: none was found.
int search(const VainDaemon& daemon, bool stopped) {
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return 77;
  LaneHandover lanes;
  const UniqueFd stop(eventfd(stopped ? 1 : 0, EFD_CLOEXEC));
  const control::DaemonCommand command{.path = daemon.path(), .environment = {}};
  NextDaemon next(command, control::DaemonKind::of_user, lanes, stop.get(), Milliseconds(1));
  return next.find() != nullptr ? 1 : 0;
}

/// How often a daemon was started; -1: there are no namespaces here.
int starts_of_a_search(bool stopped) {
  const VainDaemon daemon;
  const pid_t child = fork();
  if (child == 0) _exit(search(daemon, stopped));
  int status = -1;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) return -1;
  EXPECT_EQ(status, 0);
  return static_cast<int>(daemon.starts());
}

TEST(NextDaemon, AProcessThatClosesDoesNotWaitForIt) {
  const int starts = starts_of_a_search(true);
  if (starts < 0) GTEST_SKIP() << "no namespaces here";
  EXPECT_EQ(starts, 0);
}

TEST(NextDaemon, ItIsGivenUpAfterAllAttempts) {
  const int starts = starts_of_a_search(false);
  if (starts < 0) GTEST_SKIP() << "no namespaces here";
  EXPECT_EQ(starts, int{NextDaemon::kAttempts});
}

}  // namespace
}  // namespace softrnic::engine::test
