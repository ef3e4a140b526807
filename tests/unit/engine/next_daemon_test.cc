// The search for the daemon after one that has died: it ends, and it is never a storm.
#include "engine/next_daemon.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

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

/// In a network namespace without any daemon; what cannot be started is tried for 11.3 s.
int search(bool stopped, std::chrono::seconds least, std::chrono::seconds most) {
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return 77;
  LaneHandover lanes;
  const UniqueFd stop(eventfd(stopped ? 1 : 0, EFD_CLOEXEC));
  const control::DaemonCommand command{.path = "/nonexistent/softrnicd", .environment = {}};
  NextDaemon next(command, control::DaemonKind::of_user, lanes, stop.get());
  const auto begin = std::chrono::steady_clock::now();
  const bool found = next.find() != nullptr;
  const auto took = std::chrono::steady_clock::now() - begin;
  return !found && took >= least && took <= most ? 0 : 1;
}

int in_child(int (*body)()) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(NextDaemon, AProcessThatClosesDoesNotWaitForIt) {
  const int outcome = in_child([] { return search(true, std::chrono::seconds(0), std::chrono::seconds(2)); });
  if (outcome == 77) GTEST_SKIP() << "no namespaces here";
  EXPECT_EQ(outcome, 0);
}

TEST(NextDaemon, ItIsGivenUpAfterAllAttempts) {
  const int outcome =
      in_child([] { return search(false, std::chrono::seconds(11), std::chrono::seconds(60)); });
  if (outcome == 77) GTEST_SKIP() << "no namespaces here";
  EXPECT_EQ(outcome, 0);
}

}  // namespace
}  // namespace softrnic::engine::test
