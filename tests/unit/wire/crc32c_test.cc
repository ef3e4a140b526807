#include "wire/crc32c.h"

#include <gtest/gtest.h>

#include <vector>

namespace softrnic::wire {
namespace {

std::uint32_t checksum(const std::vector<std::byte>& bytes) { return ~crc32c_update(kCrc32cStart, bytes); }

std::vector<std::byte> counting(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
  return bytes;
}

// RFC 3720 B.4
TEST(Crc32c, OfTheExamplesOfIscsi) {
  EXPECT_EQ(checksum(std::vector<std::byte>(32)), 0x8a9136aaU);
  EXPECT_EQ(checksum(std::vector<std::byte>(32, std::byte{0xff})), 0x62a8ab43U);
  std::vector<std::byte> up(32), down(32);
  for (std::size_t i = 0; i < 32; ++i) {
    up[i] = static_cast<std::byte>(i);
    down[i] = static_cast<std::byte>(31 - i);
  }
  EXPECT_EQ(checksum(up), 0x46dd794eU);
  EXPECT_EQ(checksum(down), 0x113fdb5cU);
}

TEST(Crc32c, AllWaysAgreeAtEveryLength) {
  const auto bytes = counting(7000);
  const NamedCrc32c& plain = all_crc32c().back();
  for (const NamedCrc32c& way : all_crc32c()) {
    if (!way.works()) continue;
    for (std::size_t size : {0, 1, 7, 8, 9, 63, 1023, 1024, 3071, 3072, 3073, 6144, 7000}) {
      const Bytes part = Bytes(bytes).first(size);
      EXPECT_EQ(way.update(0x12345678, part), plain.update(0x12345678, part)) << way.name << ' ' << size;
    }
  }
}

TEST(Crc32c, InPiecesIsThatOfTheWhole) {
  const auto bytes = counting(9000);
  const std::uint32_t whole = crc32c_update(kCrc32cStart, bytes);
  for (std::size_t cut = 1; cut < bytes.size(); cut += 611) {
    const std::uint32_t first = crc32c_update(kCrc32cStart, Bytes(bytes).first(cut));
    EXPECT_EQ(crc32c_update(first, Bytes(bytes).subspan(cut)), whole) << cut;
  }
}

}  // namespace
}  // namespace softrnic::wire
