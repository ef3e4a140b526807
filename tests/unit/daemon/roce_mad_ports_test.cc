// QP1 of RoCE devices as programs of management see it: devices, addresses, and where answers go.
#include "daemon/roce_mad_ports.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

namespace softrnic::daemon {
namespace {

using control::MadPort;

class RoceMadPortsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    device::DeviceInfo device;
    device.index = 1;
    device.name = "soft0";
    device.guid = 0x0250;
    device.port.up = true;
    device.port.speed_mbps = 100'000;
    device.port.gids = {{link_local, 2}, {}, {own, 2}};
    device::DeviceInfo iwarp = device;
    iwarp.name = "siw0";
    iwarp.kind = device::Kind::iwarp;
    device::DeviceInfo twin = device;
    twin.name = "soft1";
    ports.devices_changed({device, iwarp, twin});
    ports.send_mad = [this](const mad::Address& to, Bytes) { sent.push_back(to); };
  }
  int error_of(const mad::Peer& to) {
    const auto whole = ports.complete({"soft0", 1}, to);
    return whole ? 0 : whole.error().error;
  }
  static wire::Gid make_link_local() {
    wire::Gid gid;
    gid.raw[0] = std::byte{0xfe};
    gid.raw[1] = std::byte{0x80};
    gid.raw[15] = std::byte{1};
    return gid;
  }

  const wire::Gid link_local = make_link_local();
  const wire::Gid own = wire::Gid::from_ipv4_be(0x0100'000a);    // 10.0.0.1
  const wire::Gid other = wire::Gid::from_ipv4_be(0x0200'000a);  // 10.0.0.2
  RoceMadPorts ports;
  std::vector<mad::Address> sent;
};

TEST_F(RoceMadPortsTest, ShowsWhatSysfsShows) {
  const auto cas = ports.cas();
  ASSERT_EQ(cas.size(), 2U) << "iWARP has no management datagrams";
  EXPECT_EQ(cas[0].name, "soft0");
  EXPECT_EQ(cas[0].node_type, IBV_NODE_CA);
  EXPECT_EQ(cas[0].node_guid, 0x0250U);
  const MadPort& port = *cas[0].port(1);
  EXPECT_EQ(port.state, 4);
  EXPECT_EQ(port.physical_state, 5);
  EXPECT_EQ(port.rate, 100U);
  EXPECT_EQ(port.lid, 1) << "of its IPv4 address";
  EXPECT_EQ(port.gid_prefix, 0xfe80000000000000U);
  EXPECT_EQ(port.port_guid, 1U);
  EXPECT_EQ(port.pkeys, std::vector<std::uint16_t>{0xffff});
  EXPECT_FALSE(port.has_qp0());
}

TEST_F(RoceMadPortsTest, AnAddressNeedsAWay) {
  mad::Peer to;
  EXPECT_EQ(error_of(to), EINVAL) << "neither LID nor GRH";
  to.has_grh = true;
  to.gid = other;
  to.gid_index = 2;
  EXPECT_EQ(error_of(to), 0);
  to.gid_index = 1;
  EXPECT_EQ(error_of(to), EINVAL) << "an empty entry";
  to.gid_index = 3;
  EXPECT_EQ(error_of(to), EINVAL);
  to.gid_index = 2;
  to.pkey_index = 1;
  EXPECT_EQ(error_of(to), EINVAL);
  to.pkey_index = 0;
  to.gid = {};
  EXPECT_EQ(error_of(to), EINVAL);
  EXPECT_FALSE(ports.complete({"siw0", 1}, to));
  EXPECT_FALSE(ports.complete({"soft0", 2}, to));
}

TEST_F(RoceMadPortsTest, ALidLeadsToTheHostOfThatAddress) {
  mad::Peer to;
  to.lid = 2;
  const auto whole = ports.complete({"soft0", 1}, to);
  ASSERT_TRUE(whole);
  EXPECT_TRUE(whole->has_grh);
  EXPECT_EQ(whole->gid, other);
  EXPECT_EQ(whole->gid_index, 2);
}

TEST_F(RoceMadPortsTest, AnAnswerGoesBackWhereItCameFrom) {
  mad::Address from;
  from.local = own;
  from.remote = other;
  from.interface_index = 2;
  from.remote_qpn = Qpn(1);
  from.traffic_class = 3;
  from.flow_label = 5;
  const auto arrivals = ports.arrivals(from);
  ASSERT_EQ(arrivals.size(), 2U) << "two devices have that address";
  EXPECT_EQ(arrivals[0].port, (MadPortName{"soft0", 1}));
  EXPECT_EQ(arrivals[0].from.gid_index, 2);
  EXPECT_EQ(arrivals[0].from.gid, other);
  EXPECT_EQ(arrivals[0].from.lid, 2) << "by which programs answer that know no GRH";
  ports.send(arrivals[0].port, mad::Queue::gsi, arrivals[0].from, {});
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0], from);
  from.remote = link_local;
  EXPECT_EQ(ports.arrivals(from)[0].from.lid, 0);
  from.local = other;
  EXPECT_TRUE(ports.arrivals(from).empty());
}

}  // namespace
}  // namespace softrnic::daemon
