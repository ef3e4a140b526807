#include "samehost/segment_mapper.h"

#include <gtest/gtest.h>

#include <mutex>

#include "base/clock.h"
#include "samehost/direct_share.h"

namespace softrnic::samehost {
namespace {

// A program that posts much hardly lets go of the lock: here it never does.
TEST(SegmentMapper, NeedsNoLockWhereNothingIsToBeMapped) {
  const std::unique_ptr<DirectShare> share = DirectShare::make(1);
  ASSERT_NE(share, nullptr);
  QuickMutex mutex;
  DirectPath path(3, share.get());
  SegmentMapper mapper(mutex, path);
  const std::lock_guard lock(mutex);
  mapper.take_requests(monotonic_now());
  mapper.run();
}

}  // namespace
}  // namespace softrnic::samehost
