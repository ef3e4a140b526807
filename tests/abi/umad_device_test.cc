// What libibumad tells of the RoCE device of this host, and which it chooses.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "tests/abi/umad_calls.h"

namespace softrnic::abi_test {
namespace {

TEST(UmadDevices, AreListed) {
  char names[4][20] = {};
  ASSERT_EQ(umad_get_cas_names(names, 4), 1);
  EXPECT_STREQ(names[0], "soft0");
  EXPECT_EQ(umad_get_cas_names(names, 0), 0);
  umad_device_node* const list = umad_get_ca_device_list();
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(errno, 0);
  EXPECT_STREQ(list->ca_name, "soft0");
  EXPECT_EQ(list->next, nullptr);
  umad_free_ca_device_list(list);
}

TEST(UmadDevices, HaveOnePort) {
  for (const char* name : {"soft0", static_cast<const char*>(nullptr)}) {
    umad_ca ca;
    ASSERT_EQ(umad_get_ca(name, &ca), 0);
    EXPECT_STREQ(ca.ca_name, "soft0");
    EXPECT_EQ(ca.node_type, 1U);
    EXPECT_EQ(ca.numports, 1);
    EXPECT_STREQ(ca.ca_type, "softrnic");
    EXPECT_NE(ca.node_guid, 0U);
    EXPECT_EQ(ca.ports[0], nullptr);
    ASSERT_NE(ca.ports[1], nullptr);
    const umad_port& port = *ca.ports[1];
    EXPECT_STREQ(port.ca_name, "soft0");
    EXPECT_EQ(port.portnum, 1);
    EXPECT_EQ(port.state, 4U);
    EXPECT_EQ(port.phys_state, 5U);
    EXPECT_STREQ(port.link_layer, "Ethernet");
    ASSERT_EQ(port.pkeys_size, 1U);
    EXPECT_EQ(port.pkeys[0], 0xffff);
    EXPECT_EQ(umad_release_ca(&ca), 0);
    EXPECT_EQ(ca.ports[1], nullptr);
  }
  umad_ca ca;
  EXPECT_LT(umad_get_ca("mlx5_0", &ca), 0);
  EXPECT_EQ(umad_release_ca(nullptr), -ENODEV);
}

// Its link layer is not InfiniBand, so that a port without a device's name is nobody's.
TEST(UmadDevices, APortIsChosenAsLibibumadDoes) {
  umad_port port;
  ASSERT_EQ(umad_get_port("soft0", 0, &port), 0);
  EXPECT_EQ(port.portnum, 1);
  EXPECT_EQ(umad_release_port(&port), 0);
  EXPECT_EQ(port.pkeys, nullptr);
  ASSERT_EQ(umad_get_port(nullptr, 0, &port), 0);
  EXPECT_STREQ(port.ca_name, "soft0");
  umad_release_port(&port);
  EXPECT_EQ(umad_get_port(nullptr, 1, &port), -EIO);
  EXPECT_EQ(umad_get_port("soft0", 2, &port), -EIO);
  EXPECT_EQ(umad_get_port("mlx5_0", 0, &port), -ENODEV);
  EXPECT_EQ(umad_release_port(nullptr), -ENODEV);
}

TEST(UmadDevices, PortGuidsAreByNumber) {
  std::uint64_t guids[2] = {1, 1};
  EXPECT_EQ(umad_get_ca_portguids("soft0", guids, 2), 2);
  EXPECT_EQ(guids[0], 0U);
  EXPECT_NE(guids[1], 0U);
  EXPECT_EQ(umad_get_ca_portguids("soft0", nullptr, 0), 0);
  EXPECT_EQ(umad_get_ca_portguids("soft0", guids, 1), -ENOMEM);
}

TEST(UmadDevices, OpeningNamesWhatIsMissing) {
  EXPECT_EQ(umad_open_port("soft0", 2), -EINVAL);
  EXPECT_EQ(umad_open_port("mlx5_0", 1), -EINVAL);
  EXPECT_EQ(umad_open_port("mlx5_0", 0), -ENODEV);
  const int port = umad_open_smi_port("soft0", 1);
  EXPECT_GE(port, 0) << "named ports are opened as they are";
  EXPECT_EQ(umad_close_port(port), 0);
}

TEST(UmadDevices, OnEthernetNobodyWatchesForSubnetManagers) {
  char path[256] = {};
  EXPECT_EQ(umad_get_issm_path("soft0", 1, path, sizeof path), 0);
  EXPECT_EQ(umad_get_issm_path("soft0", 2, path, sizeof path), -EINVAL);
  EXPECT_EQ(umad_get_issm_path("mlx5_0", 0, path, sizeof path), -ENODEV);
}

TEST(UmadDevices, OneDeviceIsItsOwnPair) {
  umad_ca_pair pairs[3];
  ASSERT_EQ(umad_get_smi_gsi_pairs(pairs, 3), 1);
  EXPECT_STREQ(pairs[0].smi_name, "soft0");
  EXPECT_STREQ(pairs[0].gsi_name, "soft0");
  EXPECT_EQ(umad_get_smi_gsi_pairs(pairs, 0), 0);
  umad_ca_pair pair;
  ASSERT_EQ(umad_get_smi_gsi_pair_by_ca_name("soft0", 0, &pair, 1), 0);
  EXPECT_EQ(pair.smi_preferred_port, 1U);
  EXPECT_EQ(pair.gsi_preferred_port, 1U);
  EXPECT_EQ(umad_get_smi_gsi_pair_by_ca_name(nullptr, 1, &pair, 0), 0);
  EXPECT_EQ(umad_get_smi_gsi_pair_by_ca_name("mlx5_0", 0, &pair, 0), -ENODEV);
  EXPECT_EQ(umad_get_smi_gsi_pair_by_ca_name("soft0", 9, &pair, 0), -ENODEV);
}

}  // namespace
}  // namespace softrnic::abi_test
