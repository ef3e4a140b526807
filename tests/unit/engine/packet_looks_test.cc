// A lane whose messages all come by streams hardly looks for packets, and any other with each poll.
#include "engine/packet_looks.h"

#include <gtest/gtest.h>

#include <chrono>

#include "tests/unit/engine/stream_fixture.h"

namespace softrnic::engine::test {
namespace {

using namespace std::chrono_literals;

TEST(PacketLooks, AreDueAtOnceWherePacketsAreAwaited) {
  PacketLooks looks;
  const TimePoint now(1s);
  EXPECT_TRUE(looks.due(now));
  looks.looked(now);
  EXPECT_TRUE(looks.due(now));
}

TEST(PacketLooks, AreDueNowAndThenWhereNoneAre) {
  PacketLooks looks;
  const TimePoint now(1s);
  looks.set_awaited(false);
  EXPECT_TRUE(looks.due(now));
  looks.looked(now);
  EXPECT_FALSE(looks.due(now));
  EXPECT_FALSE(looks.due(now + PacedLooks::kApart - 1ns));
  EXPECT_TRUE(looks.due(now + PacedLooks::kApart));
}

TEST(PacketLooks, AreDueAgainOnceTheyAreAwaitedOrAskedFor) {
  PacketLooks looks;
  const TimePoint now(1s);
  looks.set_awaited(false);
  looks.looked(now);
  looks.look_next();
  EXPECT_TRUE(looks.due(now));
  looks.looked(now);
  looks.set_awaited(true);
  EXPECT_TRUE(looks.due(now));
}

/// Counts looks that are not those of `PacedLooks::kApart`.
class CountingLink final : public link::NullLink {
 public:
  explicit CountingLink(unsigned& looks) : looks_(looks) {}
  bool has_packet(TimePoint now) const override {
    if (now - last_ < PacedLooks::kApart) ++looks_;
    last_ = now;
    return false;
  }

 private:
  unsigned& looks_;
  mutable TimePoint last_{};
};

class PacketLooksOfALane : public testing::Test {
 protected:
  PacketLooksOfALane() : a(false, 3, 4096, std::make_unique<CountingLink>(looks_)) {}

  void connect() {
    TcpPair sockets;
    qp = &a.connect(sockets.a);
    peer_ = std::move(sockets.b);
  }
  /// Of a number of polls, those that looked for packets soon after the one before.
  unsigned of_polls() {
    looks_ = 0;
    for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(a.idle());
    return looks_;
  }

 private:
  unsigned looks_ = 0;
  UniqueFd peer_;

 protected:
  StreamHost a;
  rnic::QueuePair* qp = nullptr;
};

TEST_F(PacketLooksOfALane, AreFewWhereAllQueuePairsHaveStreams) {
  connect();
  EXPECT_LE(of_polls(), 1U);
}

TEST_F(PacketLooksOfALane, GoWithEachPollWhereOneQueuePairHasNone) {
  connect();
  rnic::QueuePair& unconnected = a.make_qp();
  EXPECT_GT(of_polls(), 1U);
  a.destroy(unconnected);
  EXPECT_LE(of_polls(), 1U);
}

TEST_F(PacketLooksOfALane, GoWithEachPollOnceTheStreamIsGone) {
  connect();
  EXPECT_TRUE(StreamHost::modify(*qp, IBV_QPS_ERR));
  EXPECT_TRUE(StreamHost::modify(*qp, IBV_QPS_RESET));
  EXPECT_GT(of_polls(), 1U);
}

}  // namespace
}  // namespace softrnic::engine::test
