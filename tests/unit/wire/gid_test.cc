#include "wire/gid.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

namespace softrnic::wire {
namespace {

Gid gid_of(const char* text) {
  Gid gid;
  EXPECT_EQ(inet_pton(AF_INET6, text, gid.raw.data()), 1) << text;
  return gid;
}

TEST(Gid, Ipv4MappedBothWays) {
  const Gid gid = Gid::from_ipv4_be(htonl(0x0a4d000b));
  EXPECT_EQ(gid, gid_of("::ffff:10.77.0.11"));
  EXPECT_TRUE(gid.is_ipv4());
  EXPECT_EQ(gid.ipv4_be(), htonl(0x0a4d000b));
  EXPECT_EQ(gid.to_string(), "::ffff:10.77.0.11");
  EXPECT_FALSE(gid.is_multicast());
  EXPECT_FALSE(gid.is_zero());
}

TEST(Gid, Ipv6IsNotIpv4) {
  for (const char* text : {"::1", "fd77::12", "::10.77.0.11", "1::ffff:10.77.0.11", "::fffe:10.77.0.11"}) {
    EXPECT_FALSE(gid_of(text).is_ipv4()) << text;
    EXPECT_EQ(gid_of(text).ipv4_be(), 0U) << text;
  }
  EXPECT_EQ(gid_of("fd77::12").to_string(), "fd77::12");
  EXPECT_TRUE(gid_of("::").is_zero());
}

TEST(Gid, MulticastOfBothFamilies) {
  EXPECT_TRUE(gid_of("ff0e::1").is_multicast());
  EXPECT_TRUE(gid_of("::ffff:224.0.0.1").is_multicast());
  EXPECT_TRUE(gid_of("::ffff:239.255.255.255").is_multicast());
  EXPECT_FALSE(gid_of("::ffff:223.255.255.255").is_multicast());
  EXPECT_FALSE(gid_of("::ffff:240.0.0.0").is_multicast());
  EXPECT_FALSE(gid_of("fe80::1").is_multicast());
  EXPECT_FALSE(gid_of("::e000:1").is_multicast());
}

TEST(Gid, LinkLocalIsTenBits) {
  EXPECT_TRUE(gid_of("fe80::1").is_link_local());
  EXPECT_TRUE(gid_of("febf::1").is_link_local());
  EXPECT_FALSE(gid_of("fec0::1").is_link_local());
  EXPECT_FALSE(gid_of("fd80::1").is_link_local());
}

TEST(Gid, OfALidIsNoOther) {
  for (const Lid lid : {Lid(0x0000), Lid(0x0001), Lid(0xbfff), Lid(0xc000), Lid(0xffff)}) {
    const Gid gid = Gid::of_lid(lid);
    EXPECT_TRUE(gid.is_lid());
    EXPECT_EQ(gid.lid(), lid);
    EXPECT_FALSE(gid.is_ipv4() || gid.is_multicast() || gid.is_link_local() || gid.is_zero());
  }
  EXPECT_EQ(Gid::of_lid(Lid(7)).to_string(), "LID 0x0007");
  EXPECT_FALSE(Gid{}.is_lid());
  EXPECT_FALSE(Gid::ipv4_loopback().is_lid());
}

}  // namespace
}  // namespace softrnic::wire
