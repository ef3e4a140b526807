#include "device/pkey.h"

#include <gtest/gtest.h>

namespace softrnic::device {
namespace {

TEST(Pkey, OfOnePartitionAreThoseWithTheSameLow15Bits) {
  EXPECT_TRUE(same_partition(0x8001, 0x0001));
  EXPECT_FALSE(same_partition(0x8001, 0x8002));
  EXPECT_FALSE(same_partition(0x8000, 0x0000)) << "of none";
}

TEST(Pkey, TwoLimitedMembersDoNotTalk) {
  EXPECT_TRUE(pkeys_match(0xffff, 0xffff));
  EXPECT_TRUE(pkeys_match(0x7fff, 0xffff));
  EXPECT_TRUE(pkeys_match(0xffff, 0x7fff));
  EXPECT_FALSE(pkeys_match(0x7fff, 0x7fff));
  EXPECT_FALSE(pkeys_match(0x8000, 0x8000));
}

TEST(Pkey, FullMembershipIsFoundBeforeLimited) {
  constexpr std::uint16_t kTable[] = {0, 0x0001, 0x8001, 0x0002, 0x8000};
  EXPECT_EQ(pkey_index(kTable, 0x0001), 2);
  EXPECT_EQ(pkey_index(kTable, 0x8002), 3);
  EXPECT_EQ(pkey_index(kTable, 0x8003), std::nullopt);
  EXPECT_EQ(pkey_index(kTable, 0x0000), std::nullopt) << "empty entries are of no partition";
  EXPECT_EQ(pkey_index({}, 0xffff), std::nullopt);
}

}  // namespace
}  // namespace softrnic::device
