// How a lane meets the others of its host, while the daemon that introduces them takes its time.
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <optional>

#include "control/direct_locks.h"
#include "engine/bell.h"
#include "engine/control_page.h"
#include "engine/engine_thread.h"
#include "engine/lane.h"
#include "engine/null_link.h"

namespace softrnic::engine {
namespace {

constexpr std::uint8_t kOwn = 3, kTheirs = 9;

wire::Gid own_gid() { return wire::Gid::from_ipv4_be(0x0100007f); }

/// A lane of another process.
struct Neighbour {
  Neighbour() : share(DirectShare::make(1)), place(*share->add_lane(kTheirs)) { place.life->lock(); }
  ~Neighbour() { place.life->unlock(); }
  std::unique_ptr<DirectShare> share;
  DirectShare::LanePlace place;
  UniqueFd bell = make_bell();
};

class Neighbours : public testing::Test {
 protected:
  Neighbours() {
    share->begin(control::DirectLocks(locks));
    lane = std::make_unique<Lane>(kOwn, 1, std::make_unique<NullLink>(), page, share.get(), make_bell(),
                                  [this](std::uint8_t) { return answer(); });
    rnic::GidEntry address;
    address.gid = own_gid();
    lane->set_addresses({address});
    path.source = path.destination = own_gid();
  }
  std::optional<Introduction> answer() {
    ++asked;
    if (!answers) return std::nullopt;
    Introduction shown;
    if (!shares) return shown;
    shown.memory.reset(dup(neighbour.share->fd()));
    shown.inbox.reset(dup(neighbour.share->inbox_fd()));
    shown.bell.reset(dup(neighbour.bell.get()));
    shown.pid = pid;
    return shown;
  }
  ib::PathWindow& window() { return lane->window(path, Qpn::of(kTheirs, 5)); }
  /// Runs the lane until its path is (un)decided; false after ten seconds.
  bool gets_to(const ib::PathWindow& window, bool undecided) {
    pollfd timer{lane->timer_fd(), POLLIN, 0};
    while (window.undecided() != undecided) {
      if (poll(&timer, 1, 10'000) != 1) return false;
      lane->service(true);
    }
    return true;
  }
  bool calls() const {
    pollfd strangers{lane->strangers_fd(), POLLIN, 0};
    return poll(&strangers, 1, 0) == 1;
  }

  UniqueFd locks = control::DirectLocks::make();
  std::unique_ptr<DirectShare> share = DirectShare::make(1);
  Neighbour neighbour;
  bool shares = true;
  bool answers = true;
  pid_t pid = getpid();  ///< of the neighbour
  unsigned asked = 0;
  ControlPage page;
  std::unique_ptr<Lane> lane;
  ib::AddressVector path;
};

TEST_F(Neighbours, APathIsSilentUntilTheDaemonHasAnswered) {
  const ib::PathWindow& to = window();
  EXPECT_TRUE(to.undecided());
  EXPECT_TRUE(calls());
  lane->service(true);
  EXPECT_EQ(asked, 0U) << "the thread that moves data asks nobody";
  EXPECT_TRUE(lane->meet_peers());
  EXPECT_FALSE(calls());
  EXPECT_FALSE(to.undecided());
  EXPECT_FALSE(to.has_mtu());
  EXPECT_FALSE(lane->meet_peers());
}

TEST_F(Neighbours, WhomTheDaemonDoesNotIntroduceInTimeIsReachedByPacketsUntilItDoes) {
  const ib::PathWindow& to = window();
  ASSERT_TRUE(gets_to(to, false));
  EXPECT_TRUE(to.has_mtu());
  EXPECT_FALSE(window().undecided()) << "another queue pair does not hold it up";
  EXPECT_EQ(asked, 0U);
  EXPECT_TRUE(lane->meet_peers());
  EXPECT_FALSE(to.undecided());
  EXPECT_FALSE(to.has_mtu());
}

// Who sends datagrams to itself finds them sent when ibv_post_send() returns, however soon after the lane is there.
TEST_F(Neighbours, ALaneKnowsItselfAsSoonAsItsThreadIsStarted) {
  const EngineThread thread(*lane);
  ASSERT_EQ(thread.error(), 0);
  const std::lock_guard lock(lane->mutex());
  const ib::PathWindow& to = lane->window(path, Qpn::of(kOwn, 5));
  EXPECT_FALSE(to.undecided());
  EXPECT_FALSE(to.has_mtu());
}

TEST_F(Neighbours, WhatMayNotBeOvertakenIsReadBeforeTheRingIsTaken) {
  const ib::PathWindow& to = *lane->gauged_window(path, Qpn::of(kTheirs, 5));
  ASSERT_TRUE(gets_to(to, false));
  EXPECT_TRUE(to.has_mtu());
  EXPECT_TRUE(lane->meet_peers());
  EXPECT_TRUE(to.undecided());
  EXPECT_TRUE(window().undecided());
  ASSERT_TRUE(gets_to(to, false));
  EXPECT_FALSE(to.has_mtu());
}

TEST_F(Neighbours, WhoShowsNothingIsAskedForWithEveryQueuePairAndHeldUpByNone) {
  shares = false;
  const ib::PathWindow& to = window();
  EXPECT_TRUE(lane->meet_peers());
  EXPECT_FALSE(to.undecided());
  EXPECT_TRUE(to.has_mtu());
  EXPECT_FALSE(window().undecided());
  EXPECT_TRUE(calls());
  shares = true;
  EXPECT_TRUE(lane->meet_peers());
  EXPECT_FALSE(to.undecided());
  EXPECT_FALSE(to.has_mtu());
}

// What the kernel does not let it attach to, or what is not where it should be, is not looked at.
TEST_F(Neighbours, WhomItMayNotAttachToIsReachedByPackets) {
  pid = 0x3fffff;  // nobody
  const ib::PathWindow& to = window();
  EXPECT_TRUE(lane->meet_peers());
  EXPECT_FALSE(to.undecided());
  EXPECT_TRUE(to.has_mtu());
}

TEST_F(Neighbours, ADaemonThatDoesNotAnswerIsAskedAgain) {
  const ib::PathWindow& to = window();
  answers = false;
  EXPECT_TRUE(lane->meet_peers());
  EXPECT_TRUE(to.undecided());
  EXPECT_EQ(asked, 1U);
  EXPECT_TRUE(lane->meet_peers());
  EXPECT_EQ(asked, 2U);
  answers = true;
  EXPECT_TRUE(lane->meet_peers());
  EXPECT_FALSE(to.undecided());
  EXPECT_FALSE(lane->meet_peers());
}

TEST_F(Neighbours, ALaneThatIsDeadIsAskedForAgainAndItsPathIsSilent) {
  const ib::PathWindow& to = window();
  EXPECT_TRUE(lane->meet_peers());
  neighbour.place.life->unlock();
  EXPECT_TRUE(window().undecided());
  EXPECT_TRUE(calls());
  neighbour.place.life->lock();
  shares = false;
  EXPECT_TRUE(lane->meet_peers());
  EXPECT_FALSE(to.undecided());
  EXPECT_TRUE(to.has_mtu());
}

}  // namespace
}  // namespace softrnic::engine
