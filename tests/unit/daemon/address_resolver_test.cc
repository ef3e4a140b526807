// Addresses of peers in a network namespace of the test's own: the loopback, and a veth pair with
// another namespace behind it.
#include "daemon/address_resolver.h"

#include <gtest/gtest.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/reason_id.h"
#include "base/unique_fd.h"
#include "tests/unit/daemon/network.h"

namespace softrnic::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

bool shell(const std::string& command) {
  return std::system(("{ " + command + "; } 2>/dev/null").c_str()) == 0;
}

/// A process in a network namespace of its own, which lives until this object goes.
class OtherHost {
 public:
  OtherHost() {
    int up[2], down[2];
    if (pipe(up) != 0 || pipe(down) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      close(up[0]);
      close(down[1]);
      char word = unshare(CLONE_NEWNET) == 0 ? 'y' : 'n';
      if (write(up[1], &word, 1) == 1) static_cast<void>(!read(down[0], &word, 1));
      _exit(0);
    }
    close(up[1]);
    close(down[0]);
    const UniqueFd reading(up[0]);
    life_.reset(down[1]);
    char word = 'n';
    valid_ = pid_ > 0 && read(reading.get(), &word, 1) == 1 && word == 'y';
  }
  ~OtherHost() {
    life_.reset();
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
  }
  OtherHost(const OtherHost&) = delete;
  OtherHost& operator=(const OtherHost&) = delete;

  bool valid() const { return valid_; }
  std::string pid() const { return std::to_string(pid_); }
  bool run(const std::string& command) const {
    return shell("nsenter --net=/proc/" + pid() + "/ns/net sh -c '" + command + "'");
  }

 private:
  pid_t pid_ = -1;
  bool valid_ = false;
  UniqueFd life_;
};

class ResolverTest : public ::testing::Test {
 protected:
  /// The end of the request, awaited as the daemon does.
  ResolveResult resolve(const ResolveRequest& request) {
    std::optional<ResolveResult> result;
    resolver_.start(request, [&](const ResolveResult& r) { result = r; });
    EXPECT_FALSE(result) << "callbacks come from advance() alone";
    while (!result) turn();
    EXPECT_EQ(resolver_.pending(), 0U);
    EXPECT_EQ(resolver_.deadline(), kNever);
    return *result;
  }

  void turn() {
    const TimePoint due = resolver_.deadline(), now = monotonic_now();
    int timeout = -1;
    if (due != kNever)
      timeout = due <= now ? 0 : static_cast<int>(std::chrono::ceil<milliseconds>(due - now).count());
    pollfd change{resolver_.changes_fd(), POLLIN, 0};
    if (poll(&change, 1, timeout) > 0) resolver_.take_changes();
    resolver_.advance(monotonic_now());
  }

  static TimePoint in(Duration time) { return monotonic_now() + time; }

  static void expect_failure(const ResolveResult& result, int error, ReasonId reason) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().error, error);
    EXPECT_EQ(result.error().reason.id, reason) << describe(result.error().reason);
  }

  AddressResolver resolver_;
};

TEST_F(ResolverTest, TheLoopbackIsThisHost) {
  for (const char* own : {"127.0.0.1", "::1"}) {
    const auto result = resolve({.destination = gid(own), .deadline = in(seconds(5))});
    ASSERT_TRUE(result) << own;
    EXPECT_TRUE(result->is_local);
    EXPECT_EQ(result->source, gid(own));
    EXPECT_EQ(result->interface_index, if_nametoindex("lo"));
  }
}

TEST_F(ResolverTest, WithoutARouteThereIsNoWay) {
  expect_failure(resolve({.destination = gid("192.0.2.1")}), ENETUNREACH, ReasonId::no_route);
  expect_failure(resolve({.destination = gid("2001:db8::1")}), ENETUNREACH, ReasonId::no_route);
}

