// From addresses of groups to MGIDs: vectors of RFC 4391 (section 4), and of what Linux makes of them in
// ip_ib_mc_map() and cma_set_mgid().
#include "cma/multicast_group.h"

#include "tests/unit/cma/network.h"

namespace softrnic::cma {
namespace {

struct Row {
  const char* group;
  std::uint16_t pkey;
  PortSpace space;
  const char* mgid;
};
constexpr Row kRows[] = {
    {"224.0.0.1", 0xffff, PortSpace::ib, "ff12:401b:ffff::1"},
    {"239.255.255.255", 0x8001, PortSpace::ib, "ff12:401b:8001::fff:ffff"},
    {"239.1.2.3", 0xffff, PortSpace::udp, "ff12:4001:ffff::f01:203"},
    {"ff02::1", 0xffff, PortSpace::ib, "ff12:601b:ffff::1"},
    {"ff0e:1:2:3:4:5:6:7", 0x8001, PortSpace::ib, "ff12:601b:8001:3:4:5:6:7"},
    {"ff0e::9", 0xffff, PortSpace::udp, "ff12:6001:ffff::9"},
    {"ff15:a01b:1::2", 0xffff, PortSpace::udp, "ff15:a01b:1::2"},  // made by a subnet administrator
    {"0.0.0.0", 0xffff, PortSpace::udp, "::"},
    {"::", 0xffff, PortSpace::udp, "::"},
};

TEST(MulticastGroup, IsMappedAsIpoibDoes) {
  for (const Row& row : kRows)
    EXPECT_EQ(multicast_gid(address(row.group), row.pkey, row.space), address(row.mgid).host)
        << row.group << " " << multicast_gid(address(row.group), row.pkey, row.space).to_string();
}

TEST(MulticastGroup, AGidIsOne) {
  SocketAddress group;
  group.family = Family::ib;
  group.host = address("ff18::77").host;
  EXPECT_EQ(multicast_gid(group, 0xffff, PortSpace::udp), group.host);
}

TEST(MulticastGroup, TheBroadcastGroupIsThatOfThePartition) {
  EXPECT_EQ(broadcast_gid(0xffff), address("ff12:401b:ffff::ffff:ffff").host);
  EXPECT_EQ(broadcast_gid(0x8001), address("ff12:401b:8001::ffff:ffff").host);
}

}  // namespace
}  // namespace softrnic::cma
