#include "fabricd/link_load.h"

#include "tests/unit/fabric/engine_fixture.h"

namespace softrnic::fabricd {
namespace {

constexpr Duration kSecond{1'000'000'000};

class LoadTest : public testing::Test {
 protected:
  LoadTest() { load.note(star.engine, star.engine.now()); }
  /// A packet of 96 bytes a tenth of a second.
  void send_for(int tenths) {
    for (int i = 0; i < tenths; ++i) {
      star.run(kSecond / 10);
      load.note(star.engine, star.engine.now());
      EXPECT_TRUE(star.send(0, 1, 96 - fabric::kAround));
      star.run(Duration(0));
    }
  }
  std::uint64_t sent() const { return load.bytes_sent(*star.engine.port(star.host(0)), star.engine.now()); }
  double window() const { return std::chrono::duration<double>(load.window(star.engine.now())).count(); }
  fabric::Star star{2};
  LinkLoad load;
};

TEST_F(LoadTest, IsOfTheLastSecondOrSomewhatMore) {
  EXPECT_EQ(sent(), 0U);
  send_for(55);
  EXPECT_GE(window(), 1.0);
  EXPECT_LE(window(), 2.1);
  EXPECT_NEAR(static_cast<double>(sent()) / window(), 960, 100);
}

TEST_F(LoadTest, FallsToNothingInAPause) {
  send_for(55);
  const TimePoint later = star.engine.now() + 5 * kSecond;
  EXPECT_EQ(load.bytes_sent(*star.engine.port(star.host(0)), later), 0U) << "nobody has noted anything since";
  EXPECT_EQ(load.window(later), kSecond);
  star.run(5 * kSecond);
  load.note(star.engine, star.engine.now());
  EXPECT_EQ(sent(), 0U);
  EXPECT_TRUE(star.send(0, 1, 96 - fabric::kAround));
  star.run(Duration(0));
  EXPECT_EQ(sent(), 96U);
}

TEST_F(LoadTest, BearsCountersThatAreCleared) {
  send_for(15);
  star.counters(star.host(0)).xmit_data = 0;
  send_for(3);
  EXPECT_EQ(sent(), 3 * 96U);
}

TEST(LoadRates, AreThoseOfTheLinkOrOfItsWidthAndSpeed) {
  mad::PortInfo info;
  info.link_width_active = mad::LinkWidth::x4;
  info.link_speed_active = mad::LinkSpeed::sdr;
  EXPECT_EQ(rate_of(fabric::Link{}, info), 1'000'000'000U) << "8 Gb/s";
  fabric::Link slow;
  slow.rate = {.bytes = 100, .nanoseconds = 8000};
  EXPECT_EQ(rate_of(slow, info), 12'500'000U);
}

}  // namespace
}  // namespace softrnic::fabricd