TEST_F(ResolverTest, ASourceMustBeOurs) {
  expect_failure(resolve({.destination = gid("127.0.0.1"), .source = gid("192.0.2.1")}), EADDRNOTAVAIL,
                 ReasonId::source_not_here);
  expect_failure(resolve({.destination = gid("::1"), .source = gid("2001:db8::1")}), EADDRNOTAVAIL,
                 ReasonId::source_not_here);
  const auto other = resolve({.destination = gid("127.0.0.1"), .source = gid("127.0.0.9")});
  ASSERT_TRUE(other);
  EXPECT_EQ(other->source, gid("127.0.0.9"));
}

TEST_F(ResolverTest, ALinkLocalAddressNeedsItsLink) {
  expect_failure(resolve({.destination = gid("fe80::1")}), EINVAL, ReasonId::scope_missing);
}

TEST_F(ResolverTest, WhatIsCancelledIsNotTold) {
  bool told = false;
  const ResolveToken token =
      resolver_.start({.destination = gid("127.0.0.1")}, [&](const ResolveResult&) { told = true; });
  resolver_.cancel(token);
  resolver_.advance(monotonic_now());
  EXPECT_FALSE(told);
  EXPECT_EQ(resolver_.deadline(), kNever);
  resolver_.cancel(token);
}

TEST_F(ResolverTest, ACallbackMayStartAndCancel) {
  int told = 0;
  ResolveToken doomed{};
  std::function<void(const ResolveResult&)> again = [&](const ResolveResult&) {
    resolver_.cancel(doomed);
    if (++told < 3) resolver_.start({.destination = gid("127.0.0.1")}, again);
  };
  resolver_.start({.destination = gid("127.0.0.1")}, again);
  doomed = resolver_.start({.destination = gid("127.0.0.1")}, [&](const ResolveResult&) { told = 100; });
  resolver_.advance(monotonic_now());
  EXPECT_EQ(told, 1) << "what a callback starts waits for the next turn";
  while (resolver_.pending() != 0) resolver_.advance(monotonic_now());
  EXPECT_EQ(told, 3);
}

/// n0 here with .1, n1 in another namespace with .2.
class ResolverOnLink : public ResolverTest {
 protected:
  void SetUp() override {
    peer_ = std::make_unique<OtherHost>();
    if (!peer_->valid() ||
        !shell("ip link add n0 type veth peer name n1 netns " + peer_->pid() +
               " && ip link set n0 addrgenmode none && ip address add 10.9.0.1/24 dev n0 && ip address add "
               "10.9.0.5/24 dev n0 && "
               "ip address add fd09::1/64 dev n0 nodad && ip address add fe80::9:1/64 dev n0 nodad && "
               "ip link set n0 up") ||
        !peer_->run("ip address add 10.9.0.2/24 dev n1 && ip address add fd09::2/64 dev n1 nodad && "
                    "ip address add fe80::9:2/64 dev n1 nodad && ip link set n1 up"))
      GTEST_SKIP() << "no veth here";
    index_ = if_nametoindex("n0");
    resolver_.set_addresses({{index_, gid("10.9.0.1")}, {index_, gid("fd09::1")}});
  }
  void TearDown() override { shell("ip link delete n0"); }

  void expect_on_link(const ResolveResult& result, const char* source, const char* next_hop) const {
    ASSERT_TRUE(result) << describe(result.error().reason);
    EXPECT_FALSE(result->is_local);
    EXPECT_EQ(result->source, gid(source));
    EXPECT_EQ(result->next_hop, gid(next_hop));
    EXPECT_EQ(result->interface_index, index_);
    EXPECT_EQ(result->hop_limit, 64);
  }

  std::unique_ptr<OtherHost> peer_;
  std::uint32_t index_ = 0;
};

