// Which way a path to another lane of this host takes, and when (samehost/peer_resolution.h alone).
#include "samehost/peer_resolution.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <memory>

#include "link/null_link.h"
#include "samehost/direct_path.h"
#include "samehost/ring_link.h"
#include "tests/support/local_peer.h"

namespace softrnic::samehost::test {
namespace {

using namespace std::chrono_literals;

class Resolution : public testing::Test, protected LocalPeerAnswers {
 protected:
  Resolution() {
    own_share->begin(DirectLocks(locks));
    peers.use(rings);
    clock.begin(now);
  }
  flow::Path& path_to(std::uint8_t number) { return paths.path(own_gid(), number); }
  bool is_called() const {
    pollfd pending{peers.pending_fd(), POLLIN, 0};
    return poll(&pending, 1, 0) == 1;
  }

  TimePoint now = monotonic_now();
  QuickMutex mutex;
  BatchClock clock;
  flow::PathTable paths;
  std::unique_ptr<DirectShare> own_share = DirectShare::make(1);
  DirectPath direct{kOwn, own_share.get()};
  NoEagers no_eagers;
  RingLink rings{
      std::make_unique<link::NullLink>(), kOwn, *own_share, *direct.slot(), make_doorbell(), no_eagers};
  PeerResolution peers{kOwn, {mutex, clock, direct, paths}, [this](std::uint8_t) { return answer(); }};
};

TEST_F(Resolution, APathToAnotherHostNeedsNone) {
  flow::Path& path = path_to(kTheirs);
  EXPECT_FALSE(peers.look_for(path, false));
  EXPECT_FALSE(path.undecided());
  EXPECT_EQ(peers.due(), kNever);
  EXPECT_FALSE(peers.resolve());
  EXPECT_EQ(asked, 0U);
}

TEST_F(Resolution, NothingGoesUntilThePeerIsMetAndThenByItsRing) {
  flow::Path& path = path_to(kTheirs);
  EXPECT_TRUE(peers.look_for(path, true));
  EXPECT_TRUE(path.undecided());
  EXPECT_FALSE(is_called());
  peers.call_resolver();
  EXPECT_TRUE(is_called());
  EXPECT_TRUE(peers.resolve());
  EXPECT_FALSE(is_called());
  EXPECT_EQ(asked, 1U);
  EXPECT_FALSE(path.undecided());
  EXPECT_FALSE(path.has_mtu());
  EXPECT_TRUE(rings.outbound().connected(kTheirs));
  EXPECT_EQ(peers.due(), kNever);
}

TEST_F(Resolution, WhoShowsNothingIsReachedByPackets) {
  shares = false;
  flow::Path& path = path_to(kTheirs);
  peers.look_for(path, true);
  EXPECT_TRUE(peers.resolve());
  EXPECT_FALSE(path.undecided());
  EXPECT_TRUE(path.has_mtu());
}

TEST_F(Resolution, WhoIsNotToldOfInTimeIsReachedByUdpMeanwhile) {
  flow::Path& path = path_to(kTheirs);
  peers.look_for(path, true);
  ASSERT_NE(peers.due(), kNever);
  EXPECT_GT(peers.due(), now);
  peers.decide();
  EXPECT_TRUE(path.undecided()) << "there is time left";
  clock.begin(peers.due());
  peers.decide();
  EXPECT_FALSE(path.undecided());
  EXPECT_TRUE(path.has_mtu());
  EXPECT_EQ(peers.due(), kNever);
  EXPECT_TRUE(peers.resolve()) << "and by its ring as soon as it is told of";
  EXPECT_FALSE(path.has_mtu());
}

TEST_F(Resolution, WhomNothingCouldBeFoundOutAboutIsAskedForAgain) {
  answers = false;
  peers.look_for(path_to(kTheirs), true);
  EXPECT_TRUE(peers.resolve());
  EXPECT_TRUE(peers.resolve());
  EXPECT_EQ(asked, 2U);
}

TEST_F(Resolution, InAForkedChildNobodyIsAskedFor) {
  peers.look_for(path_to(kTheirs), true);
  direct.abandon();
  peers.abandon();
  peers.call_resolver();
  EXPECT_FALSE(is_called());
  EXPECT_EQ(peers.due(), kNever);
}

}  // namespace
}  // namespace softrnic::samehost::test
