// What a frame is read as. Offsets and numbers are those of the RFCs.
#include "ethernet/flow_key.h"

#include <gtest/gtest.h>

#include "tests/unit/ethernet/frames.h"

namespace softrnic::ethernet {
namespace {

using test::FrameBuilder;

std::uint16_t be(unsigned value) { return __builtin_bswap16(static_cast<std::uint16_t>(value)); }
constexpr std::uint32_t inner(std::uint32_t layers) { return layers << kInnerShift; }

TEST(FlowKeyTest, UdpOverIpv4) {
  const ParsedFrame frame = parse(FrameBuilder().ethernet(0x0800).ipv4(17).udp(1234, 5678));
  EXPECT_EQ(frame.layers, kEthernet | kIpv4 | kUdp);
  const HeaderFields& at = frame.key.stack[0];
  EXPECT_EQ(at.destination_mac[5], std::byte{1});
  EXPECT_EQ(at.source_mac[5], std::byte{2});
  EXPECT_EQ(at.ether_type, be(0x0800));
  EXPECT_EQ(at.source_ip[3], std::byte{1});
  EXPECT_EQ(at.destination_ip[3], std::byte{2});
  EXPECT_EQ(at.protocol, 17);
  EXPECT_EQ(at.traffic_class, 0x12);
  EXPECT_EQ(at.hop_limit, 64);
  EXPECT_EQ(at.ip_flags, kIpv4DontFragmentBit);
  EXPECT_EQ(at.source_port, be(1234));
  EXPECT_EQ(at.destination_port, be(5678));
}

TEST(FlowKeyTest, TcpOverIpv6) {
  const ParsedFrame frame = parse(FrameBuilder().ethernet(0x86dd).ipv6(6).tcp(1, 2));
  EXPECT_EQ(frame.layers, kEthernet | kIpv6 | kTcp);
  const HeaderFields& at = frame.key.stack[0];
  EXPECT_EQ(at.flow_label, __builtin_bswap32(0x34567));
  EXPECT_EQ(at.traffic_class, 0x12);
  EXPECT_EQ(at.hop_limit, 63);
  EXPECT_EQ(at.protocol, 6);
  EXPECT_EQ(at.destination_ip[15], std::byte{2});
}

TEST(FlowKeyTest, ExtensionHeadersAreGoneThrough) {
  // hop-by-hop of 16 bytes, destination options of 8, then UDP
  FrameBuilder built;
  built.ethernet(0x86dd).ipv6(0).raw({60, 1}).zeros(14).raw({17, 0}).zeros(6).udp(7, 8);
  const ParsedFrame frame = parse(built);
  EXPECT_EQ(frame.layers, kEthernet | kIpv6 | kUdp);
  EXPECT_EQ(frame.key.stack[0].protocol, 17);
  EXPECT_EQ(frame.key.stack[0].source_port, be(7));
}

TEST(FlowKeyTest, VlanTagsStandBeforeTheType) {
  FrameBuilder one;
  one.ethernet(0x8100).be16(0x5c0c).be16(0x0800).ipv4(17).udp(1, 2);
  EXPECT_EQ(parse(one).layers, kEthernet | kVlan | kIpv4 | kUdp);
  EXPECT_EQ(parse(one).key.stack[0].vlan, be(0x5c0c));
  FrameBuilder two;
  two.ethernet(0x88a8).be16(5).be16(0x8100).be16(6).be16(0x86dd).ipv6(17).udp(1, 2);
  EXPECT_EQ(parse(two).key.stack[0].vlan, be(5)) << "the first";
  EXPECT_EQ(parse(two).key.stack[0].ether_type, be(0x86dd)) << "behind the last";
}

TEST(FlowKeyTest, OnlyTheFirstFragmentHasPorts) {
  EXPECT_EQ(parse(FrameBuilder().ethernet(0x0800).ipv4(17, 0x2000).udp(1, 2)).layers,
            kEthernet | kIpv4 | kUdp);
  EXPECT_EQ(parse(FrameBuilder().ethernet(0x0800).ipv4(17, 0x2001).udp(1, 2)).layers, kEthernet | kIpv4);
  FrameBuilder later;
  later.ethernet(0x86dd).ipv6(44).raw({17, 0}).be16(8).zeros(4).udp(1, 2);
  EXPECT_EQ(parse(later).layers, kEthernet | kIpv6);
  EXPECT_EQ(parse(later).key.stack[0].protocol, 17);
}

TEST(FlowKeyTest, VxlanHasAnotherFrameInside) {
  FrameBuilder built;
  built.ethernet(0x0800).ipv4(17).udp(40000, 4789).vxlan(7777777).ethernet(0x86dd).ipv6(6).tcp(3, 4);
  const ParsedFrame frame = parse(built);
  EXPECT_EQ(frame.layers, kEthernet | kIpv4 | kUdp | kVxlan | inner(kEthernet | kIpv6 | kTcp));
  EXPECT_EQ(frame.key.tunnel_id, __builtin_bswap32(7777777));
  EXPECT_EQ(frame.key.stack[1].destination_port, be(4));
}

TEST(FlowKeyTest, GreWithItsOptionalFields) {
  FrameBuilder built;
  built.ethernet(0x0800)
      .ipv4(47)
      .be16(0xb000)
      .be16(0x0800)
      .zeros(4)
      .be32(0x12345678)
      .zeros(4)
      .ipv4(17)
      .udp(5, 6);
  const ParsedFrame frame = parse(built);
  EXPECT_EQ(frame.layers, kEthernet | kIpv4 | kGre | inner(kIpv4 | kUdp));
  EXPECT_EQ(frame.key.gre_flags, be(0xb000));
  EXPECT_EQ(frame.key.gre_protocol, be(0x0800));
  EXPECT_EQ(frame.key.gre_key, __builtin_bswap32(0x12345678));
  EXPECT_EQ(frame.key.stack[1].source_port, be(5));
}

TEST(FlowKeyTest, MplsAndEsp) {
  FrameBuilder labels;
  labels.ethernet(0x8847).be32(0x00064040).be32(0x000c8140).ipv4(17).udp(9, 10);
  const ParsedFrame frame = parse(labels);
  EXPECT_EQ(frame.layers, kEthernet | kMpls | inner(kIpv4 | kUdp));
  EXPECT_EQ(frame.key.stack[0].mpls_label, __builtin_bswap32(0x00064040)) << "the one on top";
  const ParsedFrame esp = parse(FrameBuilder().ethernet(0x0800).ipv4(50).be32(77).be32(1));
  EXPECT_EQ(esp.layers, kEthernet | kIpv4 | kEsp);
  EXPECT_EQ(esp.key.stack[0].esp_spi, __builtin_bswap32(77));
}

TEST(FlowKeyTest, WhatIsCutOffIsNotThere) {
  FrameBuilder built;
  built.ethernet(0x8100).be16(1).be16(0x0800).ipv4(17).udp(1, 4789).vxlan(5).ethernet(0x0800).ipv4(6).tcp(1,
                                                                                                          2);
  const Bytes whole = built;
  std::uint32_t before = 0;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const std::uint32_t layers = parse(whole.first(size)).layers;
    EXPECT_EQ(layers & before, before) << "more bytes, no fewer headers: " << size;
    before = layers;
  }
  EXPECT_EQ(before, kEthernet | kVlan | kIpv4 | kUdp | kVxlan | inner(kEthernet | kIpv4 | kTcp));
  EXPECT_EQ(parse(whole.first(13)).layers, 0U);
}

TEST(FlowKeyTest, BadHeadersEndIt) {
  FrameBuilder version;
  version.ethernet(0x0800).raw({0x65}).zeros(19).udp(1, 2);
  EXPECT_EQ(parse(version).layers, kEthernet);
  FrameBuilder length;
  length.ethernet(0x0800).raw({0x44}).zeros(19).udp(1, 2);
  EXPECT_EQ(parse(length).layers, kEthernet);
}

}  // namespace
}  // namespace softrnic::ethernet
