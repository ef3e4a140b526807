// The daemon is killed: connected queue pairs go on, and a new daemon goes on where the old one was.
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/abi/verbs_fixture.h"
#include "workers.h"

namespace softrnic::robust {
namespace {

Worker once() { return Worker({"once"}, UniqueFd()); }

void kill_daemon() {
  const auto status = daemon_status();
  ASSERT_TRUE(status);
  kill_stranger(status->pid, SIGKILL);
}

TEST(KilledDaemon, TrafficGoesOnAndNewcomersGetLanesOfTheirOwn) {
  std::vector<Pair> pairs;
  for (std::uint32_t round = 0; round < 3; ++round) {
    pairs.push_back(pair_of({"stream"}));
    expect_traffic(pairs.back());
    const pid_t old = daemon_status()->pid;
    kill_daemon();
    for (Pair& pair : pairs) expect_traffic(pair);
    EXPECT_EQ(once().wait(), 0);
    const auto status = daemon_status();
    ASSERT_TRUE(status);
    EXPECT_NE(status->pid, old);
    EXPECT_GE(status->lanes_used, 2 * pairs.size()) << "lanes of survivors";
  }
  for (Pair& pair : pairs) expect_traffic(pair);
  for (Pair& pair : pairs) end(pair);
  EXPECT_TRUE(daemon_gets_to(is_quiet));
}

TEST(KilledDaemon, ManyLanesMadeJustBeforeItAreAllThereAfterwards) {
  for (unsigned round = 0; round < 5; ++round) {
    std::vector<Worker> newcomers;
    for (unsigned i = 0; i < 6; ++i) newcomers.emplace_back(std::vector<std::string>{"churn"}, UniqueFd());
    EXPECT_TRUE(newcomers[round % newcomers.size()].reports(1));
    kill_daemon();
    EXPECT_EQ(once().wait(), 0) << "round " << round;
  }
  EXPECT_TRUE(daemon_gets_to(is_quiet));
}

TEST(KilledDaemon, TheKeeperOutlivesATerminalThatCloses) {
  Pair pair = pair_of({"stream"});
  expect_traffic(pair);
  const pid_t keeper = process_named("softrnicd-keep");
  ASSERT_GT(keeper, 0);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) EXPECT_EQ(kill(keeper, number), 0);
  kill_stranger(daemon_status()->pid, SIGTERM);
  expect_traffic(pair);
  EXPECT_EQ(once().wait(), 0);
  expect_traffic(pair);
  end(pair);
}

/// As the end of the container or job that started them would.
void kill_daemon_and_keeper(bool daemon_first) {
  const pid_t keeper = process_named("softrnicd-keep");
  ASSERT_GT(keeper, 0);
  if (daemon_first) kill_daemon();
  kill_stranger(keeper, SIGKILL);
  if (!daemon_first) kill_daemon();
}

TEST(KilledDaemon, WithItsKeeperTooTrafficGoesOnAndNewcomersConnectToEachOther) {
  std::vector<Pair> pairs;
  Worker bystander({"hold"}, UniqueFd());  // its end moves the sockets of others in their group
  ASSERT_TRUE(bystander.reports(1));
  for (std::uint32_t round = 0; round < 4; ++round) {
    // What comes for a lane whose socket has changed its place is lost until the next daemon has put that
    // right, and Linux 6.18 may let a new process wait for long while others poll: longer than a timeout of
    // 14 or 16 lasts.
    pairs.push_back(pair_of({"stream", "18"}));
    expect_traffic(pairs.back());
    kill_daemon_and_keeper(round % 2 == 0);
    EXPECT_EQ(once().wait(), 0) << "round " << round;
    for (Pair& pair : pairs) expect_traffic(pair);
    const auto status = daemon_status();
    ASSERT_TRUE(status);
    EXPECT_GE(status->lanes_used, 2 * pairs.size()) << "lanes of survivors";
    if (round == 1) bystander.kill_now();
  }
  for (Pair& pair : pairs) end(pair);
  EXPECT_TRUE(daemon_gets_to(is_quiet));
}

/// A process that is the first of a PID namespace and opens a device there, in which it starts the daemon;
/// then it waits to be killed, with all that live in there. Nothing: there are no such namespaces here.
std::optional<Worker> first_of_pid_namespace() {
  Worker starter({"in-pid-namespace", "hold"}, UniqueFd());
  if (!starter.reports(1)) return std::nullopt;
  return starter;
}

TEST(KilledDaemon, TheEndOfTheContainerThatStartedItLeavesOthersAtWork) {
  end_daemon();
  auto starter = first_of_pid_namespace();
  if (!starter) GTEST_SKIP() << "no PID namespaces here";
  // A daemon that cannot see its clients' processes tells of nobody, so these go by UDP; and what comes
  // for a lane whose socket has changed its place is lost until the next daemon has put that right.
  Pair pair = pair_of({"stream", "18"});
  expect_traffic(pair);
  const UniqueFd daemon(static_cast<int>(syscall(SYS_pidfd_open, process_named("softrnicd"), 0)));
  starter->kill_now();
  pollfd ended{daemon.get(), POLLIN, 0};
  ASSERT_EQ(poll(&ended, 1, 10000), 1);
  EXPECT_EQ(once().wait(), 0);
  expect_traffic(pair);
  end(pair);
  EXPECT_TRUE(daemon_gets_to(is_quiet));
}

// Its packets would go astray: nobody can say which place in the group its lane has.
TEST(KilledDaemon, ASurvivorThatIsStoppedHoldsNewcomersUpAndIsNamed) {
  Worker survivor({"hold"}, UniqueFd());
  ASSERT_TRUE(survivor.reports(1));
  ASSERT_EQ(kill(survivor.pid(), SIGSTOP), 0);  // else it starts the next daemon
  kill_daemon_and_keeper(true);
  testing::internal::CaptureStderr();
  EXPECT_EQ(once().wait(), 1);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("4791"), std::string::npos);
  ASSERT_EQ(kill(survivor.pid(), SIGCONT), 0);
  EXPECT_EQ(once().wait(), 0);
  survivor.tell_to_end();
  EXPECT_EQ(survivor.wait(), 0);
  EXPECT_TRUE(daemon_gets_to(is_quiet));
}

