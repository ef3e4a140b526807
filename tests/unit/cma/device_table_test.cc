// Which device an address means.
#include "cma/device_table.h"

#include "tests/unit/cma/network.h"

namespace softrnic::cma {
namespace {

device::DeviceInfo device_with(std::uint32_t index, bool up, const std::vector<std::string>& addresses,
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
  devices.set({device_with(1, true, {"10.0.0.1"})});
  ASSERT_NE(devices.find(1), nullptr);
  EXPECT_EQ(devices.find(1)->guid, 0x11U);
  devices.set({device_with(2, true, {})});
  EXPECT_EQ(devices.find(1), nullptr);
}

TEST(DeviceTableTest, ADeviceThatIsUpComesFirst) {
  DeviceTable devices;
  devices.set({device_with(1, false, {"fd00::9", "10.0.0.1"}), device_with(2, true, {"10.0.0.1"})});
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
  devices.set({device_with(1, true, {"fe80::1"}, 2), device_with(2, true, {"fe80::1"}, 3)});
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
  devices.set({device_with(1, true, {"fd00::1"}), device_with(2, true, {"10.0.0.1"})});
  EXPECT_EQ(devices.loopback(Family::ipv4)->device, 2U);
  EXPECT_EQ(devices.loopback(Family::ipv6)->device, 1U);
  devices.set({device_with(1, true, {"fd00::1"})});
  EXPECT_EQ(devices.loopback(Family::ipv4)->device, 1U);
  devices.set({device_with(1, true, {"10.0.0.1"}), device_with(3, true, {"127.0.0.1"}, 1)});
  EXPECT_EQ(devices.loopback(Family::ipv4)->device, 3U);
}

TEST(DeviceTableTest, ALoopbackAddressThatNobodyHasIsOursWithoutADevice) {
  DeviceTable devices;
  devices.set({device_with(1, true, {"10.0.0.1"})});
  const auto own = devices.own_address(address("127.0.0.1"));
  ASSERT_TRUE(own);
  EXPECT_FALSE(*own);
  EXPECT_FALSE(devices.own_address(address("10.0.0.2")));
}

TEST(DeviceTableTest, TheMtuIsThatOfTheAddress) {
  DeviceTable devices;
  device::DeviceInfo large = device_with(2, true, {"10.0.0.2"});
  large.port.active_mtu = 4096;
  devices.set({device_with(1, true, {"10.0.0.1"}), large});
  EXPECT_EQ(devices.mtu_of(address("10.0.0.1").host), IBV_MTU_1024);
  EXPECT_EQ(devices.mtu_of(address("10.0.0.2").host), IBV_MTU_4096);
  EXPECT_EQ(devices.mtu_of(address("10.0.0.3").host), 0);
}

}  // namespace
}  // namespace softrnic::cma
