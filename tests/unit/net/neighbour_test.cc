// Routes and neighbours of a network namespace of the test's own: loopback, and a veth pair
// with a gateway behind it.
#include "net/neighbour.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <net/if.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "base/reason_id.h"
#include "net/route_netlink.h"

namespace softrnic::net {
namespace {

using testing::Each;
using testing::ElementsAre;

wire::Gid gid(const std::string& address) {
  wire::Gid out;
  in_addr ipv4;
  if (inet_pton(AF_INET, address.c_str(), &ipv4) == 1) return wire::Gid::from_ipv4_be(ipv4.s_addr);
  EXPECT_EQ(inet_pton(AF_INET6, address.c_str(), out.raw.data()), 1) << address;
  return out;
}

bool shell(const std::string& command) { return std::system((command + " 2>/dev/null").c_str()) == 0; }

TEST(Neighbour, AddressesOfThisHostHaveTheMacOfTheirNetdev) {
  for (const char* own : {"127.0.0.1", "::1"}) {
    const auto found = resolve_neighbour(gid(own), if_nametoindex("lo"));
    ASSERT_TRUE(found) << own;
    EXPECT_THAT(found->mac, Each(0)) << own;
    EXPECT_EQ(found->vlan, Neighbour::kNoVlan);
  }
}

TEST(Neighbour, GroupsMapToTheirMacs) {
  const auto ipv4 = resolve_neighbour(gid("239.129.2.3"), if_nametoindex("lo"));
  ASSERT_TRUE(ipv4);
  EXPECT_THAT(ipv4->mac, ElementsAre(0x01, 0x00, 0x5e, 0x01, 2, 3));  // RFC 1112 6.4: the low 23 bits
  const auto ipv6 = resolve_neighbour(gid("ff0e::1:203:405"), if_nametoindex("lo"));
  ASSERT_TRUE(ipv6);
  EXPECT_THAT(ipv6->mac, ElementsAre(0x33, 0x33, 2, 3, 4, 5));  // RFC 2464 7: the low 32 bits
}

class NeighbourOnLink : public testing::Test {
 protected:
  void SetUp() override {
    if (!shell("ip link add n0 type veth peer name n1 && ip link set n0 up && ip link set n1 up && "
               "ip address add 10.9.0.1/24 dev n0 && "
               "ip neighbour add 10.9.0.2 lladdr 02:00:00:00:09:02 dev n0 nud permanent && "
               "ip route add 10.10.0.0/16 via 10.9.0.2"))
      GTEST_SKIP() << "no veth here";
    index_ = if_nametoindex("n0");
  }
  void TearDown() override { shell("ip link delete n0"); }

  std::uint32_t index_ = 0;
};

TEST_F(NeighbourOnLink, IsTheNextHop) {
  for (const char* destination : {"10.9.0.2", "10.10.1.1"}) {
    RouteNetlink kernel;
    ASSERT_TRUE(kernel.valid());
    const auto route = kernel.route({.destination = gid(destination)});
    ASSERT_TRUE(route) << destination;
    EXPECT_FALSE(route->is_local);
    EXPECT_EQ(route->interface_index, index_);
    EXPECT_EQ(route->next_hop, gid("10.9.0.2"));
    const auto found = resolve_neighbour(gid(destination), index_);
    ASSERT_TRUE(found) << destination;
    EXPECT_THAT(found->mac, ElementsAre(2, 0, 0, 0, 9, 2)) << destination;
  }
}

TEST_F(NeighbourOnLink, WithoutRouteIsRefused) {
  const auto nowhere = resolve_neighbour(gid("192.0.2.1"), index_);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().error, EHOSTUNREACH);
  EXPECT_EQ(nowhere.error().reason.id, ReasonId::no_route);
  EXPECT_EQ(nowhere.error().reason.figures[2], std::uint64_t{ENETUNREACH});
}

}  // namespace
}  // namespace softrnic::net
