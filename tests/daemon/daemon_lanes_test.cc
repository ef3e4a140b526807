// Lanes: who gets which, what the kernel steers to them, and what becomes of them when processes die.
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/reason_id.h"
#include "control/spawn.h"
#include "engine/lane_handover.h"
#include "tests/daemon/daemon_fixture.h"
#include "tests/daemon/lane_packets.h"
#include "tests/support/other_users.h"
#include "tests/support/process_named.h"

namespace softrnic::tests {
namespace {

using control::Client;
using control::LaneGrant;

std::vector<LaneGrant> take_lanes(Client& client, int count) {
  std::vector<LaneGrant> lanes;
  for (int i = 0; i < count; ++i) {
    auto lane = client.take_lane();
    if (!lane) return {};
    lanes.push_back(std::move(*lane));
  }
  return lanes;
}

/// 4,000 packets, each to the lane that its QPN names.
int steer() {
  auto client = Client::connect();
  if (!client) return 1;
  const std::vector<LaneGrant> lanes = take_lanes(**client, 4);
  if (lanes.size() != 4) return 2;
  for (int round = 0; round < 10; ++round) {  // small rounds, as an ordinary user's buffers may be small
    if (!send_packets(lanes, 100)) return 3;
    for (const LaneGrant& lane : lanes)
      if (own_packets(lane) != 100) return 4;
  }
  return 0;
}

TEST_F(DaemonTest, SteersByQpn) { EXPECT_EQ(steer(), 0); }

TEST_F(DaemonTest, SteersByQpnAsNobody) {
  if (!test::others_may_run(control::find_daemon())) GTEST_SKIP() << "other users cannot enter this folder";
  const Child child([] { return setgid(kNobody) == 0 && setuid(kNobody) == 0 ? steer() : 99; });
  if (child.result() == 99) GTEST_SKIP() << "needs root";
  EXPECT_EQ(child.result(), 0);
  auto client = Child([] {
    // with another group, or not dumpable, as who changes its user without exec() is, it could
    // not be seen to be its own
    if (setgid(kNobody) != 0 || setuid(kNobody) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0) return 1;
    auto own = Client::connect();
    return own && (*own)->shutdown() ? 0 : 1;
  });
  EXPECT_EQ(client.result(), 0);
}

TEST_F(DaemonTest, PacketsForNoLaneGoToTheDaemon) {
  const auto client = connect();
  std::vector<LaneGrant> lanes = take_lanes(*client, 2);
  ASSERT_EQ(lanes.size(), 2U);
  std::vector<LaneGrant> nowhere(1);
  nowhere[0].number = 77;
  ASSERT_TRUE(send_packets(nowhere, 100));
  for (const LaneGrant& lane : lanes) EXPECT_EQ(own_packets(lane), 0);
}

TEST_F(DaemonTest, GivenBackLanesAreReusedAndEmpty) {
  const auto client = connect();
  std::vector<LaneGrant> lanes = take_lanes(*client, 3);
  ASSERT_EQ(lanes.size(), 3U);
  ASSERT_TRUE(send_packets(lanes, 10));
  ASSERT_TRUE(client->give_back_lane(2));
  EXPECT_EQ(client->give_back_lane(2).error().failure.reason.id, ReasonId::lane_not_yours);
  EXPECT_EQ(client->give_back_lane(0).error().failure.reason.id, ReasonId::lane_not_yours);
  const auto again = client->take_lane();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->number, 2);
  EXPECT_EQ(own_packets(*again), 0);
  EXPECT_EQ(own_packets(lanes[0]), 10);
}

TEST_F(DaemonTest, AHundredProcesses) {
  std::vector<Child> children;
  std::set<int> lanes;
  static std::unique_ptr<Client> held;  // the child's, until it ends
  for (int i = 0; i < 100; ++i) {
    children.emplace_back([] {
      auto client = Client::connect();
      if (!client) return -1;
      held = std::move(*client);
      const auto lane = held->take_lane();
      return lane ? static_cast<int>(lane->number) : -1;
    });
    lanes.insert(children.back().result());
  }
  EXPECT_EQ(lanes.size(), 100U);
  EXPECT_EQ(*lanes.begin(), 1);
  EXPECT_EQ(*lanes.rbegin(), 100);
}

TEST_F(DaemonTest, KilledProcessesLeaveOnlyTheirExplanations) {
  const auto watcher = connect();
  static std::unique_ptr<Client> held;
  static UniqueFd page;
  for (int round = 0; round < 2; ++round) {
    std::vector<Child> children;
    for (int i = 0; i < 10; ++i) {
      children.emplace_back([] {
        auto client = Client::connect();
        page = make_page();
        if (!client || !page) return 1;
        held = std::move(*client);
        return held->register_page(page.get()) && held->take_lane() && held->take_lane() ? 0 : 2;
      });
      ASSERT_EQ(children.back().result(), 0);
    }
    EXPECT_TRUE(wait_status(*watcher, [](const auto& s) { return s.lanes_used == 20 && s.clients == 11; }));
    for (Child& child : children) child.kill();
    EXPECT_TRUE(wait_status(*watcher, [](const auto& s) { return s.lanes_used == 0 && s.clients == 1; }));
  }
  EXPECT_EQ(watcher->status()->lanes_made, 21U);
  const auto pages = watcher->pages();
  ASSERT_TRUE(pages);
  ASSERT_EQ(pages->size(), 21U);  // the first is the daemon's own
  for (const auto& shown : *pages) EXPECT_EQ(shown.ended_ns == 0, shown.pid == watcher->daemon_pid());
}

TEST_F(DaemonTest, AForkedChildNeitherSpeaksNorHoldsTheLane) {
  const auto watcher = connect();
  static std::unique_ptr<Client> held;
  static pid_t orphan;
  std::array<int, 2> verdict;
  ASSERT_EQ(pipe(verdict.data()), 0);
  Child child([&verdict] {
    auto client = Client::connect();
    if (!client || !(*client)->take_lane()) return 1;
    held = std::move(*client);
    orphan = fork();
    if (orphan == 0) {
      const bool silent = held->devices().error().failure.reason.id == ReasonId::forked_child;
      if (write(verdict[1], &silent, 1) != 1) _exit(1);
      for (;;) pause();
    }
    return static_cast<int>(orphan);
  });
  ASSERT_GT(child.result(), 1);
  bool silent = false;
  EXPECT_EQ(read(verdict[0], &silent, 1), 1);
  EXPECT_TRUE(silent);
  EXPECT_EQ(watcher->status()->lanes_used, 1U);
  child.kill();
  EXPECT_TRUE(wait_status(*watcher, [](const auto& s) { return s.lanes_used == 0; }));
  kill(child.result(), SIGKILL);
  close(verdict[0]);
  close(verdict[1]);
}

// A number proves nothing: whoever reclaimed it would be told what its local peers share, and
// could give the lane back.
TEST_F(DaemonTest, ALaneIsReclaimedByItsSocketAlone) {
  auto client = connect();
  const std::vector<LaneGrant> lanes = take_lanes(*client, 2);
  ASSERT_EQ(lanes.size(), 2U);
  const int first = lanes[0].socket.get(), second = lanes[1].socket.get();
  const UniqueFd strangers(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  EXPECT_FALSE(client->reclaim_lane(lanes[0].number, first)) << "it has a client";
  kill(client->daemon_pid(), SIGKILL);
  ASSERT_TRUE(wait_gone(client->daemon_pid()));
  EXPECT_FALSE(client->read_notification());
  EXPECT_FALSE(client->took_leave());
  const auto next = connect();
  ASSERT_TRUE(next);
  for (const int socket : {second, strangers.get(), -1})
    EXPECT_FALSE(next->reclaim_lane(lanes[0].number, socket));
  for (const unsigned number : {0U, 200U, 255U})
    EXPECT_FALSE(next->reclaim_lane(static_cast<std::uint8_t>(number), first));
  EXPECT_EQ(next->status()->lanes_used, 2U);
  EXPECT_TRUE(next->reclaim_lane(lanes[0].number, first));
  EXPECT_FALSE(next->reclaim_lane(lanes[0].number, first)) << "once";
  EXPECT_EQ(next->status()->lanes_used, 2U);
  EXPECT_TRUE(next->give_back_lane(lanes[0].number));
  EXPECT_FALSE(next->give_back_lane(lanes[1].number)) << "not reclaimed";
  EXPECT_EQ(next->status()->lanes_used, 1U);
}

TEST_F(DaemonTest, LanesOutliveTheDaemon) {
  auto client = connect();
  const std::vector<LaneGrant> lanes = take_lanes(*client, 3);
  ASSERT_EQ(lanes.size(), 3U);
  const pid_t daemon = client->daemon_pid();
  ASSERT_EQ(kill(daemon, SIGKILL), 0);
  ASSERT_TRUE(wait_gone(daemon));
  ASSERT_TRUE(send_packets(lanes, 50));
  for (const LaneGrant& lane : lanes) EXPECT_EQ(own_packets(lane), 50) << "lane " << int{lane.number};
  EXPECT_EQ(client->devices().error().failure.reason.id, ReasonId::daemon_gone);
  pollfd told{client->notification_fd(), POLLIN, 0};
  EXPECT_EQ(poll(&told, 1, 10000), 1);

  const auto second = connect();  // a new daemon takes over
  ASSERT_TRUE(second);
  EXPECT_NE(second->daemon_pid(), daemon);
  EXPECT_EQ(second->status()->lanes_used, 3U);
  auto fourth = second->take_lane();
  ASSERT_TRUE(fourth);
  EXPECT_EQ(fourth->number, 4);
  std::vector<LaneGrant> one;
  one.push_back(std::move(*fourth));
  ASSERT_TRUE(send_packets(one, 50));
  ASSERT_TRUE(send_packets(lanes, 50));
  EXPECT_EQ(own_packets(one[0]), 50);
  for (const LaneGrant& lane : lanes) EXPECT_EQ(own_packets(lane), 50);
}

/// A program with lanes, which hands them to a daemon that comes after its own, as the engine does.
class LaneHolder {
 public:
  explicit LaneHolder(int lanes) : stop_(eventfd(0, EFD_CLOEXEC)) {
    auto client = Client::connect();
    if (!client) return;
    client_ = std::move(*client);
    lanes_ = take_lanes(*client_, lanes);
    for (const LaneGrant& lane : lanes_)
      handover_.add(lane.number, UniqueFd(fcntl(lane.socket.get(), F_DUPFD_CLOEXEC, 0)));
  }
  ~LaneHolder() {
    eventfd_write(stop_.get(), 1);
    if (thread_.joinable()) thread_.join();
  }

  const std::vector<LaneGrant>& lanes() const { return lanes_; }
  void lose_daemon() {
    if (!client_) return;  // an earlier one
    client_.reset();
    thread_ = std::thread([this] { handover_.serve(stop_.get()); });
  }

 private:
  UniqueFd stop_;
  std::unique_ptr<Client> client_;
  std::vector<LaneGrant> lanes_;
  engine::LaneHandover handover_;
  std::thread thread_;
};

enum class First { daemon, keeper };

/// It takes its name when the daemon may answer already. 0: not within ten seconds.
pid_t wait_for_keeper() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (;;) {
    const pid_t keeper = test::process_named("softrnicd-keep");
    if (keeper != 0 || std::chrono::steady_clock::now() > end) return keeper;
    std::this_thread::yield();
  }
}

/// As the end of their container or job would, in any order. A daemon that loses its keeper first may be
/// about to tell another one.
void kill_daemon_and_keeper(pid_t daemon, First first) {
  const pid_t keeper = wait_for_keeper();
  ASSERT_GT(keeper, 0);
  if (first == First::daemon) kill(daemon, SIGSTOP);
  EXPECT_EQ(kill(keeper, SIGKILL), 0);
  EXPECT_EQ(kill(daemon, SIGKILL), 0);
  EXPECT_TRUE(wait_gone(daemon));
  EXPECT_TRUE(wait_gone(keeper));
}

void expect_packets(const std::vector<LaneGrant>& lanes) {
  ASSERT_TRUE(send_packets(lanes, 50));
  for (const LaneGrant& lane : lanes) EXPECT_EQ(own_packets(lane), 50) << "lane " << int{lane.number};
}

TEST_F(DaemonTest, ANewDaemonGoesOnBesideTheSurvivorsOfDaemonAndKeeper) {
  std::vector<std::unique_ptr<LaneHolder>> programs;
  for (int i = 0; i < 6; ++i) programs.push_back(std::make_unique<LaneHolder>(1 + i % 2));
  programs.erase(programs.begin() + 3);  // its lanes are free, and vanish with the daemon
  programs.erase(programs.begin());
  for (int round = 0; round < 4; ++round) {
    const pid_t daemon = connect()->daemon_pid();
    kill_daemon_and_keeper(daemon, round % 2 == 0 ? First::daemon : First::keeper);
    for (const auto& program : programs) program->lose_daemon();
    programs.push_back(std::make_unique<LaneHolder>(3));  // starts the next daemon
    ASSERT_EQ(programs.back()->lanes().size(), 3U);
    std::set<int> numbers;
    std::size_t lanes = 0;
    for (const auto& program : programs) {
      expect_packets(program->lanes());
      lanes += program->lanes().size();
      for (const LaneGrant& lane : program->lanes()) numbers.insert(lane.number);
    }
    EXPECT_EQ(numbers.size(), lanes);
    EXPECT_EQ(connect()->status()->lanes_used, lanes);
    programs.erase(programs.begin());
    EXPECT_TRUE(wait_status(*connect(), [&](const auto& s) { return s.lanes_used < lanes; }));
  }
}

TEST_F(DaemonTest, InheritedLanesAreFreedWhenTheirProcessEnds) {
  static std::unique_ptr<Client> held;
  Child child([] {
    auto client = Client::connect();
    if (!client || !(*client)->take_lane()) return -1;
    held = std::move(*client);
    return static_cast<int>(held->daemon_pid());
  });
  ASSERT_GT(child.result(), 0);
  kill(child.result(), SIGKILL);
  ASSERT_TRUE(wait_gone(child.result()));
  const auto client = connect();
  ASSERT_TRUE(client);
  EXPECT_EQ(client->status()->lanes_used, 1U);
  child.kill();
  EXPECT_TRUE(wait_status(*client, [](const auto& s) { return s.lanes_used == 0; }));
  EXPECT_EQ(client->take_lane()->number, 1);
}

}  // namespace
}  // namespace softrnic::tests
