// Which way a path to another lane of this host takes, and when (engine/peer_resolution.h alone).
#include "engine/peer_resolution.h"

#include "samehost/eager_receiver.h"
#include "tests/unit/engine/local_peers_fixture.h"

namespace softrnic::engine::test {
namespace {

using namespace std::chrono_literals;

struct NoEagers final : samehost::EagerReceiver {
  bool eager(const samehost::RingEagerSend&, std::uint8_t) override { return false; }
};

/// `answers`, `shares` and `asked` are the fixture's; its lane is not used.
class Resolution : public LocalPeers {
 protected:
  Resolution() {
    own_share->begin(samehost::DirectLocks(locks));
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
  std::unique_ptr<samehost::DirectShare> own_share = samehost::DirectShare::make(1);
  samehost::DirectPath direct{kOwn, own_share.get()};
  NoEagers no_eagers;
  samehost::RingLink rings{std::make_unique<link::NullLink>(), kOwn,     *own_share, *direct.slot(),
                           samehost::make_doorbell(),          no_eagers};
  PeerResolution peers{kOwn, {mutex, clock, direct, paths}, [this](std::uint8_t) { return answer(); }};
};

TEST_F(Resolution, APathToAnotherHostNeedsNone) {
  flow::Path& way = path_to(kTheirs);
  EXPECT_FALSE(peers.look_for(way, false));
  EXPECT_FALSE(way.undecided());
  EXPECT_EQ(peers.due(), kNever);
  EXPECT_FALSE(peers.resolve());
  EXPECT_EQ(asked, 0U);
}

TEST_F(Resolution, NothingGoesUntilThePeerIsMetAndThenByItsRing) {
  flow::Path& way = path_to(kTheirs);
  EXPECT_TRUE(peers.look_for(way, true));
  EXPECT_TRUE(way.undecided());
  EXPECT_FALSE(is_called());
  peers.call_resolver();
  EXPECT_TRUE(is_called());
  EXPECT_TRUE(peers.resolve());
  EXPECT_FALSE(is_called());
  EXPECT_EQ(asked, 1U);
  EXPECT_FALSE(way.undecided());
  EXPECT_FALSE(way.has_mtu());
  EXPECT_TRUE(rings.connected(kTheirs));
  EXPECT_EQ(peers.due(), kNever);
}

TEST_F(Resolution, WhoShowsNothingIsReachedByPackets) {
  shares = false;
  flow::Path& way = path_to(kTheirs);
  peers.look_for(way, true);
  EXPECT_TRUE(peers.resolve());
  EXPECT_FALSE(way.undecided());
  EXPECT_TRUE(way.has_mtu());
}

TEST_F(Resolution, WhoIsNotIntroducedInTimeIsReachedByPacketsMeanwhile) {
  flow::Path& way = path_to(kTheirs);
  peers.look_for(way, true);
  ASSERT_NE(peers.due(), kNever);
  EXPECT_GT(peers.due(), now);
  peers.decide();
  EXPECT_TRUE(way.undecided()) << "there is time left";
  clock.begin(peers.due());
  peers.decide();
  EXPECT_FALSE(way.undecided());
  EXPECT_TRUE(way.has_mtu());
  EXPECT_EQ(peers.due(), kNever);
  EXPECT_TRUE(peers.resolve()) << "and by its ring as soon as it is introduced";
  EXPECT_FALSE(way.has_mtu());
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
}  // namespace softrnic::engine::test
