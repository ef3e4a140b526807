// Who withdraws something waits for its accessors, whatever they are and whatever they say: not for long.
#include "samehost/hazard_domain.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "base/cpu_relax.h"
#include "samehost/direct_peer.h"
#include "samehost/revocable_access.h"
#include "tests/support/peer_handles.h"

namespace softrnic::samehost {
namespace {

constexpr std::uint8_t kOwn = 3, kTheirs = 9, kOther = 12;
constexpr Duration kPatience = std::chrono::milliseconds(50);
/// Somebody who would leave may be off the processor for as long as a busy machine likes.
constexpr Duration kForEver = std::chrono::hours(24);

/// How often the time was asked for. Between two such looks a millisecond passes, and else no time at all, so
/// that how long a wait takes is a number of looks, whatever else the machine does.
std::atomic<int> looks{0};
TimePoint time_by_looks() { return TimePoint{} + ++looks * std::chrono::milliseconds(1); }

/// What a process shares of itself: no more than the header, all of which the test writes.
class Header {
 public:
  Header(std::uint8_t lane, std::uint64_t secret) {
    auto* const header = new (memory_.place) DirectHeader{};
    header->magic = kDirectMagic;
    header->secret = secret;
    header->pid = getpid();
    header->lane_count = 1;
    header->lanes[0] = lane;
    header->pid_space = own_pid_space();
    header->revocable = 1;
  }
  ~Header() { munmap(memory_.place, sizeof(DirectHeader)); }
  Header(const Header&) = delete;
  Header& operator=(const Header&) = delete;

  DirectHeader* operator->() const { return static_cast<DirectHeader*>(memory_.place); }
  DirectHeader& operator*() const { return *static_cast<DirectHeader*>(memory_.place); }
  const UniqueFd& fd() const { return memory_.fd; }
  std::atomic<std::uint64_t>& hazard() const { return operator->()->hazards[0].word; }

 private:
  control::OwnedMemory memory_ = control::make_owned_memory("test", sizeof(DirectHeader));
};

class HazardDomainTest : public testing::Test {
 protected:
  /// How long a withdrawal takes.
  Duration withdraw() {
    const TimePoint begin = time_by_looks();
    guard.wait();
    return time_by_looks() - begin;
  }
  std::uint64_t admitted() const { return own->accessors[kTheirs].admitted; }

  Header own{kOwn, 1}, theirs{kTheirs, 2};
  HazardDomain guard{*own, kPatience, time_by_looks};
};

TEST_F(HazardDomainTest, WhoLeavesIsWaitedFor) {
  HazardDomain patient{*own, kForEver};
  ASSERT_TRUE(patient.admit(kTheirs, theirs.fd(), 0));
  EXPECT_EQ(admitted(), theirs->secret);
  HazardSlot hazard;
  hazard.lie_in(theirs->hazards[0]);
  for (int i = 0; i < 25; ++i) {
    std::atomic<bool> inside{false}, left{false};
    std::thread accessor([&] {
      hazard.enter(kOwn);
      inside = true;
      for (int spin = 0; spin < 400 * i; ++spin) cpu_relax();
      left = true;
      hazard.leave();
    });
    while (!inside) std::this_thread::yield();
    patient.wait();
    EXPECT_TRUE(left);
    accessor.join();
  }
  EXPECT_EQ(admitted(), theirs->secret);
}

// It leaves only after the owner has lost the hope that it does so soon, and has looked a few times more.
TEST_F(HazardDomainTest, WhoLeavesLateIsWaitedForAndIsRevoked) {
  HazardDomain patient{*own, kForEver, time_by_looks};
  ASSERT_TRUE(patient.admit(kTheirs, theirs.fd(), 0));
  const std::atomic<std::uint64_t>& revoked = own->accessors[kTheirs].revoked;
  HazardSlot hazard;
  hazard.lie_in(theirs->hazards[0]);
  std::atomic<bool> inside{false}, left{false}, waited{false};
  std::thread accessor([&] {
    hazard.enter(kOwn);
    inside = true;
    const auto until = [&waited](auto done) {
      while (!done() && !waited) std::this_thread::yield();
    };
    until([&] { return revoked == hazard.word(); });
    until([enough = looks + 5] { return looks >= enough; });
    left = true;
    hazard.leave();
  });
  while (!inside) std::this_thread::yield();
  const std::uint64_t access = hazard.word();
  patient.wait();
  EXPECT_TRUE(left);
  waited = true;
  accessor.join();
  EXPECT_EQ(revoked, access);
  EXPECT_EQ(admitted(), theirs->secret) << "it may come again";
}

TEST_F(HazardDomainTest, WhoVisitsOthersIsNotWaitedFor) {
  ASSERT_TRUE(guard.admit(kTheirs, theirs.fd(), 0));
  theirs.hazard() = HazardWord::of(1, gettid(), kOther);
  guard.wait();
  EXPECT_EQ(admitted(), theirs->secret);
  EXPECT_EQ(own->accessors[kTheirs].revoked, 0U);
}

TEST_F(HazardDomainTest, WhoDiedInsideIsNotWaitedFor) {
  ASSERT_TRUE(guard.admit(kTheirs, theirs.fd(), 0));
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t status{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &status, WEXITED | WNOWAIT), 0);
  theirs.hazard() = HazardWord::of(1, child, kOwn);
  EXPECT_LT(withdraw(), kPatience) << "nobody has buried it yet";
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_LT(withdraw(), kPatience);
  EXPECT_EQ(admitted(), theirs->secret) << "its other threads may come again";
}

TEST_F(HazardDomainTest, WhoIsStoppedInsideIsNotWaitedForAndIsRevoked) {
  ASSERT_TRUE(guard.admit(kTheirs, theirs.fd(), 0));
  const pid_t child = fork();
  if (child == 0) {
    raise(SIGSTOP);
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, WUNTRACED), child);
  theirs.hazard() = HazardWord::of(1, child, kOwn);
  EXPECT_LT(withdraw(), kPatience);
  EXPECT_EQ(own->accessors[kTheirs].revoked, theirs.hazard());
  EXPECT_EQ(admitted(), theirs->secret);
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
}

