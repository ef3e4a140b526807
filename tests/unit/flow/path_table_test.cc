// What holds UC and UD back on a path, whoever has made it known.
#include "flow/path_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>

#include "tests/unit/transport/fake_gauge.h"

namespace softrnic::flow {
namespace {

constexpr TimePoint kNow{std::chrono::seconds(5)};
constexpr std::uint32_t kPacket = 4096;

/// A path, what can become known of it, and the gauges that it may go by.
struct Known {
  enum Step { rc_uses_it, lane_can_be_asked, ring_is_there };

  void learn(Step step) {
    if (step == rc_uses_it) return path.sent(100);
    if (step == ring_is_there) return path.go_by_ring(ring, 64 * 1024, 256 * 1024);
    path.set_credit(std::make_unique<PeerCredit>(0, probes, true));
  }
  bool admits() { return path.admit(kPacket, kNow).granted; }

  PeerCredit::Probes probes;
  ib::FakeGauge ring;
  Path path;
};

TEST(PathGauge, IsTheRingInWhicheverOrderThingsBecameKnown) {
  std::array steps{Known::rc_uses_it, Known::lane_can_be_asked, Known::ring_is_there};
  do {
    Known known;
    for (const Known::Step step : steps) known.learn(step);
    EXPECT_FALSE(known.admits());
    EXPECT_TRUE(known.probes.empty()) << "nobody is asked";
    known.ring.free = ib::datagram_cost(kPacket);
    EXPECT_TRUE(known.admits());
  } while (std::next_permutation(steps.begin(), steps.end()));
}

TEST(PathGauge, IsTheCreditWhereTheRingIsGone) {
  Known known;
  known.learn(Known::ring_is_there);
  known.learn(Known::lane_can_be_asked);
  known.path.go_by_network();
  EXPECT_TRUE(known.admits());
  EXPECT_EQ(known.probes.size(), 1U);
  EXPECT_EQ(known.ring.looks, 0);
}

TEST(PathGauge, IsNoneWhereNeitherIsThere) {
  Known known;
  known.learn(Known::ring_is_there);
  known.path.go_by_network();
  EXPECT_TRUE(known.admits()) << "at a rate";
  EXPECT_EQ(known.ring.looks, 0);
}

// What the peer's lane has leave for lies in a socket, and is no room in the ring.
TEST(PathGauge, ThatGivesWayLeavesNoRoomBehind) {
  Known known;
  known.learn(Known::lane_can_be_asked);
  EXPECT_TRUE(known.admits());
  known.learn(Known::ring_is_there);
  EXPECT_FALSE(known.admits());
}

}  // namespace
}  // namespace softrnic::flow
