#include "engine/stream_ends.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <thread>
#include <vector>

namespace softrnic::engine {
namespace {

bool readable(const StreamEnds& ends) {
  pollfd entry{ends.fd(), POLLIN, 0};
  return poll(&entry, 1, 0) > 0;
}

TEST(StreamEnds, GivesTokensInTheirOrderAndIsReadableWhileThereAreSome) {
  StreamEnds ends;
  ASSERT_TRUE(ends.open());
  EXPECT_FALSE(readable(ends));
  for (int i = 0; i < 3; ++i) ends.expect();
  for (std::uint64_t token : {11, 12, 13}) ends.add(token);
  EXPECT_TRUE(readable(ends));
  std::array<std::uint64_t, 2> out{};
  EXPECT_EQ(ends.take(out), 2U);
  EXPECT_EQ(out, (std::array<std::uint64_t, 2>{11, 12}));
  EXPECT_TRUE(readable(ends));
  EXPECT_EQ(ends.take(out), 1U);
  EXPECT_EQ(out[0], 13U);
  EXPECT_FALSE(readable(ends));
  EXPECT_EQ(ends.take(out), 0U);
}

TEST(StreamEnds, LosesNoneOfSeveralThreads) {
  constexpr std::uint64_t kEach = 2000;
  StreamEnds ends;
  ASSERT_TRUE(ends.open());
  const auto add = [&](std::uint64_t base) {
    for (std::uint64_t i = 0; i < kEach; ++i) {
      ends.expect();
      ends.add(base + i);
    }
  };
  std::thread one(add, 0), other(add, kEach);
  std::vector<bool> seen(2 * kEach);
  for (std::uint64_t count = 0; count < 2 * kEach;) {
    pollfd entry{ends.fd(), POLLIN, 0};
    ASSERT_GT(poll(&entry, 1, 30'000), 0);
    std::array<std::uint64_t, 16> out{};
    const std::size_t taken = ends.take(out);
    for (std::size_t i = 0; i < taken; ++i) {
      EXPECT_FALSE(seen[out[i]]);
      seen[out[i]] = true;
    }
    count += taken;
  }
  one.join();
  other.join();
}

}  // namespace
}  // namespace softrnic::engine
