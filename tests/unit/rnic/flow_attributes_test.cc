// What struct ibv_flow_attr and the specifications behind it are made into.
#include "rnic/flow_attributes.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/reason_id.h"
#include "tests/unit/ethernet/frames.h"
#include "tests/unit/rnic/fixture.h"

namespace softrnic::rnic::test {
namespace {

using ethernet::test::FrameBuilder;

/// Attributes with specifications, one behind the other.
class Wanted {
 public:
  Wanted() : bytes_(sizeof(ibv_flow_attr)) {
    attributes() = {};
    attributes().port = 1;
  }
  ibv_flow_attr& attributes() { return *reinterpret_cast<ibv_flow_attr*>(bytes_.data()); }
  template <typename Spec>
  Wanted& add(Spec spec, std::uint32_t type) {
    spec.type = static_cast<ibv_flow_spec_type>(type);
    spec.size = sizeof spec;
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof spec);
    std::memcpy(bytes_.data() + at, &spec, sizeof spec);
    ++attributes().num_of_specs;
    return *this;
  }
  auto read() { return flow_request(attributes()); }
  ReasonId refusal(int error) {
    const auto request = read();
    EXPECT_EQ(error_of(request), error);
    return request ? ReasonId::none : request.error().reason.id;
  }

 private:
  std::vector<std::byte> bytes_;
};

bool matches(Wanted& wanted, const FrameBuilder& frame) {
  const auto request = wanted.read();
  EXPECT_TRUE(request);
  return request && request->rule.match.matches(ethernet::parse(frame));
}

ibv_flow_spec_tcp_udp to_port(std::uint16_t port) {
  ibv_flow_spec_tcp_udp spec{};
  spec.val.dst_port = htons(port);
  spec.mask.dst_port = 0xffff;
  return spec;
}

TEST(FlowAttributesTest, EveryHeaderFindsItsField) {
  ibv_flow_spec_eth ether{};
  const std::uint8_t destination[] = {2, 0, 0, 0, 0, 1};
  std::memcpy(ether.val.dst_mac, destination, 6);
  std::memset(ether.mask.dst_mac, 0xff, 6);
  ether.val.ether_type = htons(0x0800);
  ether.mask.ether_type = 0xffff;
  ibv_flow_spec_ipv4_ext ip{};
  ip.val.dst_ip = inet_addr("10.0.0.2");
  ip.mask.dst_ip = 0xffffffff;
  ip.val.proto = 17;
  ip.mask.proto = 0xff;
  Wanted wanted;
  wanted.add(ether, IBV_FLOW_SPEC_ETH).add(ip, IBV_FLOW_SPEC_IPV4_EXT).add(to_port(7), IBV_FLOW_SPEC_UDP);
  EXPECT_TRUE(matches(wanted, FrameBuilder().ethernet(0x0800).ipv4(17).udp(1, 7)));
  EXPECT_FALSE(matches(wanted, FrameBuilder().ethernet(0x0800).ipv4(17).udp(1, 8)));
  EXPECT_FALSE(matches(wanted, FrameBuilder().ethernet(0x0800).ipv4(6).tcp(1, 7)));
  EXPECT_FALSE(matches(wanted, FrameBuilder().ethernet(0x86dd).ipv6(17).udp(1, 7)));
}

TEST(FlowAttributesTest, Ipv6AndTcp) {
  ibv_flow_spec_ipv6 ip{};
  ip.val.src_ip[0] = 0x20;
  ip.mask.src_ip[0] = 0xff;
  ip.val.hop_limit = 63;
  ip.mask.hop_limit = 0xff;
  Wanted wanted;
  wanted.add(ip, IBV_FLOW_SPEC_IPV6).add(to_port(7), IBV_FLOW_SPEC_TCP);
  EXPECT_TRUE(matches(wanted, FrameBuilder().ethernet(0x86dd).ipv6(6).tcp(1, 7)));
  EXPECT_FALSE(matches(wanted, FrameBuilder().ethernet(0x86dd).ipv6(17).udp(1, 7)));
}

TEST(FlowAttributesTest, TunnelsAndWhatIsInside) {
  ibv_flow_spec_tunnel tunnel{};
  tunnel.val.tunnel_id = htonl(5);
  tunnel.mask.tunnel_id = 0xffffffff;
  Wanted wanted;
  wanted.add(tunnel, IBV_FLOW_SPEC_VXLAN_TUNNEL).add(to_port(7), IBV_FLOW_SPEC_UDP | IBV_FLOW_SPEC_INNER);
  FrameBuilder right, other;
  right.ethernet(0x0800).ipv4(17).udp(1, 4789).vxlan(5).ethernet(0x0800).ipv4(17).udp(1, 7);
  other.ethernet(0x0800).ipv4(17).udp(1, 4789).vxlan(6).ethernet(0x0800).ipv4(17).udp(1, 7);
  EXPECT_TRUE(matches(wanted, right));
  EXPECT_FALSE(matches(wanted, other));
  EXPECT_FALSE(matches(wanted, FrameBuilder().ethernet(0x0800).ipv4(17).udp(1, 7)));
}

TEST(FlowAttributesTest, AVlanTagThatCountsHasToBeThere) {
  ibv_flow_spec_eth ether{};
  ether.mask.vlan_tag = htons(0x0fff);
  Wanted wanted;
  wanted.add(ether, IBV_FLOW_SPEC_ETH);
  EXPECT_TRUE(matches(wanted, FrameBuilder().ethernet(0x8100).be16(0xe000).be16(0x0800).ipv4(17)));
  EXPECT_FALSE(matches(wanted, FrameBuilder().ethernet(0x0800).ipv4(17)));
}

TEST(FlowAttributesTest, ActionsAndKinds) {
  ibv_flow_spec_action_tag tag{};
  tag.tag_id = 0x123456;
  ibv_counters counters{};
  ibv_flow_spec_counter_action count{};
  count.counters = &counters;
  Wanted wanted;
  wanted.attributes().priority = 9;
  wanted.attributes().flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
  // A TCP specification of 16 bytes leaves the pointer of the last one where it is not aligned.
  wanted.add(tag, IBV_FLOW_SPEC_ACTION_TAG).add(to_port(1), IBV_FLOW_SPEC_TCP);
  wanted.add(ibv_flow_spec_action_drop{}, IBV_FLOW_SPEC_ACTION_DROP).add(count, IBV_FLOW_SPEC_ACTION_COUNT);
  const auto request = wanted.read();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->rule.tag, 0x123456U);
  EXPECT_TRUE(request->rule.drop);
  EXPECT_TRUE(request->rule.dont_trap);
  EXPECT_EQ(request->rule.priority, 9);
  EXPECT_EQ(request->counters, &counters);
  for (const auto& [type, kind] : {std::pair{IBV_FLOW_ATTR_ALL_DEFAULT, ethernet::RuleKind::all_default},
                                   {IBV_FLOW_ATTR_MC_DEFAULT, ethernet::RuleKind::group_default},
                                   {IBV_FLOW_ATTR_SNIFFER, ethernet::RuleKind::sniffer}}) {
    Wanted other;
    other.attributes().type = type;
    ASSERT_TRUE(other.read());
    EXPECT_EQ(other.read()->rule.kind, kind);
  }
}

