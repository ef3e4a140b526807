#include "daemon/device_list.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/reason_id.h"
#include "daemon/connection.h"
#include "tests/unit/daemon/network.h"

namespace softrnic::daemon {
namespace {

using control::Change;

Network host() {
  Network n;
  n.netdev(1, "lo").netdev(2, "eth0").address(1, "127.0.0.1").address(2, "10.0.0.1").route(2, 0);
  return n;
}

TEST(DeviceList, Soft0OnTheDefaultRoute) {
  DeviceList list("h");
  const auto changes = list.update(host(), true);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].change, Change::device_added);
  EXPECT_EQ(changes[0].device.name, "soft0");
  EXPECT_EQ(changes[0].device.netdev, "eth0");
  EXPECT_TRUE(list.update(host(), true).empty());
}

TEST(DeviceList, FollowsTheChoiceOnlyWhileNobodyHasItOpen) {
  DeviceList list("h");
  list.update(Network().netdev(1, "lo").address(1, "127.0.0.1"), true);
  EXPECT_TRUE(list.update(host(), false).empty());
  EXPECT_EQ(list.devices()[0].netdev, "lo");
  const auto changes = list.update(host(), true);
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].change, Change::device_removed);
  EXPECT_EQ(changes[1].change, Change::device_added);
  EXPECT_NE(changes[0].device.index, changes[1].device.index) << "another device, though of the same name";
}

TEST(DeviceList, IwarpIsNamedByItsEthernetAddressAndReachedByThoseOfTheNetdev) {
  DeviceList list("h");
  list.update(host(), true);
  const auto added = list.add({"iw0", "eth0", device::Kind::iwarp}, host());
  ASSERT_TRUE(added);
  const device::DeviceInfo& iwarp = added->device;
  EXPECT_EQ(iwarp.kind, device::Kind::iwarp);
  ASSERT_EQ(iwarp.port.gids.size(), 1U);
  EXPECT_FALSE(iwarp.port.gids[0].gid.is_zero());
  for (std::size_t i = 6; i < 16; ++i) EXPECT_EQ(iwarp.port.gids[0].gid.raw[i], std::byte{0}) << i;
  EXPECT_EQ(addresses_of(iwarp)[0].gid, gid("10.0.0.1"));
  EXPECT_NE(iwarp.guid, list.devices()[0].guid);
  Network more = host();
  const auto changes = list.update(more.address(2, "10.0.0.9"), false);
  ASSERT_EQ(changes.size(), 2U) << "that of RoCE, and that of iWARP";
  EXPECT_EQ(addresses_of(changes[1].device)[1].gid, gid("10.0.0.9"));
}

// Listeners are to hear at each of them.
TEST(DeviceList, IwarpHasAllAddressesOfItsNetdev) {
  Network many = host();
  for (int i = 2; i <= 60; ++i) many.address(2, "10.0.0." + std::to_string(i));
  DeviceList list("h");
  list.update(many, true);
  const auto added = list.add({"iw0", "eth0", device::Kind::iwarp}, many);
  ASSERT_TRUE(added);
  EXPECT_EQ(addresses_of(added->device).size(), 60U);
  EXPECT_EQ(addresses_of(added->device).back().gid, gid("10.0.0.60"));
}

TEST(DeviceList, NetdevThatGoesAndComesBack) {
  DeviceList list("h");
  list.update(host(), true);
  auto changes = list.update(Network().netdev(1, "lo"), false);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_FALSE(changes[0].device.port.up);
  EXPECT_TRUE(changes[0].device.port.gids[0].gid.is_zero());
  Network back;
  back.netdev(9, "eth0").address(9, "10.0.0.1");
  changes = list.update(back, false);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_TRUE(changes[0].device.port.up);
  EXPECT_EQ(changes[0].device.interface_index, 9U);
  EXPECT_EQ(changes[0].device.port.gids[0].interface_index, 9U);
}

TEST(DeviceList, AddAndRemove) {
  DeviceList list("h");
  list.update(host(), true);
  EXPECT_FALSE(list.edited());
  EXPECT_EQ(list.add({"soft0", "eth0"}, host()).error().error, EEXIST);
  EXPECT_EQ(list.add({"soft 1", "eth0"}, host()).error().error, EINVAL);
  EXPECT_EQ(list.add({"soft1", "eth7"}, host()).error().error, ENODEV);
  const device::NewDevice asks{"soft1", "lo", device::Kind::roce_v2, {.crc = true, .markers = false}};
  EXPECT_EQ(list.add(asks, host()).error().reason.id, ReasonId::link_no_mpa);
  ASSERT_TRUE(list.add({"soft1", "lo"}, host()));
  EXPECT_TRUE(list.edited());
  ASSERT_EQ(list.devices().size(), 2U);
  EXPECT_EQ(list.devices()[1].port.gids[0].gid, gid("127.0.0.1"));
  ASSERT_TRUE(list.remove("soft0"));
  EXPECT_EQ(list.remove("soft0").error().error, ENODEV);
  EXPECT_TRUE(list.update(host(), true).empty()) << "a deleted soft0 does not come back";
  for (int i = 2; list.devices().size() < control::kMaxDevices; ++i)
    ASSERT_TRUE(list.add({"soft" + std::to_string(i), "lo"}, host()));
  EXPECT_EQ(list.add({"more", "lo"}, host()).error().error, ENOSPC);
}

TEST(DeviceList, DevicesOfOneNetdevHaveGuidsOfTheirOwn) {
  DeviceList list("host");
  list.update(host(), true);
  ASSERT_TRUE(list.add({"soft1", "eth0"}, host()));
  ASSERT_TRUE(list.add({"soft2", "eth0"}, host()));
  const auto before = list.devices();
  EXPECT_EQ(before[0].guid, 0x0011'22ff'fe33'4402U);  // the MAC's
  EXPECT_NE(before[0].guid, before[1].guid);
  EXPECT_NE(before[1].guid, before[2].guid);
  list.update(host(), false);
  EXPECT_EQ(list.devices()[1].guid, before[1].guid);
  EXPECT_EQ(list.devices()[2].guid, before[2].guid);
}

TEST(DeviceList, ADeviceKeepsItsGuidWhenTheFirstOfItsNetdevGoes) {
  DeviceList list("host");
  list.update(host(), true);
  ASSERT_TRUE(list.add({"soft1", "eth0"}, host()));
  const auto before = list.devices();
  ASSERT_TRUE(list.remove("soft0"));
  EXPECT_TRUE(list.update(host(), false).empty());
  EXPECT_EQ(list.devices()[0].guid, before[1].guid);
  ASSERT_TRUE(list.add({"soft0", "eth0"}, host()));
  EXPECT_EQ(list.devices()[1].guid, before[0].guid) << "the MAC's is free again";
}

TEST(DeviceList, Names) {
  EXPECT_TRUE(valid_device_name("rocep1s0f0.1-a_b"));
  for (const char* bad : {"", "0soft", "a/b", "a b", "..", "a\n", "\xc3\xa4"})
    EXPECT_FALSE(valid_device_name(bad)) << bad;
  EXPECT_TRUE(valid_device_name(std::string(63, 'a')));
  EXPECT_FALSE(valid_device_name(std::string(64, 'a')));
}

}  // namespace
}  // namespace softrnic::daemon
