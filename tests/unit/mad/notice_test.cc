// Notices and subscriptions, judged by the offsets of opensm (ib_types.h).
#include "mad/notice.h"

#include <gtest/gtest.h>

#include "mad/inform_info.h"
#include "tests/unit/mad/format_checks.h"

namespace softrnic::mad {
namespace {

TEST(Notice, LiesWhereLibibmadPutsIt) {
  expect_places<Notice>({
      {"is_generic", 0, 1},
      {"type", 1, 7},
      {"producer_type", 8, 24},
      {"trap_number", 32, 16},
      {"issuer_lid", 48, 16},
      {"toggle", 64, 1},
      {"count", 65, 15},
      {"data_details", 80, 432},
      {"issuer_gid", 512, 128},
  });
}

// Offsets of struct _ib_mad_notice_attr, of libibmad's trap 144 less the 80 bits before the details, and of
// wireshark.
TEST(TrapDetails, LieWhereOpensmPutsThem) {
  expect_places<GidDetails>({{"gid", 48, 128}});
  expect_places<PathDetails>({{"component_mask", 0, 64}, {"wait_for_repath", 64, 1}});
  expect_places<LinkStateDetails>({{"lid", 0, 16}});
  expect_places<ThresholdDetails>({{"lid", 16, 16}, {"port", 32, 8}});
  expect_places<LocalChangesDetails>({{"lid", 16, 16},
                                      {"other_local_changes", 47, 1},
                                      {"capability_mask", 48, 32},
                                      {"capability_mask2_change", 90, 1},
                                      {"node_description_change", 95, 1},
                                      {"capability_mask2", 96, 16}});
  expect_places<SystemImageGuidDetails>({{"lid", 16, 16}, {"system_image_guid", 48, 64}});
  expect_places<BadMKeyDetails>({{"lid", 16, 16},
                                 {"dr_slid", 32, 16},
                                 {"method", 48, 8},
                                 {"attribute", 64, 16},
                                 {"modifier", 80, 32},
                                 {"m_key", 112, 64},
                                 {"dr_notice", 184, 1},
                                 {"dr_path_truncated", 185, 1},
                                 {"dr_hop_count", 186, 6},
                                 {"dr_return_path", 192, 240}});
  expect_places<BadKeyDetails>({{"lid1", 16, 16},
                                {"lid2", 32, 16},
                                {"key", 48, 32},
                                {"sl", 80, 4},
                                {"qp1", 88, 24},
                                {"qp2", 120, 24},
                                {"gid1", 144, 128},
                                {"gid2", 272, 128}});
  expect_places<SwitchBadPKeyDetails>({{"lid1", 16, 16},
                                       {"p_key", 48, 16},
                                       {"sl", 64, 4},
                                       {"qp1", 72, 24},
                                       {"qp2", 104, 24},
                                       {"gid1", 128, 128},
                                       {"gid2", 256, 128},
                                       {"switch_lid", 384, 16},
                                       {"port", 400, 8}});
}

TEST(InformInfo, LiesWhereOpensmPutsIt) {
  expect_places<InformInfo>({{"gid", 0, 128},
                             {"lid_range_begin", 128, 16},
                             {"lid_range_end", 144, 16},
                             {"is_generic", 176, 8},
                             {"subscribe", 184, 8},
                             {"type", 192, 16},
                             {"trap_number", 208, 16},
                             {"qpn", 224, 24},
                             {"response_time_value", 251, 5},
                             {"producer_type", 264, 24}});
}

TEST(Notice, CarriesDetailsOfItsTrap) {
  Notice notice{.type = NoticeType::security, .trap_number = 257};
  notice.data_details.fill(std::byte{0xff});
  notice.set_details(BadKeyDetails{.lid1 = wire::Lid(3), .key = 0x8001, .qp1 = Qpn(7)});
  EXPECT_EQ(notice.details_as<BadKeyDetails>().qp1, Qpn(7));
  EXPECT_EQ(notice.data_details.back(), std::byte{0});
  EXPECT_EQ(describe(notice), "bad P_Key (257) lid1=0x3 key=0x8001 qp1=0x7");
  ASSERT_NE(find_trap(128), nullptr);
  EXPECT_EQ(find_trap(128)->type, NoticeType::urgent);
  EXPECT_EQ(find_trap(70), nullptr);
}

TEST(Notice, OfAVendorIsPrintedAsItIs) {
  const Notice notice{
      .is_generic = false, .type = NoticeType::urgent, .producer_type = 0x1405, .trap_number = 257};
  EXPECT_EQ(describe(notice), "type=0x1 producer_type=0x1405 trap_number=0x101");
}

TEST(Notice, FitsAnSmpWithoutItsGid) {
  Notice notice{.trap_number = 128};
  notice.issuer_gid.raw.fill(std::byte{9});
  std::array<std::byte, Notice::kSmpBytes> data{};
  encode(notice, data);
  EXPECT_EQ(decode<Notice>(data).trap_number, 128);
  EXPECT_TRUE(decode<Notice>(data).issuer_gid.is_zero());
}

}  // namespace
}  // namespace softrnic::mad
