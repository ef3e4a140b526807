#include "transport/ib/gauge.h"

#include <gtest/gtest.h>

#include "tests/unit/transport/fake_gauge.h"

namespace softrnic::ib {
namespace {

using std::chrono::milliseconds;
using RoomAnswer = GaugedRoom::Answer;

constexpr TimePoint kNow{milliseconds(5)};

class GaugedRoomTest : public ::testing::Test {
 protected:
  GaugedRoomTest() { room.observe(&gauge); }
  FakeGauge gauge;
  GaugedRoom room;
};

TEST(GaugedRoom, IsUnknownWithoutAGauge) {
  GaugedRoom room;
  EXPECT_EQ(room.take(1000, kNow), RoomAnswer::unknown);
  EXPECT_EQ(room.broken_invariant(), nullptr);
}

TEST_F(GaugedRoomTest, IsUnknownWhereTheGaugeKnowsNothing) {
  gauge.knowing = false;
  EXPECT_EQ(room.take(1000, kNow), RoomAnswer::unknown);
  EXPECT_EQ(gauge.looks, 0);
}

TEST_F(GaugedRoomTest, IsUsedUpBeforeTheGaugeIsLookedAtAgain) {
  gauge.free = 3 * datagram_cost(1000);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(room.take(1000, kNow), RoomAnswer::granted);
  EXPECT_EQ(gauge.looks, 1);
  gauge.free = datagram_cost(1000) - 1;
  EXPECT_EQ(room.take(1000, kNow), RoomAnswer::full);
  gauge.free = datagram_cost(1000);
  EXPECT_EQ(room.take(1000, kNow), RoomAnswer::granted);
  EXPECT_EQ(gauge.looks, 3);
}

TEST_F(GaugedRoomTest, ThatOthersMayFillIsLookedAtForEachPacket) {
  gauge.reserving = false;
  gauge.free = 3 * datagram_cost(1000);
  EXPECT_EQ(room.take(1000, kNow), RoomAnswer::granted);
  gauge.free = datagram_cost(1000) - 1;  // others have filled it
  EXPECT_EQ(room.take(1000, kNow), RoomAnswer::full);
  EXPECT_EQ(gauge.looks, 2);
}

TEST_F(GaugedRoomTest, OfOneBufferIsNoneInAnother) {
  gauge.free = 3 * datagram_cost(1000);
  EXPECT_EQ(room.take(1000, kNow), RoomAnswer::granted);
  FakeGauge other;
  room.observe(&other);
  EXPECT_EQ(room.take(1000, kNow), RoomAnswer::full);
  EXPECT_EQ(other.looks, 1);
  room.observe(nullptr);
  EXPECT_EQ(room.take(1000, kNow), RoomAnswer::unknown);
  EXPECT_EQ(room.broken_invariant(), nullptr);
}

TEST_F(GaugedRoomTest, OfAReceiverThatTakesNothingIsUnknownAfterASecond) {
  EXPECT_EQ(room.take(1000, kNow), RoomAnswer::full);
  EXPECT_EQ(room.take(1000, kNow + GaugedRoom::kPatience - Duration(1)), RoomAnswer::full);
  EXPECT_EQ(room.take(1000, kNow + GaugedRoom::kPatience), RoomAnswer::unknown);
  gauge.free = datagram_cost(1000);  // it is back, and is waited for as long when it stops again
  EXPECT_EQ(room.take(1000, kNow + GaugedRoom::kPatience), RoomAnswer::granted);
  gauge.free = 0;
  EXPECT_EQ(room.take(1000, kNow + GaugedRoom::kPatience), RoomAnswer::full);
  EXPECT_EQ(room.broken_invariant(), nullptr);
}

}  // namespace
}  // namespace softrnic::ib