class EndedDaemonTest : public abi_test::VerbsTest {};

TEST_F(EndedDaemonTest, ComesAsAnEventWhenTheDaemonIsNeeded) {
  std::vector<std::uint8_t> memory(256);
  {
    const auto mr = make_mr(memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
    const auto a = make_qp(IBV_QPT_RC), b = make_qp(IBV_QPT_RC);
    connect(a.get(), b.get());
    kill_stranger(daemon_status()->pid, SIGTERM);  // after SIGKILL the next would come
    ASSERT_EQ(abi_test::post_recv(b.get(), 1, abi_test::sge_of(memory.data(), 64, mr.get())), 0);
    ASSERT_EQ(abi_test::post_send(a.get(), 2, abi_test::sge_of(memory.data() + 64, 64, mr.get())), 0);
    for (const ibv_wc& wc : collect(cq.get(), 2)) EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_FALSE(readable(context->async_fd, 0));
    EXPECT_EQ(ibv_get_device_list(nullptr), nullptr);
    ASSERT_TRUE(readable(context->async_fd, 5000));
    ibv_async_event event{};
    ASSERT_EQ(ibv_get_async_event(context.get(), &event), 0);
    EXPECT_EQ(event.event_type, IBV_EVENT_DEVICE_FATAL);
    ibv_ack_async_event(&event);
  }
  cq.reset();
  pd.reset();
  context.reset();
  SetUp();  // a new daemon
  EXPECT_NE(make_qp(IBV_QPT_RC), nullptr);
}

}  // namespace
}  // namespace softrnic::robust
