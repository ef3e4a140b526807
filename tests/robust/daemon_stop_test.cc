// The daemon is stopped: what is connected goes on, new local peers are reached by UDP, and when it
// goes on nothing was lost.
#include <signal.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>

#include "direct_ways.h"
#include "tests/abi/verbs_fixture.h"

namespace softrnic::robust {
namespace {

constexpr std::uint32_t kMessages = 200;
constexpr auto kLong = std::chrono::seconds(20);  ///< a wait for the daemon lasts longer
static_assert(kLong < control::kAnswerTimeout);

class Stopped {
 public:
  explicit Stopped(pid_t process) : process_(process) { kill(process_, SIGSTOP); }
  ~Stopped() { go_on(); }
  Stopped(const Stopped&) = delete;
  Stopped& operator=(const Stopped&) = delete;
  void go_on() { kill(process_, SIGCONT); }

 private:
  pid_t process_;
};

/// Opens; connects and talks while the daemon is stopped; sees what goes through memory when it goes on.
int talk_to_a_new_local_peer(const Line& line, const Line& tester, std::uint32_t salt,
                             std::uint32_t peer_salt) {
  Side side;
  Card peer;
  if (!side.open()) return fail(refused, "a queue pair");
  if (!tester.tell() || !tester.hear()) return fail(no_peer, "a tester");
  if (!line.tell(side.card()) || !line.hear(peer)) return fail(no_peer, "a peer");
  const auto begin = std::chrono::steady_clock::now();
  if (!side.connect(peer) || !line.tell() || !line.hear()) return fail(refused, "a connection");
  if (exchange(side, kMessages, salt, peer_salt) != 0) return not_as_expected;
  if (std::chrono::steady_clock::now() - begin > kLong) return not_as_expected;
  if (!tester.tell() || !tester.hear()) return fail(no_peer, "a tester");
  if (exchange(side, kMessages, salt + 2, peer_salt + 2) != 0) return fail(not_as_expected, "messages");
  if (!line.tell() || !line.hear()) return fail(no_peer, "a peer");
  const bool writes = salt == 1 && std::getenv("SOFTRNIC_PATH") == nullptr;
  if (writes && !write_until_it_goes(kWays[0], side, peer)) return not_as_expected;
  return line.tell() && line.hear() && side.close() ? done : fail(refused, "an end");
}

TEST(StoppedDaemon, WhatIsConnectedGoesOnAndNewLocalPeersAreReachedByUdp) {
  auto pair = pair_of({"stream"});
  const auto expect_traffic = [&] {
    EXPECT_TRUE(pair.first.fresh_reports(3));
    EXPECT_TRUE(pair.second.fresh_reports(3));
  };
  expect_traffic();
  Lines lines, to_a, to_b;
  const pid_t a =
      start_child([&] { return talk_to_a_new_local_peer(Line(lines.a.get()), Line(to_a.a.get()), 1, 2); });
  const pid_t b =
      start_child([&] { return talk_to_a_new_local_peer(Line(lines.b.get()), Line(to_b.a.get()), 2, 1); });
  const Line tell_a(to_a.b.get()), tell_b(to_b.b.get());
  EXPECT_TRUE(tell_a.hear() && tell_b.hear()) << "both are open";
  const auto status = daemon_status();
  ASSERT_TRUE(status);
  Stopped daemon(status->pid);
  EXPECT_TRUE(tell_a.tell() && tell_b.tell());
  EXPECT_TRUE(tell_a.hear() && tell_b.hear()) << "both have talked";
  expect_traffic();
  daemon.go_on();
  EXPECT_TRUE(tell_a.tell() && tell_b.tell());
  EXPECT_EQ(end_of(a), done);
  EXPECT_EQ(end_of(b), done);
  expect_traffic();
  pair.first.tell_to_end();
  pair.second.tell_to_end();
  EXPECT_EQ(pair.first.wait(), 0);
  EXPECT_EQ(pair.second.wait(), 0);
}

class StoppedDaemonTest : public abi_test::VerbsTest {};

TEST_F(StoppedDaemonTest, TakesNothingFromWhoHasGivenUpWaiting) {
  std::vector<std::uint8_t> memory(256);
  const auto mr = make_mr(memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
  const auto a = make_qp(IBV_QPT_RC), b = make_qp(IBV_QPT_RC);
  connect(a.get(), b.get());
  const auto before = daemon_status();
  ASSERT_TRUE(before);
  {
    const Stopped daemon(before->pid);
    EXPECT_EQ(ibv_get_device_list(nullptr), nullptr);
    EXPECT_EQ(errno, ETIMEDOUT);
  }
  ibv_device** const devices = ibv_get_device_list(nullptr);
  EXPECT_NE(devices, nullptr) << "the late answer is not taken for that of this request";
  ibv_free_device_list(devices);
  const auto after = daemon_status();
  ASSERT_TRUE(after);
  EXPECT_EQ(after->lanes_used, before->lanes_used);
  EXPECT_FALSE(readable(context->async_fd, 0));
  ASSERT_EQ(abi_test::post_recv(b.get(), 1, abi_test::sge_of(memory.data(), 64, mr.get())), 0);
  ASSERT_EQ(abi_test::post_send(a.get(), 2, abi_test::sge_of(memory.data() + 64, 64, mr.get())), 0);
  for (const ibv_wc& wc : collect(cq.get(), 2)) EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
}

}  // namespace
}  // namespace softrnic::robust
