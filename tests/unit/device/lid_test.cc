#include "device/lid.h"

#include <gtest/gtest.h>

namespace softrnic::device::test {
namespace {

wire::Gid ipv4(std::uint32_t address) { return wire::Gid::from_ipv4_be(__builtin_bswap32(address)); }

wire::Gid ipv6() {
  wire::Gid gid;
  gid.raw[0] = std::byte{0xfe};
  gid.raw[1] = std::byte{0x80};
  gid.raw[15] = std::byte{1};
  return gid;
}

PortInfo port_with(std::vector<wire::Gid> gids) {
  PortInfo port;
  for (const auto& gid : gids) port.gids.push_back({gid, 1});
  return port;
}

TEST(Lid, IsTheEndOfTheFirstIpv4Address) {
  EXPECT_EQ(port_lid(port_with({ipv6(), ipv4(0x0a010203), ipv4(0x0a010204)})), 0x0203);
  EXPECT_EQ(port_lid(port_with({ipv4(0x7f000001), ipv4(0x0a010203)})), 0x0203) << "rather not 127.0.0.1";
  EXPECT_EQ(port_lid(port_with({ipv4(0x7f000001)})), 1);
  EXPECT_EQ(port_lid(port_with({ipv6()})), 0);
  EXPECT_EQ(port_lid(port_with({})), 0);
}

TEST(Lid, LeadsToTheHostOfTheSameNetwork) {
  const PortInfo port = port_with({ipv6(), ipv4(0x0a010203)});
  const auto route = route_of_lid(port, 0x0507);
  ASSERT_TRUE(route);
  EXPECT_EQ(route->source_gid_index, 1);
  EXPECT_EQ(route->destination, ipv4(0x0a010507));
  EXPECT_EQ(route_of_lid(port, port_lid(port))->destination, ipv4(0x0a010203))
      << "its own LID leads to itself";
}

TEST(Lid, ZeroLeadsNowhere) {
  EXPECT_FALSE(route_of_lid(port_with({ipv4(0x0a010203)}), 0));
  EXPECT_FALSE(route_of_lid(port_with({ipv6()}), 7));
}

}  // namespace
}  // namespace softrnic::device::test