TEST_F(HazardDomainTest, WhoNeverLeavesIsExpelled) {
  ASSERT_TRUE(guard.admit(kTheirs, theirs.fd(), 0));
  theirs.hazard() = HazardWord::of(1, gettid(), kOwn);
  const Duration first = withdraw();
  EXPECT_GE(first, kPatience);
  EXPECT_LT(first, 2 * kPatience);
  EXPECT_EQ(admitted(), 0U);
  EXPECT_EQ(own->accessors[kTheirs].revoked, theirs.hazard())
      << "should it be honest and late, it finds that";
  EXPECT_LT(withdraw(), kPatience) << "once is enough";
  EXPECT_FALSE(guard.admit(kTheirs, theirs.fd(), 0));
  EXPECT_EQ(admitted(), 0U);
  const Header next(kTheirs, 5);
  EXPECT_TRUE(guard.admit(kTheirs, next.fd(), 0)) << "another process that has the lane now";
  EXPECT_EQ(admitted(), 5U);
}

TEST_F(HazardDomainTest, ManyWhoNeverLeaveTakeNoLongerThanOne) {
  std::vector<std::unique_ptr<Header>> all;
  for (std::uint8_t lane = 20; lane < 60; ++lane) {
    all.push_back(std::make_unique<Header>(lane, lane));
    ASSERT_TRUE(guard.admit(lane, all.back()->fd(), 0));
    all.back()->hazard() = HazardWord::of(1, gettid(), kOwn);
  }
  EXPECT_LT(withdraw(), 10 * kPatience) << "of 40 times that";
  for (std::uint8_t lane = 20; lane < 60; ++lane) EXPECT_EQ(own->accessors[lane].admitted, 0U) << int{lane};
}

TEST_F(HazardDomainTest, GarbageHoldsNobodyUp) {
  ASSERT_TRUE(guard.admit(kTheirs, theirs.fd(), 0));
  std::mt19937_64 dice(3);
  for (const std::uint64_t garbage : {~std::uint64_t{0}, std::uint64_t{kOwn}, dice() << 8 | kOwn}) {
    theirs.hazard() = garbage;
    EXPECT_LT(withdraw(), 2 * kPatience);
  }
  std::atomic<bool> end{false};
  std::thread writer([&] {
    while (!end) theirs.hazard() = dice() << 8 | (dice() % 2 != 0 ? kOwn : 0);
  });
  for (int i = 0; i < 20; ++i) EXPECT_LT(withdraw(), 2 * kPatience);
  end = true;
  writer.join();
}

TEST_F(HazardDomainTest, WhoCannotBeRevokedIsNotLetInWhereAllCan) {
  theirs->revocable = 0;
  EXPECT_FALSE(guard.admit(kTheirs, theirs.fd(), 0));
  EXPECT_EQ(admitted(), 0U);
  own->revocable = 0;
  EXPECT_TRUE(guard.admit(kTheirs, theirs.fd(), 0));
}

TEST_F(HazardDomainTest, WhatIsNoSharedMemoryIsNotLetIn) {
  EXPECT_FALSE(guard.admit(kTheirs, UniqueFd(), 0));
  const UniqueFd small = control::make_shared_memory("test", 4096);
  EXPECT_FALSE(guard.admit(kTheirs, small, 0));
}

// ---- the accessor

TEST(DirectPeerVisit, GoesOnlyToWhoSeesIt) {
  const auto own = DirectShare::make(1), other = DirectShare::make(1);
  ASSERT_TRUE(own != nullptr && other != nullptr);
  own->add_lane(kOwn);
  other->add_lane(kTheirs);
  const auto meet = [](DirectShare& who, std::uint8_t accessor, DirectShare& whom, std::uint8_t lane) {
    return DirectPeer::open(handles_of(whom), lane, accessor, who);
  };
  const auto peer = meet(*own, kOwn, *other, kTheirs);
  ASSERT_NE(peer, nullptr);
  EXPECT_FALSE(DirectPeer::AccessGuard(*peer));
  const auto back = meet(*other, kTheirs, *own, kOwn);
  EXPECT_TRUE(DirectPeer::AccessGuard(*peer));
  EXPECT_TRUE(DirectPeer::AccessGuard(*back));
}

// Its own header can name the memory of a third process, which it may not reach itself.
TEST(DirectPeerVisit, NobodyIsLedToTheMemoryOfAThirdProcess) {
  const auto own = DirectShare::make(1), third = DirectShare::make(1), liar = DirectShare::make(1);
  own->add_lane(kOwn);
  third->add_lane(kOther);
  liar->add_lane(kTheirs);
  const auto attaches = [&] {
    const auto peer = DirectPeer::open(handles_of(*liar), kTheirs, kOwn, *own);
    return peer != nullptr && peer->attached();
  };
  ASSERT_TRUE(attaches());
  liar->memory().header().cookie = third->memory().header().cookie;
  liar->memory().header().secret = third->memory().header().secret;
  EXPECT_FALSE(attaches());
}

}  // namespace
}  // namespace softrnic::samehost
