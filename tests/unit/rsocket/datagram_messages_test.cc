// The headers of datagram rsockets, byte for byte as docs/rsocket of rdma-core lays them out; no packets of
// the kernel's driver are there to compare with.
#include "rsocket/datagram_messages.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace softrnic::rsocket {
namespace {

InetAddress address_of(const std::string& text, std::uint16_t port) {
  InetAddress out;
  std::array<std::byte, 4> v4{};
  if (inet_pton(AF_INET, text.c_str(), v4.data()) == 1) return InetAddress::ipv4(v4.data(), port);
  EXPECT_EQ(inet_pton(AF_INET6, text.c_str(), out.host.data()), 1);
  out.port = port;
  return out;
}

std::vector<std::byte> bytes_of(std::initializer_list<unsigned> values) {
  std::vector<std::byte> out;
  for (const unsigned value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

std::vector<std::byte> copy_of(const HeaderBytes& header, std::size_t payload = 0) {
  std::vector<std::byte> out(header.bytes().begin(), header.bytes().end());
  out.resize(out.size() + payload, std::byte{'x'});
  return out;
}

TEST(DatagramHeaders, StandInNetworkOrder) {
  const InetAddress v4 = address_of("10.1.2.3", 0x1c06);
  EXPECT_EQ(copy_of(udp_header(UdpOp::data, 0x123456, v4, AF_INET)),
            bytes_of({0x55, 0x55, 0x55, 0x55, 4, 0, 16, 0, 0, 0x12, 0x34, 0x56, 10, 1, 2, 3}));
  EXPECT_EQ(copy_of(datagram_header(v4, AF_INET)), bytes_of({4, 8, 0x1c, 0x06, 10, 1, 2, 3}));
  const InetAddress v6 = address_of("fd00::7", 0x1c06);
  EXPECT_EQ(copy_of(udp_header(UdpOp::control, 2, v6, AF_INET6)),
            bytes_of({0x55, 0x55, 0x55, 0x55, 6, 7, 28, 0, 0, 0, 0, 2, 0xfd, 0,
                      0,    0,    0,    0,    0, 0, 0,  0, 0, 0, 0, 0, 0,    7}));
  EXPECT_EQ(copy_of(datagram_header(v6, AF_INET6)),
            bytes_of({6, 24, 0x1c, 0x06, 0, 0, 0, 0, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7}));
}

TEST(DatagramHeaders, AreReadBack) {
  for (const auto& [text, family] : {std::pair{"10.1.2.3", AF_INET}, {"fd00::7", AF_INET6}}) {
    const InetAddress sender = address_of(text, 7174);
    const auto by_udp = copy_of(udp_header(UdpOp::data, 0xfffffe, sender, family), 5);
    const auto message = decode_udp(by_udp);
    ASSERT_TRUE(message);
    EXPECT_EQ(message->op, UdpOp::data);
    EXPECT_EQ(message->qpn, 0xfffffeU);
    EXPECT_EQ(message->payload.size(), 5U);
    const auto by_ud = copy_of(datagram_header(sender, family), 3);
    const auto datagram = decode_datagram(by_ud);
    ASSERT_TRUE(datagram);
    EXPECT_EQ(datagram->sender, sender);
    EXPECT_EQ(datagram->payload.size(), 3U);
  }
}

TEST(DatagramHeaders, WhatComesByUdpIsNotBelieved) {
  const auto good = copy_of(udp_header(UdpOp::data, 17, address_of("10.1.2.3", 1), AF_INET), 20);
  ASSERT_TRUE(decode_udp(good));
  for (std::size_t size = 0; size < udp_header_size(AF_INET); ++size)
    EXPECT_FALSE(decode_udp(Bytes(good).first(size))) << size;
  const auto with = [&](std::size_t at, unsigned value) {
    auto changed = good;
    changed[at] = static_cast<std::byte>(value);
    return decode_udp(changed).has_value();
  };
  EXPECT_FALSE(with(0, 0x54)) << "the tag";
  EXPECT_FALSE(with(4, 6)) << "a version of another length";
  EXPECT_FALSE(with(4, 0));
  EXPECT_FALSE(with(6, 0)) << "the length";
  EXPECT_FALSE(with(6, 28));
  for (const unsigned op : {1U, 2U, 4U, 6U, 8U, 255U}) EXPECT_FALSE(with(5, op)) << op;
  EXPECT_TRUE(with(5, 7));
  EXPECT_TRUE(with(8, 0xff)) << "bits that are reserved";
  EXPECT_FALSE(with(11, 1)) << "QP1 is the connection manager's";
  EXPECT_FALSE(with(11, 0));
  auto multicast = good;
  for (std::size_t at : {9, 10, 11}) multicast[at] = std::byte{0xff};
  EXPECT_FALSE(decode_udp(multicast));
  const auto v6 = copy_of(udp_header(UdpOp::data, 17, address_of("fd00::7", 1), AF_INET6));
  EXPECT_FALSE(decode_udp(Bytes(v6).first(27)));
}

TEST(DatagramHeaders, WhatComesByUdIsNotBelieved) {
  const auto v4 = copy_of(datagram_header(address_of("10.1.2.3", 1), AF_INET));
  const auto v6 = copy_of(datagram_header(address_of("fd00::7", 1), AF_INET6));
  for (std::size_t size = 0; size < v4.size(); ++size)
    EXPECT_FALSE(decode_datagram(Bytes(v4).first(size))) << size;
  for (std::size_t size = 0; size < v6.size(); ++size)
    EXPECT_FALSE(decode_datagram(Bytes(v6).first(size))) << size;
  for (auto bytes : {v4, v6}) {
    bytes[1] ^= std::byte{0x10};
    EXPECT_FALSE(decode_datagram(bytes)) << "the length";
    bytes[1] ^= std::byte{0x10};
    bytes[0] = std::byte{5};
    EXPECT_FALSE(decode_datagram(bytes)) << "the version";
  }
}

TEST(DatagramHeaders, ThePacketTellsItsHosts) {
  std::array<std::byte, kGrhSize> grh{};
  grh[20] = std::byte{0x45};
  std::ranges::copy(bytes_of({10, 0, 0, 1, 10, 0, 0, 2}), grh.begin() + 32);
  EXPECT_EQ(packet_source(grh), address_of("10.0.0.1", 0));
  EXPECT_EQ(packet_destination(grh), address_of("10.0.0.2", 0));
  grh = {};
  grh[0] = std::byte{0x60};
  grh[8] = grh[24] = std::byte{0xfd};
  grh[23] = std::byte{1};
  grh[39] = std::byte{2};
  EXPECT_EQ(packet_source(grh), address_of("fd00::1", 0));
  EXPECT_EQ(packet_destination(grh), address_of("fd00::2", 0));
}

TEST(InetAddresses, AreOneValueForBothFamilies) {
  const InetAddress v4 = address_of("10.1.2.3", 80);
  const sockaddr_storage as4 = v4.as(AF_INET), as6 = v4.as(AF_INET6);
  EXPECT_EQ(as4.ss_family, AF_INET);
  EXPECT_EQ(as6.ss_family, AF_INET6);
  EXPECT_EQ(InetAddress::of(generic(as4)), v4);
  EXPECT_EQ(InetAddress::of(generic(as6)), v4) << "::ffff:10.1.2.3";
  EXPECT_EQ(v4.as_own().ss_family, AF_INET);
  EXPECT_TRUE(v4.is_ipv4());
  EXPECT_FALSE(v4.is_any() || v4.is_loopback() || v4.is_link_local());
  EXPECT_TRUE(address_of("0.0.0.0", 0).is_any());
  EXPECT_TRUE(address_of("::", 0).is_any());
  EXPECT_TRUE(address_of("127.3.2.1", 0).is_loopback());
  EXPECT_TRUE(address_of("::1", 0).is_loopback());
  EXPECT_EQ(address_of("0.0.0.0", 7).loopback(), address_of("127.0.0.1", 7));
  EXPECT_EQ(address_of("::", 7).loopback(), address_of("::1", 7));
}

TEST(InetAddresses, ScopesAreOfLinkLocalOnesOnly) {
  InetAddress link_local = address_of("fe80::1", 5);
  link_local.scope = 3;
  const sockaddr_storage as = link_local.as_own();
  EXPECT_EQ(reinterpret_cast<const sockaddr_in6&>(as).sin6_scope_id, 3U);
  EXPECT_EQ(InetAddress::of(generic(as)), link_local);
  sockaddr_in6 global{};
  global.sin6_family = AF_INET6;
  global.sin6_addr.s6_addr[0] = 0xfd;
  global.sin6_scope_id = 3;
  EXPECT_EQ(InetAddress::of(reinterpret_cast<const sockaddr&>(global)).scope, 0U);
}

TEST(InetAddresses, OfAProgramAreChecked) {
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  const auto* const address = reinterpret_cast<const sockaddr*>(&six);
  EXPECT_TRUE(known_address(address, sizeof six));
  EXPECT_EQ(known_address(address, sizeof(sockaddr_in)).error(), EINVAL) << "shorter than its family";
  EXPECT_EQ(known_address(address, 2).error(), EINVAL);
  EXPECT_EQ(known_address(nullptr, sizeof six).error(), EFAULT);
  six.sin6_family = AF_UNIX;
  EXPECT_EQ(known_address(address, sizeof six).error(), EAFNOSUPPORT);
}

}  // namespace
}  // namespace softrnic::rsocket