TEST(FlowAttributesTest, WhatIsWrongIsNamed) {
  const auto attributes = [](auto change) {
    Wanted wanted;
    change(wanted.attributes());
    return wanted.refusal(EINVAL);
  };
  EXPECT_EQ(attributes([](auto& a) { a.comp_mask = 1; }), ReasonId::bad_comp_mask);
  EXPECT_EQ(attributes([](auto& a) { std::memset(&a.type, 4, sizeof a.type); }), ReasonId::flow_attributes);
  EXPECT_EQ(attributes([](auto& a) { a.flags = 1; }), ReasonId::flow_attributes);
  EXPECT_EQ(attributes([](auto& a) { a.num_of_specs = 11; }), ReasonId::flow_attributes);
  EXPECT_EQ(attributes([](auto& a) { a.port = 2; }), ReasonId::bad_port);
  EXPECT_EQ(attributes([](auto& a) {
              a.type = IBV_FLOW_ATTR_ALL_DEFAULT;
              a.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
            }),
            ReasonId::flow_attributes);
  Wanted egress;
  egress.attributes().flags = IBV_FLOW_ATTR_FLAGS_EGRESS;
  EXPECT_EQ(egress.refusal(EOPNOTSUPP), ReasonId::flow_egress);
}

TEST(FlowAttributesTest, SpecificationsThatDoNotFit) {
  Wanted size;
  size.add(to_port(1), IBV_FLOW_SPEC_ETH);
  EXPECT_EQ(size.refusal(EINVAL), ReasonId::flow_spec_size);
  Wanted type;
  type.add(to_port(1), 0x42);
  EXPECT_EQ(type.refusal(EINVAL), ReasonId::flow_spec_type);
  Wanted nested;
  nested.add(ibv_flow_spec_tunnel{}, IBV_FLOW_SPEC_VXLAN_TUNNEL | IBV_FLOW_SPEC_INNER);
  EXPECT_EQ(nested.refusal(EINVAL), ReasonId::flow_spec_type);
  Wanted twice;
  twice.add(ibv_flow_spec_ipv4{}, IBV_FLOW_SPEC_IPV4).add(ibv_flow_spec_ipv6{}, IBV_FLOW_SPEC_IPV6);
  EXPECT_EQ(twice.refusal(EINVAL), ReasonId::flow_spec_repeated);
  Wanted sniffer;
  sniffer.attributes().type = IBV_FLOW_ATTR_SNIFFER;
  sniffer.add(to_port(1), IBV_FLOW_SPEC_UDP);
  EXPECT_EQ(sniffer.refusal(EINVAL), ReasonId::flow_spec_type);
  Wanted handle;
  handle.add(ibv_flow_spec_action_handle{}, IBV_FLOW_SPEC_ACTION_HANDLE);
  EXPECT_EQ(handle.refusal(EOPNOTSUPP), ReasonId::flow_action_handle);
  Wanted nothing;
  nothing.add(ibv_flow_spec_counter_action{}, IBV_FLOW_SPEC_ACTION_COUNT);
  EXPECT_EQ(nothing.refusal(EINVAL), ReasonId::null_argument);
}

}  // namespace
}  // namespace softrnic::rnic::test
