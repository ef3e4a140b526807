#include "wire/crc32_fold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tests/unit/wire/random_bytes.h"
#include "wire/crc32.h"

namespace softrnic::wire {
namespace {

// Every number of blocks up to where the widest way has gone round three times, with every rest behind them.
TEST(Crc32Fold, EveryWayEqualsTheTables) {
  const auto bytes = random_bytes(1200, 7);
  int ways = 0;
  for (const NamedFold& way : all_folds()) {
    if (!way.works()) continue;
    ++ways;
    for (std::size_t size = kFoldBlock; size <= bytes.size(); ++size) {
      const std::unique_ptr<std::byte[]> exact(new std::byte[size]);
      std::copy_n(bytes.begin(), size, exact.get());
      const Bytes part(exact.get(), size);
      ASSERT_EQ(crc32_update_by(way.fold, 0x12345678, part), crc32_update_by(nullptr, 0x12345678, part))
          << way.name << ", " << size << " bytes";
    }
  }
  if (ways == 0) GTEST_SKIP() << "this processor has no carry-less multiplication";
}

TEST(Crc32Fold, StartsWhereverTheBytesLie) {
  const auto bytes = random_bytes(70'000, 7);
  for (const NamedFold& way : all_folds()) {
    if (!way.works()) continue;
    for (std::size_t offset = 0; offset < 70; ++offset) {
      const Bytes part = Bytes(bytes).subspan(offset, 65'536);
      ASSERT_EQ(crc32_update_by(way.fold, ~0U, part), crc32_update_by(nullptr, ~0U, part)) << way.name;
    }
  }
}

TEST(Crc32Fold, TheBestIsTheFirstThatWorks) {
  const auto ways = all_folds();
  const auto first = std::find_if(ways.begin(), ways.end(), [](const NamedFold& way) { return way.works(); });
  EXPECT_EQ(best_fold(), first == ways.end() ? nullptr : first->fold);
}

}  // namespace
}  // namespace softrnic::wire
