#include "daemon/port_holder.h"

#include <gtest/gtest.h>

namespace softrnic::daemon {
namespace {

constexpr const char* kUdp6 =
    "  sl  local_address                         remote_address                        st tx_queue rx_queue "
    "tr tm->when "
    "retrnsmt   uid  timeout inode ref pointer drops\n"
    " 1234: 00000000000000000000000000000000:12B7 00000000000000000000000000000000:0000 07 00000000:00000000 "
    "00:00000000 "
    "00000000  1000        0 97284 2 0000000000000000 0\n"
    " 1235: 00000000000000000000000001000000:0035 00000000000000000000000000000000:0000 07 00000000:00000000 "
    "00:00000000 "
    "00000000     0        0 11 2 0000000000000000 0\n";
constexpr const char* kUdp =
    "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref "
    "pointer drops\n"
    "  511: 00000000:12B7 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4711 2 "
    "0000000000000000 0\n";

TEST(PortHolder, FindsUidAndInode) {
  const auto six = holders_in(kUdp6, 4791);
  ASSERT_EQ(six.size(), 1U);
  EXPECT_EQ(six[0].uid, 1000U);
  EXPECT_EQ(six[0].inode, 97284U);
  const auto four = holders_in(kUdp, 4791);
  ASSERT_EQ(four.size(), 1U);
  EXPECT_EQ(four[0].uid, 0U);
  EXPECT_EQ(four[0].inode, 4711U);
}

TEST(PortHolder, NonsenseHoldsNothing) {
  EXPECT_TRUE(holders_in("", 4791).empty());
  EXPECT_TRUE(holders_in("12: :\n\n 4791", 4791).empty());
  EXPECT_TRUE(holders_in(kUdp, 4790).empty());
}

}  // namespace
}  // namespace softrnic::daemon
