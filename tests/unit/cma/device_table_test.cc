// Which device an address means.
#include "cma/device_table.h"

#include "tests/unit/cma/network.h"

namespace softrnic::cma {
namespace {

device::DeviceInfo numbered_device(std::uint32_t index, bool up, const std::vector<std::string>& addresses,
                                   std::uint32_t interface_index = 2) {
  device::DeviceInfo device;
  device.index = index;
  device.guid = index * 0x11;
  device.interface_index = interface_index;
  device.port.up = up;
  device.port.active_mtu = 1024;
  for (const std::string& text : addresses) device.port.gids.push_back({address(text).host, interface_index});
  return device;
}

TEST(DeviceTableTest, FindsByIndexWhatIsThereNow) {
  DeviceTable devices;
  EXPECT_EQ(devices.find(1), nullptr);
  devices.set({numbered_device(1, true, {"10.0.0.1"})});
  ASSERT_NE(devices.find(1), nullptr);
  EXPECT_EQ(devices.find(1)->guid, 0x11U);
  devices.set({numbered_device(2, true, {})});
  EXPECT_EQ(devices.find(1), nullptr);
}

TEST(DeviceTableTest, ADeviceThatIsUpComesFirst) {
  DeviceTable devices;
  devices.set({numbered_device(1, false, {"fd00::9", "10.0.0.1"}), numbered_device(2, true, {"10.0.0.1"})});
  const auto both = devices.with_gid(address("10.0.0.1").host);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->device, 2U);
  const auto down = devices.with_gid(address("fd00::9").host);
  ASSERT_TRUE(down);
  EXPECT_EQ(down->device, 1U);
  EXPECT_EQ(down->gid_index, 0);
  EXPECT_FALSE(devices.has_gid(address("10.0.0.2").host));
}

TEST(DeviceTableTest, ALinkLocalAddressIsOfOneNetdev) {
  DeviceTable devices;
  devices.set({numbered_device(1, true, {"fe80::1"}, 2), numbered_device(2, true, {"fe80::1"}, 3)});
  const auto first = devices.own_address(address("fe80::1", 0, 2));
  const auto second = devices.own_address(address("fe80::1", 0, 3));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->device, 1U);
  EXPECT_EQ(second->device, 2U);
  EXPECT_EQ(second->interface_index, 3U);
  EXPECT_FALSE(devices.own_address(address("fe80::1", 0, 4)));
}

TEST(DeviceTableTest, LoopbackIsADeviceOfTheFamilyOrAny) {
  DeviceTable devices;
  EXPECT_FALSE(devices.loopback(Family::ipv4)) << "without a device";
  devices.set({numbered_device(1, true, {"fd00::1"}), numbered_device(2, true, {"10.0.0.1"})});
  EXPECT_EQ(devices.loopback(Family::ipv4)->device, 2U);
  EXPECT_EQ(devices.loopback(Family::ipv6)->device, 1U);
  devices.set({numbered_device(1, true, {"fd00::1"})});
  EXPECT_EQ(devices.loopback(Family::ipv4)->device, 1U);
  devices.set({numbered_device(1, true, {"10.0.0.1"}), numbered_device(3, true, {"127.0.0.1"}, 1)});
  EXPECT_EQ(devices.loopback(Family::ipv4)->device, 3U);
}

TEST(DeviceTableTest, ALoopbackAddressThatNobodyHasIsOursWithoutADevice) {
  DeviceTable devices;
  devices.set({numbered_device(1, true, {"10.0.0.1"})});
  const auto own = devices.own_address(address("127.0.0.1"));
  ASSERT_TRUE(own);
  EXPECT_FALSE(*own);
  EXPECT_FALSE(devices.own_address(address("10.0.0.2")));
}

TEST(DeviceTableTest, TheMtuIsThatOfTheAddress) {
  DeviceTable devices;
  device::DeviceInfo large = numbered_device(2, true, {"10.0.0.2"});
  large.port.active_mtu = 4096;
  devices.set({numbered_device(1, true, {"10.0.0.1"}), large});
  EXPECT_EQ(devices.mtu_of(address("10.0.0.1").host), IBV_MTU_1024);
  EXPECT_EQ(devices.mtu_of(address("10.0.0.2").host), IBV_MTU_4096);
  EXPECT_EQ(devices.mtu_of(address("10.0.0.3").host), 0);
}

