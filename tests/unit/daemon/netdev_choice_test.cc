#include "daemon/netdev_choice.h"

#include <gtest/gtest.h>

#include "tests/unit/daemon/network.h"

namespace softrnic::daemon {
namespace {

std::string choice(const net::NetSnapshot& snapshot) {
  const net::Netdev* netdev = choose_netdev(snapshot);
  return netdev != nullptr ? netdev->name : "";
}

Network three() {
  Network n;
  n.netdev(1, "lo").netdev(2, "eth0").netdev(3, "eth1");
  n.address(1, "127.0.0.1").address(2, "10.0.0.1").address(3, "10.0.1.1");
  return n;
}

TEST(NetdevChoice, LowestMetricOfTheIpv4DefaultRoutes) {
  EXPECT_EQ(choice(three().route(2, 100).route(3, 50)), "eth1");
  EXPECT_EQ(choice(three().route(2, 100).route(3, 50, true)), "eth0");
  EXPECT_EQ(choice(three().route(3, 1024, true)), "eth1");
}

TEST(NetdevChoice, RouteThroughANetdevWithoutAddressIsPassedOver) {
  Network n;
  n.netdev(1, "lo").netdev(2, "tun0").netdev(3, "eth1").address(3, "10.0.1.1").route(2, 0).route(9, 0);
  EXPECT_EQ(choice(n), "eth1");
}

TEST(NetdevChoice, FirstThatIsUpWithAnAddress) {
  EXPECT_EQ(choice(three()), "eth0");
  Network n;
  n.netdev(1, "lo").netdev(2, "eth0", false).netdev(3, "eth1").netdev(4, "eth2");
  n.address(2, "10.0.0.1").address(3, "fe80::1").address(4, "10.0.2.1");
  EXPECT_EQ(choice(n), "eth2") << "a routable address counts more than a link-local one";
  n.addresses.pop_back();
  EXPECT_EQ(choice(n), "eth1");
}

TEST(NetdevChoice, LoopbackWhenThereIsNothingElse) {
  EXPECT_EQ(choice(Network().netdev(1, "lo", false).netdev(2, "eth0")), "lo");
  EXPECT_EQ(choice(Network()), "");
}

TEST(NetdevChoice, ActiveMtuLeavesRoomForAllHeaders) {
  EXPECT_EQ(active_mtu_for(65536), 4096U);
  EXPECT_EQ(active_mtu_for(9000), 4096U);
  EXPECT_EQ(active_mtu_for(4096 + 96), 4096U);
  EXPECT_EQ(active_mtu_for(4096 + 95), 2048U);
  EXPECT_EQ(active_mtu_for(1500), 1024U);
  EXPECT_EQ(active_mtu_for(1280), 1024U);
  EXPECT_EQ(active_mtu_for(576), 256U);
  EXPECT_EQ(active_mtu_for(68), 256U);
}

TEST(NetdevChoice, GuidIsTheEui64OfTheMac) {
  net::Netdev n;
  n.mac = {0x00, 0x1b, 0x21, 0xaa, 0xbb, 0xcc};
  EXPECT_EQ(guid_for(n, "h"), 0x021b'21ff'feaa'bbccU);
}

TEST(NetdevChoice, GuidWithoutMacIsStableAndLocal) {
  net::Netdev lo, tun;
  lo.name = "lo";
  tun.name = "tun0";
  EXPECT_EQ(guid_for(lo, "a"), guid_for(lo, "a"));
  EXPECT_NE(guid_for(lo, "a"), guid_for(lo, "b"));
  EXPECT_NE(guid_for(lo, "a"), guid_for(tun, "a"));
  EXPECT_EQ(guid_for(lo, "a") >> 56 & 3, 0U);
}

}  // namespace
}  // namespace softrnic::daemon
