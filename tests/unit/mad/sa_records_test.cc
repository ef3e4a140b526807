// Records of subnet administration: offsets and component masks are those of opensm (ib_types.h) and
// libibmad.
#include <gtest/gtest.h>

#include "mad/component_mask.h"
#include "mad/sa_header.h"
#include "mad/sa_multicast_record.h"
#include "mad/sa_node_records.h"
#include "mad/sa_path_records.h"
#include "mad/sa_service_records.h"
#include "mad/sa_table_records.h"
#include "tests/unit/mad/format_checks.h"

namespace softrnic::mad {
namespace {

constexpr std::uint64_t bit(unsigned number) { return std::uint64_t{1} << number; }

TEST(SaHeader, LiesWhereLibibmadPutsIt) {
  expect_places<SaHeader>({{"sm_key", 0, 64}, {"attribute_offset", 64, 16}, {"component_mask", 96, 64}});
  EXPECT_EQ(kAttributeOffset<NodeRecord>, 14);       // 108 bytes and a pad of 4
  EXPECT_EQ(kAttributeOffset<McMemberRecord>, 7);    // 52 and 4
  EXPECT_EQ(kAttributeOffset<PortInfoRecord>, 9);    // 68 and 4
  EXPECT_EQ(kAttributeOffset<LinkRecord>, 1);        // 6 and 2
  EXPECT_EQ(kAttributeOffset<SmInfoRecord>, 4);      // 25 and 7
  EXPECT_EQ(kAttributeOffset<InformInfoRecord>, 8);  // 60 and 4
  EXPECT_EQ(kAttributeOffset<PathRecord>, 8);
  EXPECT_EQ(kAttributeOffset<ServiceRecord>, 22);
}

TEST(Records, LieWhereOpensmPutsThem) {
  expect_places<NodeRecord>({{"lid", 0, 16}, {"node_info", 32, 320}, {"node_description", 352, 512}});
  expect_places<PortInfoRecord>(
      {{"endport_lid", 0, 16}, {"port_num", 16, 8}, {"options", 24, 8}, {"port_info", 32, 512}});
  expect_places<SwitchInfoRecord>({{"lid", 0, 16}, {"switch_info", 32, 160}});
  expect_places<SmInfoRecord>({{"lid", 0, 16}, {"sm_info", 32, 168}});
  expect_places<LinkRecord>(
      {{"from_lid", 0, 16}, {"from_port", 16, 8}, {"to_port", 24, 8}, {"to_lid", 32, 16}});
  expect_places<GuidInfoRecord>({{"lid", 0, 16}, {"block_num", 16, 8}, {"guid_info", 64, 512}});
  expect_places<SlToVlMappingTableRecord>(
      {{"lid", 0, 16}, {"input_port_num", 16, 8}, {"output_port_num", 24, 8}, {"table", 64, 64}});
  expect_places<LinearForwardingTableRecord>({{"lid", 0, 16}, {"block_num", 16, 16}, {"table", 64, 512}});
  expect_places<RandomForwardingTableRecord>({{"lid", 0, 16}, {"block_num", 16, 16}, {"table", 64, 512}});
  expect_places<MulticastForwardingTableRecord>(
      {{"lid", 0, 16}, {"position", 16, 4}, {"block_num", 23, 9}, {"table", 64, 512}});
  expect_places<PKeyTableRecord>(
      {{"lid", 0, 16}, {"block_num", 16, 16}, {"port_num", 32, 8}, {"table", 64, 512}});
  expect_places<VlArbitrationTableRecord>(
      {{"lid", 0, 16}, {"output_port_num", 16, 8}, {"block_num", 24, 8}, {"table", 64, 512}});
  expect_places<InformInfoRecord>(
      {{"subscriber_gid", 0, 128}, {"enumeration", 128, 16}, {"inform_info", 192, 288}});
}

TEST(Records, LieWhereLibibmadPutsThem) {
  expect_places<PathRecord>({{"dgid", 64, 128},
                             {"sgid", 192, 128},
                             {"dlid", 320, 16},
                             {"slid", 336, 16},
                             {"num_paths", 393, 7},
                             {"sl", 428, 4}});
  expect_places<MultiPathRecord>(
      {{"num_paths", 41, 7}, {"sgid_count", 120, 8}, {"dgid_count", 128, 8}, {"gids", 192, 1408}});
  expect_places<McMemberRecord>({{"mgid", 0, 128},
                                 {"port_gid", 128, 128},
                                 {"q_key", 256, 32},
                                 {"mlid", 288, 16},
                                 {"mtu", 306, 6},
                                 {"traffic_class", 312, 8},
                                 {"p_key", 320, 16},
                                 {"rate", 338, 6},
                                 {"sl", 352, 4},
                                 {"flow_label", 356, 20},
                                 {"join_state", 388, 4},
                                 {"proxy_join", 392, 1}});
  expect_places<ServiceRecord>({{"service_id", 0, 64},
                                {"service_gid", 64, 128},
                                {"service_p_key", 192, 16},
                                {"service_lease", 224, 32},
                                {"service_key", 256, 128},
                                {"service_name", 384, 512},
                                {"service_data8", 896, 128}});
}

// IB_NR_COMPMASK_… and so on.
TEST(ComponentMask, OfNodesAndPorts) {
  static_assert(component<NodeRecord>("lid") == bit(0));
  static_assert(component<NodeRecord>("base_version") == bit(2));
  static_assert(component<NodeRecord>("num_ports") == bit(5));
  static_assert(component<NodeRecord>("port_guid") == bit(8));
  static_assert(component<NodeRecord>("vendor_id") == bit(13));
  static_assert(component<NodeRecord>("node_description") == bit(14));
  static_assert(component<PortInfoRecord>("port_num") == bit(1));
  static_assert(component<PortInfoRecord>("options") == bit(2));
  static_assert(component<PortInfoRecord>("m_key") == bit(3));
  static_assert(component<PortInfoRecord>("lid") == bit(5));
  static_assert(component<PortInfoRecord>("capability_mask") == bit(7));
  static_assert(component<PortInfoRecord>("port_state") == bit(15));
  static_assert(component<PortInfoRecord>("lmc") == bit(20));
  static_assert(component<PortInfoRecord>("vl_cap") == bit(25));
  static_assert(component<PortInfoRecord>("mtu_cap") == bit(31));
  static_assert(component<PortInfoRecord>("filter_raw_outbound") == bit(38));
  static_assert(component<PortInfoRecord>("client_reregister") == bit(43));
  static_assert(component<PortInfoRecord>("subnet_timeout") == bit(45));
  static_assert(component<PortInfoRecord>("max_credit_hint") == bit(50));
  static_assert(component<PortInfoRecord>("link_speed_ext2_enabled") == bit(51));
  static_assert(component<PortInfoRecord>("link_round_trip_latency") == bit(52));
  static_assert(component<PortInfoRecord>("capability_mask2") == bit(53));
  static_assert(component<PortInfoRecord>("link_speed_ext_enabled") == bit(57));
  static_assert(component<SmInfoRecord>("guid") == bit(2));
  static_assert(component<SmInfoRecord>("state") == bit(6));
  static_assert(component<LinkRecord>("to_lid") == bit(3));
  static_assert(component<GuidInfoRecord>("guids") == 0xffU << 4);
}

TEST(ComponentMask, OfTables) {
  static_assert(component<SlToVlMappingTableRecord>("output_port_num") == bit(2));
  static_assert(component<LinearForwardingTableRecord>("block_num") == bit(1));
  static_assert(component<MulticastForwardingTableRecord>("position") == bit(1));
  static_assert(component<MulticastForwardingTableRecord>("block_num") == bit(3));
  static_assert(component<PKeyTableRecord>("port_num") == bit(2));
  static_assert(component<VlArbitrationTableRecord>("block_num") == bit(2));
}

TEST(ComponentMask, OfPathsAndGroups) {
  static_assert(component<PathRecord>("service_id_8msb") == bit(0));
  static_assert(component<PathRecord>("dgid") == bit(2));
  static_assert(component<PathRecord>("raw_traffic") == bit(6));
  static_assert(component<PathRecord>("reversible") == bit(11));
  static_assert(component<PathRecord>("num_paths") == bit(12));
  static_assert(component<PathRecord>("sl") == bit(15));
  static_assert(component<PathRecord>("packet_life_time") == bit(21));
  static_assert(component<MultiPathRecord>("flow_label") == bit(2));
  static_assert(component<MultiPathRecord>("service_id_8msb") == bit(16));
  static_assert(component<MultiPathRecord>("sgid_count") == bit(19));
  static_assert(component<MultiPathRecord>("service_id_56lsb") == bit(21));
  static_assert(component<McMemberRecord>("mlid") == bit(3));
  static_assert(component<McMemberRecord>("rate_selector") == bit(8));
  static_assert(component<McMemberRecord>("join_state") == bit(16));
  static_assert(component<McMemberRecord>("proxy_join") == bit(17));
}

TEST(ComponentMask, OfServices) {
  static_assert(component<ServiceRecord>("service_name") == bit(6));
  static_assert(component<ServiceRecord>("service_data8") == 0xffffULL << 7);
  static_assert(component<ServiceRecord>("service_data16") == 0xffULL << 23);
  static_assert(component<ServiceRecord>("service_data64") == 3ULL << 35);
  static_assert(component<InformInfoRecord>("enumeration") == bit(1));
  static_assert(component<InformInfoRecord>("lid_range_begin") == bit(4));
  static_assert(component<InformInfoRecord>("trap_number") == bit(10));
  static_assert(component<InformInfoRecord>("qpn") == bit(11));
  static_assert(component<InformInfoRecord>("producer_type") == bit(15));
}

TEST(Matching, LooksAtWhatTheMaskSelects) {
  NodeRecord query;
  NodeRecord record;
  record.lid = wire::Lid(7);
  record.node_info.node_type = NodeType::switch_node;
  EXPECT_TRUE(matches(0, query, record));
  EXPECT_FALSE(matches(component<NodeRecord>("lid"), query, record));
  EXPECT_FALSE(matches(component<NodeRecord>("node_type"), query, record));
  EXPECT_FALSE(matches(component<NodeRecord>("node_info"), query, record));
  query.node_info.node_type = NodeType::switch_node;
  EXPECT_TRUE(matches(component<NodeRecord>("node_type"), query, record));
  EXPECT_TRUE(matches(~component<NodeRecord>("lid"), query, record));
  EXPECT_TRUE(matches(~std::uint64_t{0} << 15, query, record));  // no such fields
}

TEST(Matching, TakesElementsOneByOne) {
  ServiceRecord query;
  ServiceRecord record;
  record.service_data16[3] = 9;
  EXPECT_FALSE(matches(bit(26), query, record));
  EXPECT_TRUE(matches(~bit(26), query, record));
  GuidInfoRecord wanted;
  GuidInfoRecord has;
  has.guid_info.guids[7] = Guid(1);
  EXPECT_FALSE(matches(bit(11), wanted, has));
  EXPECT_TRUE(matches(~bit(11), wanted, has));
}

TEST(Matching, TakesSharedComponentsTogether) {
  PortInfoRecord query;
  PortInfoRecord record;
  record.port_info.link_speed_ext2_active = 1;
  EXPECT_FALSE(matches(bit(51), query, record));
  EXPECT_TRUE(matches(~bit(51), query, record));
}

TEST(Matching, TakesTablesWhole) {
  VlArbitrationTableRecord query;
  VlArbitrationTableRecord record;
  record.table.entries[31].weight = 1;
  EXPECT_TRUE(matches(bit(0) | bit(1) | bit(2) | bit(3), query, record));
  EXPECT_FALSE(matches(component<VlArbitrationTableRecord>("table"), query, record));
}

TEST(Selectors, CompareOnAScale) {
  EXPECT_TRUE(satisfies(Selector::greater_than, 3, 4));
  EXPECT_FALSE(satisfies(Selector::greater_than, 3, 3));
  EXPECT_TRUE(satisfies(Selector::less_than, 3, 2));
  EXPECT_FALSE(satisfies(Selector::exactly, 3, 2));
  EXPECT_TRUE(satisfies(Selector::best, 3, 2));
}

TEST(PathRecord, HasAServiceIdInTwoParts) {
  PathRecord record;
  record.set_service_id(0x1122334455667788);
  EXPECT_EQ(record.service_id(), 0x1122334455667788U);
  EXPECT_EQ(encoded(record)[0], std::byte{0x11});
  EXPECT_EQ(encoded(record)[7], std::byte{0x88});
}

}  // namespace
}  // namespace softrnic::mad
