// The hash by the verification suite that Microsoft publishes ("Verifying the RSS hash calculation").
#include "ethernet/toeplitz.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/unit/ethernet/frames.h"

namespace softrnic::ethernet {
namespace {

constexpr unsigned char kKey[] = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
                                  0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
                                  0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
                                  0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

ReceiveHash hash_of(std::uint32_t fields) {
  ReceiveHash hash;
  std::memcpy(hash.key.data(), kKey, sizeof kKey);
  hash.fields = fields;
  return hash;
}

constexpr std::uint32_t kAddresses4 = kHashSourceIpv4 | kHashDestinationIpv4;
constexpr std::uint32_t kAddresses6 = kHashSourceIpv6 | kHashDestinationIpv6;
constexpr std::uint32_t kTcpPorts = kHashSourceTcp | kHashDestinationTcp;

struct Vector {
  const char* source;
  unsigned source_port;
  const char* destination;
  unsigned destination_port;
  std::uint32_t addresses;  ///< hash of the addresses alone
  std::uint32_t all;        ///< and of the ports
};

ParsedFrame tcp(const Vector& v, int family) {
  ParsedFrame frame;
  frame.layers = kEthernet | kTcp | (family == AF_INET ? kIpv4 : kIpv6);
  HeaderFields& at = frame.key.stack[0];
  EXPECT_EQ(inet_pton(family, v.source, at.source_ip.data()), 1);
  EXPECT_EQ(inet_pton(family, v.destination, at.destination_ip.data()), 1);
  at.source_port = htons(static_cast<std::uint16_t>(v.source_port));
  at.destination_port = htons(static_cast<std::uint16_t>(v.destination_port));
  return frame;
}

TEST(ToeplitzTest, Ipv4) {
  constexpr Vector kVectors[] = {{"66.9.149.187", 2794, "161.142.100.80", 1766, 0x323e8fc2, 0x51ccc178},
                                 {"199.92.111.2", 14230, "65.69.140.83", 4739, 0xd718262a, 0xc626b0ea},
                                 {"24.19.198.95", 12898, "12.22.207.184", 38024, 0xd2d0a5de, 0x5c2b394a},
                                 {"38.27.205.30", 48228, "209.142.163.6", 2217, 0x82989176, 0xafc7327f},
                                 {"153.39.163.191", 44251, "202.188.127.2", 1303, 0x5d1809c5, 0x10e828a2}};
  for (const Vector& v : kVectors) {
    EXPECT_EQ(hash_of(kAddresses4).of(tcp(v, AF_INET)), v.addresses) << v.source;
    EXPECT_EQ(hash_of(kAddresses4 | kTcpPorts).of(tcp(v, AF_INET)), v.all) << v.source;
  }
}

TEST(ToeplitzTest, Ipv6) {
  constexpr Vector kVectors[] = {
      {"3ffe:2501:200:1fff::7", 2794, "3ffe:2501:200:3::1", 1766, 0x2cc18cd5, 0x40207d3d},
      {"3ffe:501:8::260:97ff:fe40:efab", 14230, "ff02::1", 4739, 0x0f0c461c, 0xdde51bbf},
      {"3ffe:1900:4545:3:200:f8ff:fe21:67cf", 44251, "fe80::200:f8ff:fe21:67cf", 38024, 0x4b61e985,
       0x02d1feef}};
  for (const Vector& v : kVectors) {
    EXPECT_EQ(hash_of(kAddresses6).of(tcp(v, AF_INET6)), v.addresses) << v.source;
    EXPECT_EQ(hash_of(kAddresses6 | kTcpPorts).of(tcp(v, AF_INET6)), v.all) << v.source;
  }
}

TEST(ToeplitzTest, FieldsThatTheFrameHasNotAreLeftOut) {
  const Vector v{"66.9.149.187", 2794, "161.142.100.80", 1766, 0x323e8fc2, 0x51ccc178};
  const std::uint32_t udp_ports = kHashSourceUdp | kHashDestinationUdp;
  EXPECT_EQ(hash_of(kAddresses4 | udp_ports).of(tcp(v, AF_INET)), v.addresses);
  EXPECT_EQ(hash_of(kAddresses6).of(tcp(v, AF_INET)), 0U);
  EXPECT_EQ(hash_of(kAddresses4 | kHashInner).of(tcp(v, AF_INET)), 0U) << "no tunnel";
}

TEST(ToeplitzTest, WithinATunnel) {
  test::FrameBuilder built;
  built.ethernet(0x0800).ipv4(17).udp(1, 4789).vxlan(1).ethernet(0x0800).ipv4(6).tcp(1, 2);
  test::FrameBuilder plain;
  plain.ethernet(0x0800).ipv4(6).tcp(1, 2);
  const std::uint32_t fields = kAddresses4 | kTcpPorts;
  EXPECT_EQ(hash_of(fields | kHashInner).of(parse(built)), hash_of(fields).of(parse(plain)));
}

}  // namespace
}  // namespace softrnic::ethernet
