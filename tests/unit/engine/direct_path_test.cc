// What a lane does for others at its memory.
#include "engine/direct_path.h"

#include <gtest/gtest.h>

#include "control/direct_locks.h"
#include "engine/direct_share.h"

namespace softrnic::engine {
namespace {

TEST(DirectPath, AWordThatANeighbourHoldsDoesNotHoldUpTheLane) {
  const UniqueFd table = control::DirectLocks::make();
  const control::DirectLocks theirs(table);
  ASSERT_TRUE(theirs);
  const std::unique_ptr<DirectShare> share = DirectShare::make(1);
  ASSERT_NE(share, nullptr);
  share->begin(control::DirectLocks(table));
  DirectPath path(3, share.get());
  alignas(8) std::uint64_t word = 40;
  RobustMutex& lock = theirs.of(reinterpret_cast<std::uint64_t>(&word));
  lock.lock();
  EXPECT_FALSE(path.execute_atomic(&word, {.swap_or_add = 2}));
  EXPECT_EQ(word, 40U);
  lock.unlock();
  EXPECT_EQ(path.execute_atomic(&word, {.swap_or_add = 2}), 40U);
  EXPECT_EQ(word, 42U);
}

}  // namespace
}  // namespace softrnic::engine
