#include "base/memory_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace softrnic {
namespace {

constexpr std::size_t kPage = 4096;

std::vector<std::byte> numbered(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 13 + i / 251);
  return bytes;
}

TEST(MemoryCopy, CrawlsALittleBehindWithinAPage) {
  for (const std::uintptr_t from :
       {std::uintptr_t{0x7000}, std::uintptr_t{0x7fff}, ~std::uintptr_t{0} - 20}) {
    EXPECT_FALSE(string_copy_crawls(from, from));
    EXPECT_TRUE(string_copy_crawls(from + 1, from));
    EXPECT_TRUE(string_copy_crawls(from + 63, from));
    EXPECT_FALSE(string_copy_crawls(from + 64, from));
    EXPECT_FALSE(string_copy_crawls(from - 1, from));
    EXPECT_TRUE(string_copy_crawls(from - 3 * kPage + 16, from));
  }
}

TEST(MemoryCopy, CopiesEverySizeToEveryPlace) {
  const auto from = numbered(20'000);
  for (const std::size_t size : {0UL, 1UL, 2047UL, 2048UL, 2049UL, 3968UL, 3969UL, 4096UL, 19'000UL})
    for (const std::size_t at : {0UL, 1UL, 16UL, 63UL, 64UL, 4095UL}) {
      std::vector<std::byte> to(size + 2 * kPage, std::byte{0xee});
      const std::size_t same =
          (reinterpret_cast<std::uintptr_t>(from.data()) - reinterpret_cast<std::uintptr_t>(to.data())) %
          kPage;
      std::byte* const place = &to[(same + at) % kPage];
      copy_memory(place, from.data(), size);
      EXPECT_TRUE(std::equal(place, place + size, from.begin())) << size << ' ' << at;
      EXPECT_EQ(std::count(place + size, to.data() + to.size(), std::byte{0xee}),
                to.data() + to.size() - (place + size));
    }
}

TEST(MemoryCopy, OverlappingBytesAreRightToo) {
  for (const std::ptrdiff_t by : {16, -16, 2000, -2000, 4096 + 16, -(4096 - 16)}) {
    auto bytes = numbered(30'000);
    const auto before = bytes;
    copy_memory(&bytes[static_cast<std::size_t>(10'000 + by)], &bytes[10'000], 9000);
    EXPECT_TRUE(std::equal(before.begin() + 10'000, before.begin() + 19'000, bytes.begin() + 10'000 + by))
        << by;
  }
}

}  // namespace
}  // namespace softrnic
