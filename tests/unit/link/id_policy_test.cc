#include "link/id_policy.h"

#include <gtest/gtest.h>

namespace softrnic::link {
namespace {

const wire::Gid kPeer = wire::Gid::from_ipv4_be(0x0100007f);
const wire::Gid kOther = wire::Gid::from_ipv4_be(0x0200007f);

TEST(IdPolicy, ZeroBasedPeersMayUseBatchIdsOnly) {
  IdPolicy ids;
  EXPECT_TRUE(ids.accept(kPeer, 0));
  for (std::uint16_t id = 0; id < 64; ++id) EXPECT_TRUE(ids.accept(kPeer, id));
  EXPECT_FALSE(ids.accept(kPeer, 5000));
  EXPECT_TRUE(ids.accept(kPeer, 0));
  EXPECT_EQ(ids.expected(kPeer), 0);
}

TEST(IdPolicy, CountingPeersAreLearnedFromTwoPackets) {
  IdPolicy ids;
  EXPECT_FALSE(ids.accept(kPeer, 40000));
  EXPECT_TRUE(ids.accept(kPeer, 40001));
  EXPECT_EQ(ids.expected(kPeer), 40002);
  EXPECT_TRUE(ids.accept(kPeer, 40003));
  EXPECT_TRUE(ids.accept(kPeer, 40002));  // reordered
  EXPECT_TRUE(ids.accept(kPeer, 41000));
  EXPECT_FALSE(ids.accept(kPeer, 20000));
  EXPECT_TRUE(ids.accept(kPeer, 41001));
}

TEST(IdPolicy, TheCountMayWrapAndJump) {
  IdPolicy ids;
  EXPECT_FALSE(ids.accept(kPeer, 65530));
  EXPECT_TRUE(ids.accept(kPeer, 65535));
  EXPECT_TRUE(ids.accept(kPeer, 3));
  EXPECT_FALSE(ids.accept(kPeer, 30000));
  EXPECT_TRUE(ids.accept(kPeer, 30001));
  EXPECT_FALSE(ids.accept(kPeer, 4));
}

TEST(IdPolicy, OneRepeatedGuessIsNotBelieved) {
  IdPolicy ids;
  EXPECT_TRUE(ids.accept(kPeer, 0));
  EXPECT_FALSE(ids.accept(kPeer, 9000));
  EXPECT_FALSE(ids.accept(kPeer, 9000));
}

TEST(IdPolicy, PeersAreIndependent) {
  IdPolicy ids;
  EXPECT_FALSE(ids.accept(kPeer, 7000));
  EXPECT_FALSE(ids.accept(kOther, 7001));
  EXPECT_TRUE(ids.accept(kPeer, 7001));
}

}  // namespace
}  // namespace softrnic::link
