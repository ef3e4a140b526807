#include "wire/erf_header.h"

#include <gtest/gtest.h>

#include <array>

namespace softrnic::wire {
namespace {

using Header = std::array<unsigned char, kErfHeaderBytes>;

Header header_of(ErfType type, std::uint64_t time_ns, std::size_t bytes) {
  Header out;
  encode_erf_header(type, time_ns, bytes, std::as_writable_bytes(std::span(out)));
  return out;
}

// Big-endian but for the timestamp: the record's length has the header in it, the packet's has not.
TEST(ErfHeader, LiesWhereTheFormatPutsIt) {
  EXPECT_EQ(header_of(ErfType::infiniband, 0x482b41f8 * 1'000'000'000ULL, 290),
            (Header{0, 0, 0, 0, 0xf8, 0x41, 0x2b, 0x48, 21, 4, 0x01, 0x32, 0, 0, 0x01, 0x22}));
}

TEST(ErfHeader, CountsPartsOfASecond) {
  EXPECT_EQ(header_of(ErfType::infiniband_link, 500'000'000, 6),
            (Header{0, 0, 0, 0x80, 0, 0, 0, 0, 25, 4, 0, 22, 0, 0, 0, 6}));
  const Header last = header_of(ErfType::infiniband_link, 1'999'999'999, 6);
  EXPECT_EQ(last[4], 1);
  EXPECT_EQ(last[3], 0xff);
}

}  // namespace
}  // namespace softrnic::wire
