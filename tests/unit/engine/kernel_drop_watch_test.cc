#include "engine/kernel_drop_watch.h"

#include <gtest/gtest.h>

namespace softrnic::engine {
namespace {

using std::chrono::milliseconds;

KernelDropCounts kernel;  // what the watch reads
int times_read;

KernelDropCounts read_kernel() {
  ++times_read;
  return kernel;
}

class KernelDropWatchTest : public testing::Test {
 protected:
  KernelDropWatchTest() {
    kernel = {};
    times_read = 0;
  }
  static void drop(std::uint64_t packets) {
    kernel[static_cast<std::size_t>(KernelDrop::ip_discard)] += packets;
  }
  std::uint64_t grown() { return watch.growth(now).counts[static_cast<std::size_t>(KernelDrop::ip_discard)]; }

  KernelDropWatch watch{read_kernel};
  TimePoint now{std::chrono::hours(1)};
};

TEST_F(KernelDropWatchTest, TellsNothingOfASilenceThatItDidNotSee) {
  drop(5);
  EXPECT_EQ(grown(), 0U);
  EXPECT_EQ(times_read, 0);
}

TEST_F(KernelDropWatchTest, TellsWhatWasDroppedSinceTheFirstTimeout) {
  drop(5);
  watch.timed_out(now);
  for (int retry = 0; retry < 7; ++retry) {
    now += milliseconds(67);
    drop(1);
    watch.timed_out(now);
  }
  EXPECT_EQ(times_read, 1) << "it costs two files";
  EXPECT_EQ(grown(), 7U);
  EXPECT_EQ(watch.growth(now).within, milliseconds(469));
  EXPECT_EQ(times_read, 2) << "and one for all that give up now";
}

// Other queue pairs of the lane run into timeouts, too.
TEST_F(KernelDropWatchTest, LooksFurtherBackWhenItHasJustRead) {
  watch.timed_out(now);
  now += milliseconds(1900);
  drop(3);
  watch.timed_out(now);
  now += milliseconds(50);
  EXPECT_EQ(grown(), 3U);
  EXPECT_EQ(watch.growth(now).within, milliseconds(1950));
  now += milliseconds(50);
  EXPECT_EQ(grown(), 0U) << "what is older does not count";
}

}  // namespace
}  // namespace softrnic::engine
