#include <cerrno>

#include "base/reason_id.h"
#include "tests/unit/rnic/fixture.h"

namespace softrnic::rnic::test {
namespace {

using ContextTest = RnicTest;

TEST_F(ContextTest, Device) {
  const ibv_device_attr a = context.device_attributes();
  EXPECT_EQ(__builtin_bswap64(a.node_guid), 0x0200'00ff'fe00'0001U);
  EXPECT_EQ(a.phys_port_cnt, 1);
  EXPECT_EQ(a.max_qp_rd_atom, 128);
  EXPECT_EQ(a.atomic_cap, IBV_ATOMIC_HCA);
  EXPECT_GT(a.max_qp_wr, 0);
  EXPECT_GT(a.max_sge, 0);
}

TEST_F(ContextTest, Port) {
  const ibv_port_attr a = *context.port_attributes(1);
  EXPECT_EQ(a.state, IBV_PORT_ACTIVE);
  EXPECT_EQ(a.active_mtu, IBV_MTU_4096);
  EXPECT_EQ(a.gid_tbl_len, 4);
  EXPECT_EQ(a.link_layer, IBV_LINK_LAYER_ETHERNET);
  EXPECT_EQ(a.max_msg_sz, 1U << 31);
  EXPECT_EQ(a.lid, 1) << "the end of the first IPv4 address";
  EXPECT_EQ(a.active_width, 1);
  EXPECT_EQ(a.active_speed, 4);  // 10 Gb/s on one lane
  EXPECT_EQ(error_of(context.port_attributes(0)), EINVAL);
  EXPECT_EQ(error_of(context.port_attributes(2)), EINVAL);
}

TEST_F(ContextTest, APortWithoutAWireIsAsFastAsMemory) {
  device::DeviceInfo device = *make_device();
  device.port.speed_mbps = 0;
  const ibv_port_attr a = port_attributes_of(device);
  EXPECT_EQ(a.active_width, 2);
  EXPECT_EQ(a.active_speed, 32);  // 25 Gb/s on each of four lanes
}

TEST_F(ContextTest, EveryGidIndexBelowTheLengthAnswers) {
  EXPECT_TRUE(context.gid(1, 0)->gid.is_link_local());
  EXPECT_EQ(context.gid(1, 1)->gid, ipv4(1));
  EXPECT_TRUE(context.gid(1, 3)->gid.is_zero());
  EXPECT_EQ(error_of(context.gid(1, 4)), EINVAL);
  EXPECT_EQ(error_of(context.gid(1, -1)), EINVAL);
  EXPECT_EQ(error_of(context.gid(2, 0)), EINVAL);
  EXPECT_EQ(*context.pkey(1, 0), 0xffff);
  EXPECT_EQ(error_of(context.pkey(1, 1)), EINVAL);
}

TEST_F(ContextTest, MtuCodes) {
  for (const std::uint32_t bytes : {256U, 512U, 1024U, 2048U, 4096U}) {
    EXPECT_EQ(mtu_bytes(mtu_code(bytes)), bytes);
    EXPECT_EQ(mtu_bytes(mtu_code(bytes + 1)), bytes);
  }
}

TEST_F(ContextTest, AddressHandles) {
  auto attributes = address_of(ipv4(9));
  attributes.grh.hop_limit = 1;
  attributes.grh.traffic_class = 0x68;
  auto ah = std::move(*AddressHandle::create(*pd, attributes));
  EXPECT_EQ(ah->vector().destination, ipv4(9));
  EXPECT_EQ(ah->vector().source, ipv4(1));
  EXPECT_EQ(ah->vector().traffic_class, 0x68);
  EXPECT_EQ(ah->vector().hop_limit, 64) << "as the kernel: that of the route";
  EXPECT_EQ(ah->vector().source_port, 0);
  EXPECT_EQ(error_of(pd->destroy()), EBUSY);
  ah->destroy();
  attributes.grh.flow_label = 0x12345;
  ah = std::move(*AddressHandle::create(*pd, attributes));
  EXPECT_EQ(ah->vector().source_port, ibv_flow_label_to_udp_sport(0x12345));
  ah->destroy();
  explanations().clear();
  attributes.is_global = 0;
  EXPECT_EQ(error_of(AddressHandle::create(*pd, attributes)), EINVAL);
  EXPECT_EQ(only_reason(), ReasonId::ah_needs_grh);
}

TEST_F(ContextTest, MulticastGoesOneHopUnlessAsked) {
  auto attributes = address_of(wire::Gid::from_ipv4_be(0x010000e0));
  attributes.grh.sgid_index = 0;  // an IPv6 source: the group's family decides later
  auto ah = std::move(*AddressHandle::create(*pd, attributes));
  EXPECT_EQ(ah->vector().hop_limit, 1);
  ah->destroy();
}

TEST_F(ContextTest, SourcePortsOfALaneAreFewAndItsOwn) {
  std::vector<std::uint16_t> ports;
  for (std::uint16_t i = 0; i < 1000; ++i) ports.push_back(source_port(0, Qpn::of(7, i), Qpn::of(3, i)));
  std::sort(ports.begin(), ports.end());
  ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
  EXPECT_EQ(ports.size(), 16U);
  EXPECT_EQ(ports.front(), 0xc070);
  EXPECT_EQ(ports.back(), 0xc07f);
}

}  // namespace
}  // namespace softrnic::rnic::test
