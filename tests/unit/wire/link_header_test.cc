#include "wire/link_header.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <unordered_set>

namespace softrnic::wire {
namespace {

using Lrh = std::array<std::byte, kLrhBytes>;

Lrh bytes_of(std::array<unsigned, kLrhBytes> values) {
  Lrh out;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(values[i]);
  return out;
}

TEST(Lid, HasTheRangesOfTheSpecification) {
  struct {
    unsigned first, last;
    bool reserved, unicast, multicast, permissive;
  } const ranges[] = {{0x0000, 0x0000, true, false, false, false},
                      {0x0001, 0xbfff, false, true, false, false},
                      {0xc000, 0xfffe, false, false, true, false},
                      {0xffff, 0xffff, false, false, false, true}};
  for (const auto& range : ranges) {
    for (unsigned value = range.first; value <= range.last; ++value) {
      const Lid lid(static_cast<std::uint16_t>(value));
      ASSERT_EQ(lid.is_reserved(), range.reserved) << value;
      ASSERT_EQ(lid.is_unicast(), range.unicast) << value;
      ASSERT_EQ(lid.is_multicast(), range.multicast) << value;
      ASSERT_EQ(lid.is_permissive(), range.permissive) << value;
    }
  }
  EXPECT_TRUE(kReservedLid.is_reserved());
  EXPECT_TRUE(kPermissiveLid.is_permissive());
}

TEST(Lid, IsAKey) {
  const std::unordered_set<Lid> lids{Lid(1), Lid(2), Lid(1)};
  EXPECT_EQ(lids.size(), 2U);
  EXPECT_LT(Lid(1), Lid(2));
}

TEST(LinkHeader, LiesWhereTheSpecificationPutsIt) {
  const Lrh bytes = bytes_of({0xf1, 0x2b, 0x12, 0x34, 0xfc, 0x05, 0xab, 0xcd});
  const LinkHeader header = decode_link_header(bytes);
  EXPECT_EQ(header.vl, 15);
  EXPECT_EQ(header.version, 1);
  EXPECT_EQ(header.sl, 2);
  EXPECT_EQ(header.reserved2, 2);
  EXPECT_EQ(header.next_header, LinkNextHeader::iba_global);
  EXPECT_EQ(header.dlid, Lid(0x1234));
  EXPECT_EQ(header.reserved5, 0x1f);
  EXPECT_EQ(header.packet_length, 0x405);
  EXPECT_EQ(header.bytes_before_vcrc(), 0x405U * 4);
  EXPECT_EQ(header.slid, Lid(0xabcd));
  EXPECT_EQ(dlid_of(bytes), Lid(0x1234));
}

TEST(LinkHeader, EveryBitIsEncodedAgain) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    Lrh bytes;
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    Lrh again{};
    encode_link_header(decode_link_header(bytes), again);
    ASSERT_EQ(again, bytes) << to_string(decode_link_header(bytes));
  }
}

TEST(LinkHeader, ValuesTooLargeStayInTheirFields) {
  LinkHeader header;
  header.vl = header.version = header.sl = header.reserved2 = 0xff;
  header.next_header = LinkNextHeader::raw;
  header.packet_length = 0xffff;
  Lrh out{};
  encode_link_header(header, out);
  EXPECT_EQ(out, bytes_of({0xff, 0xfc, 0, 0, 0x07, 0xff, 0, 0}));
}

TEST(LinkHeader, TheVlChangesAlone) {
  Lrh bytes = bytes_of({0x3a, 0x5e, 1, 2, 3, 4, 5, 6});
  set_vl(bytes, 0x1c);
  EXPECT_EQ(bytes, bytes_of({0xca, 0x5e, 1, 2, 3, 4, 5, 6}));
}

TEST(LinkHeader, HasWordsForPeople) {
  LinkHeader header;
  header.vl = 3;
  header.sl = 1;
  header.slid = Lid(1);
  header.dlid = Lid(0xc002);
  header.packet_length = 74;
  EXPECT_EQ(to_string(header), "VL 3 SL 1 LID 0x0001 > 0xc002, IBA local, 74 words");
}

}  // namespace
}  // namespace softrnic::wire
