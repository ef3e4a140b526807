#include "transport/ib/pacer.h"

#include <gtest/gtest.h>

namespace softrnic::ib {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Pacer::Limits kLimits{1'000'000'000, 10'000};

TEST(Pacer, LetsABurstGoAndThenTheRate) {
  Pacer pacer(kLimits);
  TimePoint now{milliseconds(5)};
  for (int i = 0; i < 10; ++i) EXPECT_EQ(pacer.take(1000, now), now);
  const TimePoint when = pacer.take(1000, now);
  EXPECT_GT(when, now);
  EXPECT_LE(when - now, microseconds(1) + Duration(1));
  EXPECT_EQ(pacer.take(1000, when), when);
}

TEST(Pacer, KeepsTheRateWhenAskedOften) {
  Pacer pacer(kLimits);
  TimePoint now{milliseconds(5)};
  std::uint64_t bytes = 0;
  for (const TimePoint end = now + milliseconds(10); now < end; now += Duration(37)) {
    if (pacer.take(1000, now) == now) bytes += 1000;
  }
  EXPECT_GE(bytes, 9'990'000U);
  EXPECT_LE(bytes, 10'020'000U);
}

TEST(Pacer, APacketLargerThanTheBurstGoesInTheEnd) {
  Pacer pacer(kLimits);
  const TimePoint now{milliseconds(5)};
  EXPECT_EQ(pacer.take(10'000, now), now);
  EXPECT_GT(pacer.take(20'000, now), now);
  const TimePoint later = now + milliseconds(1);
  EXPECT_EQ(pacer.take(20'000, later), later);
}

TEST(Pacer, LendsNoTokens) {
  Pacer pacer(kLimits);
  TimePoint now{milliseconds(5)};
  for (std::uint32_t bytes = 1; bytes < 30'000; bytes += 997, now += microseconds(7)) {
    static_cast<void>(pacer.take(bytes, now));
    ASSERT_EQ(pacer.broken_invariant(), nullptr);
  }
}

}  // namespace
}  // namespace softrnic::ib
