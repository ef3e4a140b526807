#include "copy/ping.h"

#include <gtest/gtest.h>

namespace softrnic::copy {
namespace {

TEST(Ping, PercentilesAreNearestRank) {
  std::vector<Nanoseconds> values;
  for (int i = 1000; i >= 1; --i) values.emplace_back(i);
  const Spread spread = spread_of(values);
  EXPECT_EQ(spread.min.count(), 1);
  EXPECT_EQ(spread.max.count(), 1000);
  EXPECT_EQ(spread.average.count(), 500);
  EXPECT_EQ(spread.p50.count(), 500);
  EXPECT_EQ(spread.p90.count(), 900);
  EXPECT_EQ(spread.p99.count(), 990);
  EXPECT_EQ(spread.p999.count(), 999);
}

TEST(Ping, OneSampleIsEverything) {
  const Spread spread = spread_of({Nanoseconds(7)});
  EXPECT_EQ(spread.min.count(), 7);
  EXPECT_EQ(spread.p50.count(), 7);
  EXPECT_EQ(spread.p999.count(), 7);
}

}  // namespace
}  // namespace softrnic::copy
