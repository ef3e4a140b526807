// The door to local peers: what stands before a lane's link, and what is left of it in a forked child.
#include "samehost/local_peers.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "link/null_link.h"
#include "tests/support/local_peer.h"

namespace softrnic::samehost::test {
namespace {

class Peers : public testing::Test, protected LocalPeerAnswers {
 protected:
  Peers() {
    share->begin(DirectLocks(locks));
    clock.begin(monotonic_now());
  }
  std::unique_ptr<LocalPeers> make(DirectShare* of) {
    return std::make_unique<LocalPeers>(kOwn, LocalPeers::Parts{mutex, clock, paths}, of,
                                        [this](std::uint8_t) { return answer(); });
  }

  QuickMutex mutex;
  BatchClock clock;
  flow::PathTable paths;
  NoEagers eagers;
  std::unique_ptr<DirectShare> share = DirectShare::make(1);
};

TEST_F(Peers, WithoutAShareTheLinkIsAllThereIs) {
  const auto peers = make(nullptr);
  ASSERT_TRUE(peers->valid());
  auto link = std::make_unique<link::NullLink>();
  const link::Link* const socket = link.get();
  EXPECT_EQ(peers->put_rings_before(std::move(link), UniqueFd(), eagers).get(), socket);
  EXPECT_EQ(peers->rings(), nullptr);
  EXPECT_EQ(peers->acks(), nullptr);
  flow::Path& path = paths.path(own_gid(), kTheirs);
  EXPECT_FALSE(peers->look_for(path, true));
  EXPECT_FALSE(path.undecided());
  EXPECT_EQ(asked, 0U);
}

TEST_F(Peers, AResolvedPeerIsReachedByItsRing) {
  const auto peers = make(share.get());
  ASSERT_TRUE(peers->valid());
  const auto link = peers->put_rings_before(std::make_unique<link::NullLink>(), make_doorbell(), eagers);
  ASSERT_EQ(peers->rings(), link.get());
  EXPECT_NE(peers->acks(), nullptr);
  EXPECT_TRUE(peers->look_for(paths.path(own_gid(), kTheirs), true));
  EXPECT_FALSE(peers->rings()->outbound().connected(kTheirs));
  EXPECT_TRUE(peers->resolve());
  EXPECT_EQ(asked, 1U);
  EXPECT_TRUE(peers->rings()->outbound().connected(kTheirs));
}

TEST_F(Peers, AForkedChildHasNone) {
  const auto peers = make(share.get());
  const auto link = peers->put_rings_before(std::make_unique<link::NullLink>(), make_doorbell(), eagers);
  EXPECT_TRUE(peers->look_for(paths.path(own_gid(), kTheirs), true));
  peers->abandon();
  EXPECT_EQ(peers->rings(), nullptr);
  EXPECT_EQ(peers->acks(), nullptr);
  EXPECT_FALSE(peers->any_map_requests());
  peers->call_resolver();
  EXPECT_EQ(peers->decision_due(), kNever);
}

}  // namespace
}  // namespace softrnic::samehost::test
