#include "rnic/completion_ring.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/rnic/fixture.h"

namespace softrnic::rnic::test {
namespace {

/// Ids with their times.
using Content = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

Content take(CompletionRing& ring, std::uint32_t count) {
  std::vector<ibv_wc> wcs(count);
  std::vector<std::uint64_t> times(count);
  Content content;
  const std::uint32_t taken = ring.take(count, wcs.data(), times.data());
  for (std::uint32_t i = 0; i < taken; ++i) content.emplace_back(wcs[i].wr_id, times[i]);
  return content;
}

TEST(CompletionRingTest, WhatIsPutBackComesFirstEvenIntoAFullOne) {
  CompletionRing ring;
  ASSERT_TRUE(ring.allocate(3, true, nullptr));
  for (std::uint64_t round = 0; round < 50; ++round) {  // around the end, wherever that falls
    const std::uint64_t id = 10 * round;
    for (std::uint64_t i = 1; i <= 3; ++i) ring.push(wc_of(id + i), i);
    EXPECT_EQ(take(ring, 2), (Content{{id + 1, 1}, {id + 2, 2}}));
    ring.push(wc_of(id + 4), 4);
    ring.push(wc_of(id + 5), 5);
    EXPECT_EQ(ring.size(), ring.capacity());
    ring.put_back(wc_of(id + 2), 2);
    EXPECT_EQ(ring.size(), 4U);
    EXPECT_EQ(take(ring, 9), (Content{{id + 2, 2}, {id + 3, 3}, {id + 4, 4}, {id + 5, 5}}));
  }
}

TEST(CompletionRingTest, TimesGoWithTheirCompletions) {
  CompletionRing ring, bigger;
  ASSERT_TRUE(ring.allocate(8, true, nullptr));
  ASSERT_TRUE(bigger.allocate(16, true, nullptr));
  for (std::uint32_t i = 1; i <= 6; ++i) ring.push(wc_of(i, i % 2), 100 + i);
  ring.drop_oldest();
  ring.purge(1);
  ring.move_to(bigger);
  EXPECT_EQ(take(bigger, 9), (Content{{2, 102}, {4, 104}, {6, 106}}));
}

TEST(CompletionRingTest, WithoutTimesNoneAreWritten) {
  CompletionRing ring;
  ASSERT_TRUE(ring.allocate(2, false, nullptr));
  EXPECT_FALSE(ring.keeps_times());
  ring.push(wc_of(1), 55);
  EXPECT_EQ(take(ring, 1), (Content{{1, 0}}));
}

}  // namespace
}  // namespace softrnic::rnic::test
