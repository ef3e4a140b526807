#include "copy/checksum.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "copy/xxh3.h"

namespace softrnic::copy {
namespace {

// The values that xxHash's own tests give for no bytes.
TEST(Checksum, OfNothing) { EXPECT_EQ(hex_of(hash_of({})), "99aa06d3014798d86001c324468d497f"); }

#if defined(__x86_64__)
TEST(Checksum, EveryWidthOfVectorsGivesTheSame) {
  std::mt19937 random(3);
  std::vector<std::byte> bytes(20'000);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  std::vector<Xxh3*> widths;
  if (__builtin_cpu_supports("avx2") != 0) widths.push_back(xxh3_avx2);
  if (__builtin_cpu_supports("avx512f") != 0) widths.push_back(xxh3_avx512);
  if (widths.empty()) GTEST_SKIP() << "this processor has none but the narrowest";
  for (std::size_t size = 0; size < bytes.size(); size = size * 5 / 4 + 1) {
    unsigned char expected[16];
    xxh3_baseline(bytes.data(), size, expected);
    for (Xxh3* width : widths) {
      unsigned char got[16];
      width(bytes.data(), size, got);
      ASSERT_EQ(std::memcmp(got, expected, sizeof got), 0) << size << " bytes";
    }
  }
}
#endif

}  // namespace
}  // namespace softrnic::copy
