// What differs on a port with LIDs.
#include <cerrno>

#include "base/reason_id.h"
#include "tests/unit/rnic/fixture.h"

namespace softrnic::rnic::test {
namespace {

std::shared_ptr<device::DeviceInfo> make_infiniband_device() {
  auto device = make_device();
  device->kind = device::Kind::infiniband;
  device->interface_index = 3;
  device::InfinibandPort& port = device->port.infiniband;
  port.state = IBV_PORT_ACTIVE;
  port.physical_state = 5;
  port.active_width = 2;
  port.active_speed = 32;
  port.lid = wire::Lid(0x40);
  port.lmc = 2;
  port.sm_lid = wire::Lid(1);
  port.sm_sl = 3;
  port.data_vls = 4;
  port.subnet_timeout = 18;
  port.capabilities = 0x02510868;
  port.pkeys = {0xffff, 0x8001, 0};
  return device;
}

class InfinibandTest : public RnicTest {
 protected:
  InfinibandTest() {
    context.update(make_infiniband_device());
    while (event_waits()) next_event();
  }
  template <typename F>
  ibv_event_type event_after(F&& change) {
    auto device = std::make_shared<device::DeviceInfo>(*context.info());
    change(device->port);
    context.update(device);
    const ibv_event_type type = next_event().type;
    EXPECT_FALSE(event_waits()) << "one change, one event";
    return type;
  }
  ReasonId refusal_of(const ibv_ah_attr& attributes) {
    const auto v = resolve_address(context, attributes);
    EXPECT_EQ(error_of(v), EINVAL);
    return v ? ReasonId::none : v.error().reason.id;
  }
  static ibv_ah_attr by_lid(std::uint16_t lid) {
    ibv_ah_attr a{};
    a.port_num = 1;
    a.dlid = lid;
    return a;
  }
};

TEST_F(InfinibandTest, PortTellsWhatTheSubnetManagerHasSet) {
  const ibv_port_attr a = *context.port_attributes(1);
  EXPECT_EQ(a.link_layer, IBV_LINK_LAYER_INFINIBAND);
  EXPECT_EQ(a.state, IBV_PORT_ACTIVE);
  EXPECT_EQ(a.lid, 0x40);
  EXPECT_EQ(a.lmc, 2);
  EXPECT_EQ(a.sm_lid, 1);
  EXPECT_EQ(a.sm_sl, 3);
  EXPECT_EQ(a.max_vl_num, 4);
  EXPECT_EQ(a.subnet_timeout, 18);
  EXPECT_EQ(a.active_width, 2);
  EXPECT_EQ(a.active_speed, 32);
  EXPECT_EQ(a.phys_state, 5);
  EXPECT_EQ(a.port_cap_flags, 0x02510868U);
  EXPECT_EQ(a.pkey_tbl_len, 3);
  EXPECT_EQ(a.flags & IBV_QPF_GRH_REQUIRED, 0);
  EXPECT_EQ(context.device_attributes().max_pkeys, 3);
}

TEST_F(InfinibandTest, PkeysAreThoseOfTheTable) {
  EXPECT_EQ(*context.pkey(1, 1), 0x8001);
  EXPECT_EQ(*context.pkey(1, 2), 0);
  EXPECT_EQ(error_of(context.pkey(1, 3)), EINVAL);
}

TEST_F(InfinibandTest, AQueuePairIsInThePartitionOfItsIndex) {
  auto qp = make_qp(IBV_QPT_UD);
  Change change = change_to(IBV_QPS_INIT, IBV_QPT_UD);
  change.attributes.pkey_index = 1;
  ASSERT_TRUE(qp->modify(change.attributes, change.mask));
  change.attributes.pkey_index = 3;
  EXPECT_EQ(error_of(qp->modify(change.attributes, IBV_QP_PKEY_INDEX)), EINVAL);
  EXPECT_TRUE(qp->destroy());
}

TEST_F(InfinibandTest, AnAddressByLid) {
  ibv_ah_attr attributes = by_lid(0x55);
  attributes.sl = 6;
  attributes.src_path_bits = 7;  // LMC 2: two bits count
  const auto v = resolve_address(context, attributes);
  ASSERT_TRUE(v);
  EXPECT_EQ(v->destination, wire::Gid::of_lid(wire::Lid(0x55)));
  EXPECT_EQ(v->source, wire::Gid::of_lid(wire::Lid(0x43)));
  EXPECT_EQ(v->dlid, wire::Lid(0x55));
  EXPECT_EQ(v->source_path_bits, 3);
  EXPECT_EQ(v->service_level, 6);
  EXPECT_EQ(v->interface_index, 3U);
}

TEST_F(InfinibandTest, AnAddressByGidNeedsTheLidToo) {
  ibv_ah_attr attributes = address_of(ipv4(9));
  attributes.grh.sgid_index = 0;  // GIDs are no IP addresses here: their versions may differ
  attributes.grh.hop_limit = 1;
  EXPECT_EQ(refusal_of(attributes), ReasonId::ah_bad_lid);
  attributes.dlid = 0x55;
  const auto v = resolve_address(context, attributes);
  ASSERT_TRUE(v);
  EXPECT_EQ(v->destination, ipv4(9));
  EXPECT_EQ(v->dlid, wire::Lid(0x55));
  EXPECT_EQ(v->hop_limit, 1);
}

TEST_F(InfinibandTest, AGroupHasAGrh) {
  EXPECT_EQ(refusal_of(by_lid(0xc001)), ReasonId::ah_group_needs_grh);
  EXPECT_EQ(refusal_of(by_lid(0xffff)), ReasonId::ah_bad_lid);
  EXPECT_EQ(refusal_of(by_lid(0)), ReasonId::ah_bad_lid);
}

TEST_F(InfinibandTest, ChangesOfThePortAreEvents) {
  EXPECT_EQ(event_after([](auto& port) { port.up = false; }), IBV_EVENT_PORT_ERR);
  EXPECT_EQ(event_after([](auto& port) { port.up = true; }), IBV_EVENT_PORT_ACTIVE);
  EXPECT_EQ(event_after([](auto& port) { port.infiniband.lid = wire::Lid(9); }), IBV_EVENT_LID_CHANGE);
  EXPECT_EQ(event_after([](auto& port) { port.infiniband.pkeys[2] = 0x7001; }), IBV_EVENT_PKEY_CHANGE);
  EXPECT_EQ(event_after([](auto& port) { port.infiniband.sm_lid = wire::Lid(2); }), IBV_EVENT_SM_CHANGE);
  EXPECT_EQ(event_after([](auto& port) { ++port.infiniband.reregistrations; }), IBV_EVENT_CLIENT_REREGISTER);
  EXPECT_EQ(event_after([](auto& port) { port.gids[0].gid.raw[3] = std::byte{1}; }), IBV_EVENT_GID_CHANGE);
}

// What is no change of the port's attributes is no event.
TEST_F(InfinibandTest, NothingNewIsNoEvent) {
  auto device = std::make_shared<device::DeviceInfo>(*context.info());
  device->port.infiniband.capabilities ^= 2;
  context.update(device);
  EXPECT_FALSE(event_waits());
}

}  // namespace
}  // namespace softrnic::rnic::test
