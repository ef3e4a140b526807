#include "transport/ib/pacer.h"

#include <gtest/gtest.h>

namespace softrnic::ib {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Pacer::Limits kPacerLimits{1'000'000'000, 10'000};

TEST(Pacer, LetsABurstGoAndThenTheRate) {
  Pacer pacer(kPacerLimits);
  const TimePoint now{milliseconds(5)};
  for (int i = 0; i < 10; ++i) EXPECT_EQ(pacer.take(1000, now), now);
  for (int i = 1; i <= 10; ++i) EXPECT_EQ(pacer.take(1000, now), now + i * microseconds(1));
}

TEST(Pacer, TheBucketIsFullAtFirstAndAfterAPause) {
  Pacer pacer(kPacerLimits);
  EXPECT_EQ(pacer.take(10'000, TimePoint{}), TimePoint{});
  const TimePoint later{milliseconds(5)};
  EXPECT_EQ(pacer.take(10'000, later), later);
  EXPECT_GT(pacer.take(1, later), later);
}

TEST(Pacer, KeepsTheRateOverALongTime) {
  Pacer pacer({999'999'937, 10'000});
  TimePoint now{milliseconds(5)};
  const TimePoint begin = now;
  std::int64_t bytes = 0;
  for (const TimePoint end = now + milliseconds(10); now < end; now = pacer.take(1000, now)) bytes += 1000;
  EXPECT_NEAR(static_cast<double>(bytes) / static_cast<double>((now - begin).count()), 1.0, 0.01);
}

TEST(Pacer, APacketLargerThanTheBurstGoesInTheEnd) {
  Pacer pacer(kPacerLimits);
  const TimePoint now{milliseconds(5)};
  EXPECT_EQ(pacer.take(10'000, now), now);
  EXPECT_EQ(pacer.take(20'000, now), now + microseconds(20));
}

// Whoever asks first goes first, however small the packets of others are.
TEST(Pacer, AWaitingPacketIsNotOvertaken) {
  Pacer pacer(kPacerLimits);
  const TimePoint now{milliseconds(5)};
  static_cast<void>(pacer.take(10'000, now));
  const TimePoint large = pacer.take(4000, now);
  EXPECT_EQ(large, now + microseconds(4));
  EXPECT_GT(pacer.take(1, now + microseconds(1)), large);
}

}  // namespace
}  // namespace softrnic::ib