// ---- InfiniBand

/// Port `port` with GIDs, and an IPoIB interface with addresses.
device::DeviceInfo infiniband_with(std::uint32_t index, std::uint32_t port,
                                   const std::vector<std::string>& gids,
                                   const std::vector<std::string>& addresses) {
  device::DeviceInfo device = numbered_device(index, true, gids, port);
  device.kind = device::Kind::infiniband;
  for (const std::string& text : addresses) device.port.addresses.push_back({address(text).host, port});
  device.port.infiniband.pkeys = {0xffff, 0x0003};
  return device;
}

TEST(DeviceTableTest, AnInfinibandDeviceHasIpAddressesForProgramsAndGidsForPaths) {
  DeviceTable devices;
  devices.set({infiniband_with(1, 1, {"::", "fe80::1"}, {"10.0.0.1", "fd00::1"})});
  for (const char* ip : {"10.0.0.1", "fd00::1"}) {
    const auto binding = devices.own_address(address(ip));
    ASSERT_TRUE(binding) << ip;
    EXPECT_EQ(binding->address, address(ip).host);
    EXPECT_EQ(binding->gid, address("fe80::1").host);
    EXPECT_EQ(binding->gid_index, 1) << "the first that is used";
    EXPECT_EQ(binding->interface_index, 1U);
    EXPECT_FALSE(devices.has_gid(address(ip).host)) << "no peer comes to it";
  }
  const auto by_gid = devices.with_gid(address("fe80::1").host, 1);
  ASSERT_TRUE(by_gid);
  EXPECT_EQ(by_gid->gid_index, 1);
  EXPECT_TRUE(by_gid->address.is_zero());
  EXPECT_FALSE(devices.with_gid(address("fe80::1").host, 2)) << "another port";
  EXPECT_FALSE(devices.own_address(address("fe80::1", 0, 1))) << "a GID is no IP address";
}

TEST(DeviceTableTest, WithoutAGidThereIsNoWay) {
  DeviceTable devices;
  devices.set({infiniband_with(1, 1, {"::"}, {"10.0.0.1"}), numbered_device(2, true, {"10.0.0.1"})});
  EXPECT_EQ(devices.own_address(address("10.0.0.1"))->device, 2U);
}

TEST(DeviceTableTest, GidsAreReachedFromTheirSubnetAndPartition) {
  DeviceTable devices;
  devices.set({numbered_device(9, true, {"fe80::9"}), infiniband_with(1, 1, {"fe80::1"}, {}),
               infiniband_with(2, 2, {"fe80::2", "fec0::2"}, {})});
  EXPECT_EQ(devices.in_subnet_of(address("fe80::7").host, 0)->device, 1U) << "RoCE has no subnets";
  const auto second = devices.in_subnet_of(address("fec0::7").host, 0x8003);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->device, 2U);
  EXPECT_EQ(second->gid_index, 1);
  EXPECT_EQ(second->pkey, 0x8003);
  EXPECT_EQ(devices.pkey_index_of(*second, second->pkey), 1);
  EXPECT_FALSE(devices.pkey_index_of(*second, 0x8004));
  EXPECT_FALSE(devices.in_subnet_of(address("fe80::7").host, 0x8004));
  EXPECT_FALSE(devices.in_subnet_of(address("fd00::7").host, 0));
}

TEST(DeviceTableTest, LoopbackIsAnInfinibandDeviceWithoutAddressesToo) {
  DeviceTable devices;
  devices.set({infiniband_with(1, 1, {"fe80::1"}, {})});
  EXPECT_EQ(devices.loopback(Family::ipv4)->gid, address("fe80::1").host);
  EXPECT_EQ(devices.loopback(Family::ib)->gid, address("fe80::1").host);
}

TEST(DeviceTableTest, WhereThereAreNoPartitionsTheFirstEntryIsMeant) {
  DeviceTable devices;
  devices.set({numbered_device(1, true, {"10.0.0.1"})});
  EXPECT_EQ(devices.pkey_index_of(*devices.own_address(address("10.0.0.1")), 0x1234), 0);
}

}  // namespace
}  // namespace softrnic::cma
