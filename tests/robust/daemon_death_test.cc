// The daemon is killed: connected queue pairs go on, and a new daemon goes on where the old one was.
#include <signal.h>

#include "tests/abi/verbs_fixture.h"
#include "workers.h"

namespace softrnic::robust {
namespace {

using Pair = std::pair<Worker, Worker>;

Worker once() { return Worker({"once"}, UniqueFd()); }

void kill_daemon() {
  const auto status = daemon_status();
  ASSERT_TRUE(status);
  kill_stranger(status->pid, SIGKILL);
}

void expect_traffic(Pair& pair) {
  EXPECT_TRUE(pair.first.fresh_reports(3));
  EXPECT_TRUE(pair.second.fresh_reports(3));
}

void end(Pair& pair) {
  pair.first.tell_to_end();
  pair.second.tell_to_end();
  EXPECT_EQ(pair.first.wait(), 0);
  EXPECT_EQ(pair.second.wait(), 0);
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

TEST(KilledDaemon, WithoutItsKeeperTooNewcomersAreRefusedUntilTheLastSurvivorEnds) {
  Worker survivor({"hold"}, UniqueFd());
  ASSERT_TRUE(survivor.reports(1));
  const pid_t keeper = process_named("softrnicd-keep");
  ASSERT_GT(keeper, 0);
  kill_stranger(keeper, SIGKILL);
  kill_daemon();
  testing::internal::CaptureStderr();
  EXPECT_EQ(once().wait(), 1);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("4791"), std::string::npos);
  survivor.tell_to_end();
  EXPECT_EQ(survivor.wait(), 0);
  EXPECT_EQ(once().wait(), 0);
}

class KilledDaemonTest : public abi_test::VerbsTest {};

TEST_F(KilledDaemonTest, ComesAsAnEventWhenTheDaemonIsNeeded) {
  std::vector<std::uint8_t> memory(256);
  {
    const auto mr = make_mr(memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
    const auto a = make_qp(IBV_QPT_RC), b = make_qp(IBV_QPT_RC);
    connect(a.get(), b.get());
    kill_daemon();
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