TEST_F(ResolverOnLink, APeerAnswers) {
  const TimePoint deadline = in(seconds(20));
  expect_on_link(resolve({.destination = gid("10.9.0.2"), .deadline = deadline}), "10.9.0.1", "10.9.0.2");
  expect_on_link(resolve({.destination = gid("fd09::2"), .deadline = deadline}), "fd09::1", "fd09::2");
  expect_on_link(resolve({.destination = gid("fe80::9:2"), .interface_index = index_, .deadline = deadline}),
                 "fe80::9:1", "fe80::9:2");
  // known by now: nothing to wait for
  expect_on_link(resolve({.destination = gid("10.9.0.2"), .deadline = TimePoint{}}), "10.9.0.1", "10.9.0.2");
}

TEST_F(ResolverOnLink, TheSourceIsTheOneGiven) {
  expect_on_link(
      resolve({.destination = gid("10.9.0.2"), .source = gid("10.9.0.5"), .deadline = in(seconds(20))}),
      "10.9.0.5", "10.9.0.2");
}

TEST_F(ResolverOnLink, AGatewayIsTheNextHop) {
  ASSERT_TRUE(shell("ip route add 10.10.0.0/16 via 10.9.0.2 hoplimit 9"));
  const auto result = resolve({.destination = gid("10.10.1.1"), .deadline = in(seconds(20))});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->next_hop, gid("10.9.0.2"));
  EXPECT_EQ(result->source, gid("10.9.0.1"));
  EXPECT_EQ(result->hop_limit, 9);
}

TEST_F(ResolverOnLink, AnOwnAddressIsOnItsNetdev) {
  for (const char* own : {"10.9.0.1", "fd09::1"}) {
    const auto result = resolve({.destination = gid(own)});
    ASSERT_TRUE(result) << own;
    EXPECT_TRUE(result->is_local);
    EXPECT_EQ(result->source, gid(own));
    EXPECT_EQ(result->interface_index, index_);
  }
}

TEST_F(ResolverOnLink, NobodyAnswers) {
  // the kernel gives up after three questions, long before the deadline
  shell("ip ntable change name arp_cache dev n0 retrans 100");
  shell("ip ntable change name ndisc_cache dev n0 retrans 100");
  for (const char* nobody : {"10.9.0.77", "fd09::77"}) {
    SCOPED_TRACE(nobody);
    expect_failure(resolve({.destination = gid(nobody), .deadline = in(seconds(60))}), EHOSTUNREACH,
                   ReasonId::no_neighbour);
  }
  // and is asked anew, although it remembers
  expect_failure(resolve({.destination = gid("10.9.0.77"), .deadline = in(seconds(60))}), EHOSTUNREACH,
                 ReasonId::no_neighbour);
}

TEST_F(ResolverOnLink, TheDeadlineEndsTheWait) {
  const TimePoint deadline = in(milliseconds(20));
  expect_failure(resolve({.destination = gid("10.9.0.78"), .deadline = deadline}), ETIMEDOUT,
                 ReasonId::resolve_timeout);
  EXPECT_GE(monotonic_now(), deadline);
}

TEST_F(ResolverOnLink, ManyWaitForOneAnswer) {
  int told = 0;
  for (int i = 0; i < 100; ++i)
    resolver_.start({.destination = gid("10.9.0.2"), .deadline = in(seconds(20))},
                    [&](const ResolveResult& r) { told += r ? 1 : 0; });
  while (resolver_.pending() != 0) turn();
  EXPECT_EQ(told, 100);
}

TEST_F(ResolverOnLink, GroupsHaveNoNeighbour) {
  ASSERT_TRUE(shell("ip route add 239.0.0.0/8 dev n0"));
  expect_on_link(resolve({.destination = gid("239.1.2.3")}), "10.9.0.1", "239.1.2.3");
  const auto six = resolve({.destination = gid("ff0e::1:2"), .interface_index = index_});
  ASSERT_TRUE(six);
  EXPECT_EQ(six->interface_index, index_);
}

}  // namespace
}  // namespace softrnic::daemon
