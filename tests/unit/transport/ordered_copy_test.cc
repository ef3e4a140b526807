#include "transport/ib/ordered_copy.h"

#include <gtest/gtest.h>

#include <vector>

namespace softrnic::ib {
namespace {

TEST(OrderedCopy, CopiesEveryByteAndNoMore) {
  std::vector<std::byte> from(80), to(96);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i + 1);
  for (std::size_t offset = 0; offset < 9; ++offset) {
    for (std::size_t size = 0; size <= 64; ++size) {
      std::fill(to.begin(), to.end(), std::byte{0});
      ordered_copy(&to[offset], &from[3], size);
      for (std::size_t i = 0; i < to.size(); ++i) {
        const bool inside = i >= offset && i < offset + size;
        ASSERT_EQ(to[i], inside ? from[3 + i - offset] : std::byte{0}) << offset << ' ' << size << ' ' << i;
      }
    }
  }
}

}  // namespace
}  // namespace softrnic::ib
