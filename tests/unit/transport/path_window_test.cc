#include "transport/ib/path_window.h"

#include <gtest/gtest.h>

#include "tests/unit/transport/fake_gauge.h"

namespace softrnic::ib {
namespace {

using std::chrono::milliseconds;

PathWindow::Limits path_limits() {
  PathWindow::Limits l;
  l.initial_bytes = 64 * 1024;
  l.minimum_bytes = 16 * 1024;
  l.maximum_bytes = 80 * 1024;
  l.unacked_bytes_per_second = 1'000'000'000;
  l.unacked_burst_bytes = 10'000;
  return l;
}

TEST(PathWindow, AnEighthOfItIsMuchRoom) {
  PathWindow window(path_limits());
  EXPECT_TRUE(window.has_much_room());
  window.sent(56 * 1024);
  EXPECT_TRUE(window.has_much_room());
  window.sent(1);
  EXPECT_FALSE(window.has_much_room());
  EXPECT_TRUE(window.has_room());
  window.hold(true);
  window.acknowledged(1);
  EXPECT_FALSE(window.has_much_room());
  window.hold(false);
  EXPECT_TRUE(window.has_much_room());
}

TEST(PathWindow, WithNothingInFlightThereAlwaysIsMuchRoom) {
  PathWindow::Limits l = path_limits();
  l.initial_bytes = l.minimum_bytes = 0;
  EXPECT_TRUE(PathWindow(l).has_much_room());
}

TEST(PathWindow, WithoutMtuAnyRoomIsMuch) {
  PathWindow window(path_limits());
  window.set_memory(64 * 1024, 200'000);
  window.sent(199'999);
  EXPECT_TRUE(window.has_much_room());
  window.sent(1);
  EXPECT_FALSE(window.has_much_room());
}

TEST(PathWindow, HasRoomAsItsCongestionWindowHas) {
  PathWindow window(path_limits());
  window.sent(64 * 1024 - 1);
  EXPECT_TRUE(window.has_room());
  EXPECT_EQ(window.room(), 1U);
  window.sent(100);
  EXPECT_FALSE(window.has_room());
  EXPECT_EQ(window.room(), 0U);
  window.acknowledged(200);
  EXPECT_TRUE(window.has_room());
  window.hold(true);
  EXPECT_FALSE(window.has_room());
  EXPECT_EQ(window.room(), 0U);
}

TEST(PathWindow, WithoutAGaugeKeepsToItsRate) {
  PathWindow window(path_limits());
  const TimePoint now{milliseconds(5)};
  for (int i = 0; i < 10; ++i) EXPECT_EQ(window.admit(1000, now).when, now);
  EXPECT_GT(window.admit(1000, now).when, now);
  EXPECT_EQ(window.broken_invariant(), nullptr);
}

TEST(PathWindow, AGaugesRoomIsUsedUpBeforeItIsLookedAtAgain) {
  PathWindow window(path_limits());
  FakeGauge gauge;
  window.observe(&gauge);
  gauge.free = 3 * datagram_cost(1000);
  const TimePoint now{milliseconds(5)};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(window.admit(1000, now).when, now);
  EXPECT_EQ(gauge.looks, 1);
  gauge.free = datagram_cost(1000) - 1;
  EXPECT_EQ(window.admit(1000, now).when, now + PathWindow::kLookAgain);
  gauge.free = datagram_cost(1000);
  EXPECT_EQ(window.admit(1000, now + PathWindow::kLookAgain).when, now + PathWindow::kLookAgain);
  EXPECT_EQ(gauge.looks, 3);
}

TEST(PathWindow, AGaugeThatHasRoomSetsNoRate) {
  PathWindow window(path_limits());
  FakeGauge gauge;
  window.observe(&gauge);
  gauge.free = 100'000;
  const TimePoint now{milliseconds(5)};
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(window.admit(1000, now).when, now);
}

TEST(PathWindow, AReceiverThatTakesNothingIsWaitedForForASecond) {
  PathWindow window(path_limits());
  FakeGauge gauge;
  window.observe(&gauge);
  TimePoint now{milliseconds(5)};
  EXPECT_GT(window.admit(1000, now).when, now);
  now += PathWindow::kPatience - Duration(1);
  EXPECT_GT(window.admit(1000, now).when, now);
  now += Duration(1);
  EXPECT_EQ(window.admit(1000, now).when, now);
  gauge.free = 100'000;  // it is back, and is waited for as long when it stops again
  EXPECT_EQ(window.admit(1000, now).when, now);
  gauge.free = 0;
  for (int i = 0; i < 100; ++i) static_cast<void>(window.admit(1000, now));
  EXPECT_EQ(window.admit(1000, now).when, now + PathWindow::kLookAgain);
}

TEST(PathWindow, MemoryTakesLongPacketsAndAWindowThatStaysAsItIs) {
  PathWindow window(path_limits());
  EXPECT_EQ(window.packets_at_once(1024), 1U);
  window.set_memory(64 * 1024, 200'000);
  EXPECT_EQ(window.packets_at_once(1024), 64U);
  EXPECT_EQ(window.packets_at_once(4096), 16U);
  EXPECT_EQ(window.packets_at_once(100'000), 1U);
  EXPECT_EQ(window.window(), 200'000U);
  window.lost(TimePoint(milliseconds(10)));
  EXPECT_EQ(window.window(), 200'000U);
  window.acknowledged(1'000'000);
  EXPECT_EQ(window.window(), 200'000U);
}

TEST(PathWindow, ANetworkAgainHasTheLimitsOfOne) {
  PathWindow window(path_limits());
  window.sent(1000);
  window.set_memory(64 * 1024, 200'000);
  window.set_memory(0, 0);
  EXPECT_EQ(window.packets_at_once(256), 1U);
  EXPECT_EQ(window.window(), 64 * 1024U);
  EXPECT_EQ(window.in_flight(), 1000U);
  window.lost(TimePoint(milliseconds(10)));
  EXPECT_EQ(window.window(), 32 * 1024U);
}

TEST(PathWindow, ALongPacketOnANetworkStaysWithinTheWindow) {
  PathWindow::Limits network = path_limits();
  network.longest_packet = 16 * 1024;
  PathWindow window(network);
  EXPECT_TRUE(window.has_mtu());
  EXPECT_EQ(window.packets_at_once(1024), 16U);
  EXPECT_EQ(window.packets_at_once(4096), 4U);
  window.sent(window.window() - 5000);
  EXPECT_EQ(window.packets_at_once(1024), 4U);
  EXPECT_EQ(window.packets_at_once(4096), 1U);
  window.sent(5000);
  EXPECT_EQ(window.packets_at_once(1024), 1U) << "who may send at all sends one";
  window.set_memory(64 * 1024, 200'000);
  EXPECT_FALSE(window.has_mtu());
  EXPECT_EQ(window.packets_at_once(1024), 64U);
  window.set_memory(0, 0);
  EXPECT_EQ(window.packets_at_once(1024), 1U);
}

TEST(PathWindow, NothingMayGoWhileItIsUndecided) {
  PathWindow window(path_limits());
  window.set_undecided(true);
  EXPECT_TRUE(window.undecided());
  EXPECT_FALSE(window.has_room()) << "not even one packet";
  EXPECT_EQ(window.room(), 0U);
  const TimePoint now(milliseconds(10));
  EXPECT_EQ(window.admit(100, now).when, now + PathWindow::kLookAgain);
  window.set_undecided(false);
  EXPECT_TRUE(window.has_room());
  EXPECT_EQ(window.admit(100, now).when, now);
}

}  // namespace
}  // namespace softrnic::ib
