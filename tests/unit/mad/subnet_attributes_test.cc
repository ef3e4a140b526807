// Attributes of subnet management, judged by the offsets of libibmad (fields.c) and opensm (ib_types.h).
#include <gtest/gtest.h>

#include "mad/diagnostics.h"
#include "mad/forwarding_tables.h"
#include "mad/guid_info.h"
#include "mad/link.h"
#include "mad/node_info.h"
#include "mad/p_key_table.h"
#include "mad/port_info.h"
#include "mad/sm_info.h"
#include "mad/smp.h"
#include "mad/switch_info.h"
#include "mad/virtual_lane_tables.h"
#include "tests/unit/mad/format_checks.h"

namespace softrnic::mad {
namespace {

TEST(Smp, LiesWhereLibibmadPutsIt) {
  expect_places<Smp>({
      {"base_version", 0, 8},
      {"method", 24, 8},
      {"returning", 32, 1},
      {"hop_pointer", 48, 8},
      {"hop_count", 56, 8},
      {"transaction", 64, 64},
      {"attribute", 128, 16},
      {"modifier", 160, 32},
      {"m_key", 192, 64},
      {"dr_slid", 256, 16},
      {"dr_dlid", 272, 16},
      {"data", 512, 512},
      {"initial_path", 1024, 512},
      {"return_path", 1536, 512},
  });
}

TEST(NodeInfo, LiesWhereLibibmadPutsIt) {
  expect_places<NodeInfo>({
      {"base_version", 0, 8},
      {"class_version", 8, 8},
      {"node_type", 16, 8},
      {"num_ports", 24, 8},
      {"system_image_guid", 32, 64},
      {"node_guid", 96, 64},
      {"port_guid", 160, 64},
      {"partition_cap", 224, 16},
      {"device_id", 240, 16},
      {"revision", 256, 32},
      {"local_port_num", 288, 8},
      {"vendor_id", 296, 24},
  });
}

TEST(NodeDescription, IsTextThatNeedNotEnd) {
  expect_every_bit_kept<NodeDescription>();
  EXPECT_EQ(NodeDescription::of("leaf 1").view(), "leaf 1");
  EXPECT_EQ(NodeDescription::of(std::string(70, 'x')).view(), std::string(64, 'x'));
  EXPECT_EQ(to_string(NodeDescription::of("a\x01z")), "node_description=\"a?z\"");
}

TEST(SwitchInfo, LiesWhereLibibmadPutsIt) {
  expect_places<SwitchInfo>({
      {"linear_fdb_cap", 0, 16},
      {"random_fdb_cap", 16, 16},
      {"multicast_fdb_cap", 32, 16},
      {"linear_fdb_top", 48, 16},
      {"default_port", 64, 8},
      {"default_multicast_primary_port", 72, 8},
      {"default_multicast_not_primary_port", 80, 8},
      {"life_time_value", 88, 5},
      {"port_state_change", 93, 1},
      {"optimized_sl_to_vl_mapping_programming", 94, 2},
      {"lids_per_port", 96, 16},
      {"partition_enforcement_cap", 112, 16},
      {"inbound_enforcement_cap", 128, 1},
      {"outbound_enforcement_cap", 129, 1},
      {"filter_raw_inbound_cap", 130, 1},
      {"filter_raw_outbound_cap", 131, 1},
      {"enhanced_port0", 132, 1},
      {"multicast_fdb_top", 144, 16},
  });
}

TEST(PortInfo, LiesWhereLibibmadPutsIt) {
  expect_places<PortInfo>({
      {"m_key", 0, 64},
      {"gid_prefix", 64, 64},
      {"lid", 128, 16},
      {"master_sm_lid", 144, 16},
      {"capability_mask", 160, 32},
      {"diag_code", 192, 16},
      {"m_key_lease_period", 208, 16},
      {"local_port_num", 224, 8},
      {"link_width_enabled", 232, 8},
      {"link_width_supported", 240, 8},
      {"link_width_active", 248, 8},
      {"link_speed_supported", 256, 4},
      {"port_state", 260, 4},
      {"port_physical_state", 264, 4},
      {"link_down_default_state", 268, 4},
      {"m_key_protect_bits", 272, 2},
      {"lmc", 277, 3},
      {"link_speed_active", 280, 4},
      {"link_speed_enabled", 284, 4},
      {"neighbor_mtu", 288, 4},
      {"master_sm_sl", 292, 4},
      {"vl_cap", 296, 4},
      {"init_type", 300, 4},
      {"vl_high_limit", 304, 8},
      {"vl_arbitration_high_cap", 312, 8},
      {"vl_arbitration_low_cap", 320, 8},
      {"init_type_reply", 328, 4},
      {"mtu_cap", 332, 4},
      {"vl_stall_count", 336, 3},
      {"hoq_life", 339, 5},
      {"operational_vls", 344, 4},
      {"partition_enforcement_inbound", 348, 1},
      {"partition_enforcement_outbound", 349, 1},
      {"filter_raw_inbound", 350, 1},
      {"filter_raw_outbound", 351, 1},
      {"m_key_violations", 352, 16},
      {"p_key_violations", 368, 16},
      {"q_key_violations", 384, 16},
      {"guid_cap", 400, 8},
      {"client_reregister", 408, 1},
      {"multicast_pkey_trap_suppression_enabled", 409, 2},
      {"subnet_timeout", 411, 5},
      {"response_time_value", 419, 5},
      {"local_phy_errors", 424, 4},
      {"overrun_errors", 428, 4},
      {"max_credit_hint", 432, 16},
      {"link_speed_ext2_active", 449, 2},
      {"link_speed_ext2_supported", 451, 2},
      {"link_speed_ext2_enabled", 453, 3},
      {"link_round_trip_latency", 456, 24},
      {"capability_mask2", 480, 16},
      {"link_speed_ext_active", 496, 4},
      {"link_speed_ext_supported", 500, 4},
      {"link_speed_ext_enabled", 507, 5},
  });
}

TEST(PortInfoExtended, LiesWhereLibibmadPutsIt) {
  expect_places<PortInfoExtended>({
      {"capability_mask", 0, 32},
      {"fec_mode_active", 32, 16},
      {"fdr_fec_mode_supported", 48, 16},
      {"edr_fec_mode_enabled", 96, 16},
      {"hdr_fec_mode_supported", 112, 16},
      {"hdr_fec_mode_enabled", 128, 16},
      {"ndr_fec_mode_supported", 144, 16},
      {"ndr_fec_mode_enabled", 160, 16},
  });
}

TEST(SmInfo, LiesWhereLibibmadPutsIt) {
  expect_places<SmInfo>({
      {"guid", 0, 64},
      {"sm_key", 64, 64},
      {"activity_count", 128, 32},
      {"priority", 160, 4},
      {"state", 164, 4},
  });
}

// Elements of arrays, in the order that opensm reads them.
TEST(Tables, HaveTheirFirstElementFirst) {
  const auto bytes = counting<64>();
  EXPECT_EQ(decode<GuidInfo>(bytes).guids[1].value, 0x090a0b0c0d0e0f10U);
  EXPECT_EQ(decode<PKeyTable>(bytes).p_keys[31], 0x3f40);
  EXPECT_EQ(decode<LinearForwardingTable>(bytes).ports[63], 64);
  EXPECT_EQ(decode<MulticastForwardingTable>(bytes).port_masks[2], 0x0506);
  const SlToVlMappingTable lanes = decode<SlToVlMappingTable>(std::array{std::byte{0x12}, std::byte{0x34}});
  EXPECT_EQ(lanes.vl_of_sl[0], 1);
  EXPECT_EQ(lanes.vl_of_sl[3], 4);
  EXPECT_EQ(lanes.vl_of_sl[4], 0);
  const VlArbitrationTable arbitration = decode<VlArbitrationTable>(bytes);
  EXPECT_EQ(arbitration.entries[8].vl, 17 & 15);
  EXPECT_EQ(arbitration.entries[8].weight, 18);
  const RandomForwardingTable random = decode<RandomForwardingTable>(bytes);
  EXPECT_EQ(random.entries[15].lid.value, 0x3d3e);
  EXPECT_EQ(random.entries[15].lmc, 3);
  EXPECT_EQ(random.entries[15].port, 64);
}

TEST(Tables, KeepEveryBit) {
  expect_every_bit_kept<GuidInfo>();
  expect_every_bit_kept<PKeyTable>();
  expect_every_bit_kept<SlToVlMappingTable>();
  expect_every_bit_kept<VlArbitrationTable>();
  expect_every_bit_kept<LinearForwardingTable>();
  expect_every_bit_kept<RandomForwardingTable>();
  expect_every_bit_kept<MulticastForwardingTable>();
  expect_every_bit_kept<VendorDiag>();
  expect_every_bit_kept<LedInfo>();
}

TEST(Tables, PrintElementsThatAreNotZero) {
  VlArbitrationTable table;
  table.entries[1] = {.vl = 3, .weight = 7};
  EXPECT_EQ(to_string(table), "vl=0x3 weight=0x7");
  LinearForwardingTable ports;
  ports.ports[5] = 9;
  EXPECT_EQ(to_string(ports), "ports[5]=0x9");
}

TEST(Formats, OfShortBytesEndInZeros) {
  const auto bytes = counting<3>();
  const NodeInfo info = decode<NodeInfo>(bytes);
  EXPECT_EQ(info.node_type, NodeType{3});
  EXPECT_EQ(info.num_ports, 0);
  EXPECT_EQ(decode<NodeInfo>({}).vendor_id, 0U);
  std::array<std::byte, 3> out{};
  encode(info, out);
  EXPECT_EQ(out, bytes);
}

// ib_port_info_compute_rate() and ordered_rates[] of opensm.
TEST(Link, RatesAreThoseOfOpensm) {
  EXPECT_EQ(link_rate(LinkWidth::x4, LinkSpeed::sdr, LinkSpeedExt::none), Rate::gb10);
  EXPECT_EQ(link_rate(LinkWidth::x12, LinkSpeed::qdr, LinkSpeedExt::none), Rate::gb120);
  EXPECT_EQ(link_rate(LinkWidth::x2, LinkSpeed::ddr, LinkSpeedExt::none), Rate::gb10);
  EXPECT_EQ(link_rate(LinkWidth::x4, LinkSpeed::extended, LinkSpeedExt::fdr), Rate::gb56);
  EXPECT_EQ(link_rate(LinkWidth::x8, LinkSpeed::qdr, LinkSpeedExt::edr), Rate::gb200);
  EXPECT_EQ(link_rate(LinkWidth::x2, LinkSpeed::extended, LinkSpeedExt::hdr), Rate::gb100);
  EXPECT_EQ(link_rate(LinkWidth::x12, LinkSpeed::extended, LinkSpeedExt::ndr), Rate::gb1200);
  EXPECT_EQ(link_rate(LinkWidth{3}, LinkSpeed::sdr, LinkSpeedExt::none), Rate::none);
  EXPECT_EQ(link_rate(LinkWidth::x4, LinkSpeed{3}, LinkSpeedExt::none), Rate::none);
  const Rate ascending[] = {Rate::gb2_5, Rate::gb5,   Rate::gb10,  Rate::gb14,  Rate::gb20,  Rate::gb30,
                            Rate::gb25,  Rate::gb28,  Rate::gb40,  Rate::gb60,  Rate::gb50,  Rate::gb56,
                            Rate::gb80,  Rate::gb120, Rate::gb100, Rate::gb112, Rate::gb168, Rate::gb200,
                            Rate::gb300, Rate::gb400, Rate::gb600, Rate::gb800, Rate::gb1200};
  for (std::size_t i = 1; i < std::size(ascending); ++i)
    EXPECT_LT(data_rate(ascending[i - 1]), data_rate(ascending[i])) << i;
  EXPECT_EQ(data_rate(Rate{200}), 0);
}

TEST(Link, MtuCodes) {
  EXPECT_EQ(bytes_of(Mtu::b256), 256);
  EXPECT_EQ(bytes_of(Mtu::b4096), 4096);
  EXPECT_EQ(bytes_of(Mtu{6}), 0);
  EXPECT_EQ(data_vls(VlCap::vl0_14), 15U);
  EXPECT_EQ(data_vls(VlCap{15}), 0U);
}

}  // namespace
}  // namespace softrnic::mad
