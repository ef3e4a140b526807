// What a lane does for others at its memory.
#include "samehost/direct_path.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/reason_id.h"
#include "samehost/atomic_locks.h"
#include "samehost/direct_share.h"

namespace softrnic::samehost {
namespace {

TEST(DirectPath, AWordThatALocalPeerHoldsDoesNotHoldUpTheLane) {
  const UniqueFd table = DirectLocks::make();
  const DirectLocks theirs(table);
  ASSERT_TRUE(theirs);
  const std::unique_ptr<DirectShare> share = DirectShare::make(1);
  ASSERT_NE(share, nullptr);
  share->begin(DirectLocks(table));
  DirectPath path(3, share.get());
  alignas(8) std::uint64_t word = 40;
  DirectLock& lock = theirs.of(reinterpret_cast<std::uint64_t>(&word));
  ASSERT_TRUE(lock.try_lock_for(4, {}));
  const auto busy = path.execute_atomic(&word, {.operand = 2});
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().id, ReasonId::nak_atomic_busy);
  EXPECT_EQ(busy.error().figures[0], reinterpret_cast<std::uint64_t>(&word));
  EXPECT_EQ(busy.error().figures[1], static_cast<std::uint64_t>(gettid())) << "who has it";
  EXPECT_EQ(word, 40U);
  lock.unlock(4);
  const auto before = path.execute_atomic(&word, {.operand = 2});
  ASSERT_TRUE(before);
  EXPECT_EQ(*before, 40U);
  EXPECT_EQ(word, 42U);
}

}  // namespace
}  // namespace softrnic::samehost
