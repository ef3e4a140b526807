// Numbers and names of attributes are those of libibumad (umad_sm.h, umad_sa.h, umad_str.c); modifiers those
// that opensm and smpquery write.
#include "mad/attributes.h"

#include <gtest/gtest.h>

#include <set>

#include "mad/attribute_modifier.h"
#include "tests/unit/mad/format_checks.h"

namespace softrnic::mad {
namespace {

std::string_view name_of(ManagementClass management_class, std::uint16_t id) {
  const AttributeInfo* const info = find_attribute(management_class, id);
  return info == nullptr ? "" : info->name;
}

TEST(Attributes, HaveTheirNumbers) {
  constexpr auto kSubnet = ManagementClass::subnet_directed_route;
  EXPECT_EQ(name_of(kSubnet, 0x0010), "NodeDescription");
  EXPECT_EQ(name_of(kSubnet, 0x0015), "PortInfo");
  EXPECT_EQ(name_of(kSubnet, 0x0018), "VLArbitrationTable");
  EXPECT_EQ(name_of(kSubnet, 0x001b), "MulticastForwardingTable");
  EXPECT_EQ(name_of(kSubnet, 0x0020), "SMInfo");
  EXPECT_EQ(name_of(kSubnet, 0x0033), "PortInfoExtended");
  EXPECT_EQ(name_of(kSubnet, 0xff90), "");
  constexpr auto kSa = ManagementClass::subnet_administration;
  EXPECT_EQ(name_of(kSa, 0x0012), "PortInfoRecord");
  EXPECT_EQ(name_of(kSa, 0x0035), "PathRecord");
  EXPECT_EQ(name_of(kSa, 0x0038), "MCMemberRecord");
  EXPECT_EQ(name_of(kSa, 0x00f3), "InformInfoRecord");
  EXPECT_EQ(name_of(ManagementClass::performance, 0x001d), "PortCountersExtended");
  EXPECT_EQ(name_of(ManagementClass::communication, 0x0010), "");
}

TEST(Attributes, AreEachThereOnce) {
  for (const auto management_class : {ManagementClass::subnet_lid_routed,
                                      ManagementClass::subnet_administration, ManagementClass::performance}) {
    std::set<std::uint16_t> seen;
    for (const AttributeInfo& info : attributes_of(management_class))
      EXPECT_TRUE(seen.insert(info.id).second) << info.name;
    EXPECT_GT(seen.size(), 15U);
  }
}

TEST(Attributes, KnowTheirMethods) {
  const auto* const info = find_attribute(ManagementClass::subnet_lid_routed, 0x0011);
  EXPECT_TRUE(info->methods.contains(Method::get));
  EXPECT_FALSE(info->methods.contains(Method::set));
  EXPECT_FALSE(info->methods.contains(Method::get_response));
  const auto* const member = find_attribute(ManagementClass::subnet_administration, 0x0038);
  EXPECT_TRUE(member->methods.contains(Method::delete_record));
}

TEST(Modifiers, AreThoseOfOpensm) {
  expect_every_bit_kept<PortModifier>();
  expect_every_bit_kept<PKeyTableModifier>();
  expect_every_bit_kept<SlToVlModifier>();
  expect_every_bit_kept<VlArbitrationModifier>();
  expect_every_bit_kept<MulticastForwardingModifier>();
  EXPECT_EQ(encode_modifier(PortModifier{.sm_supports_extended_speeds = true, .port = 5}), 1U << 31 | 5);
  EXPECT_EQ(encode_modifier(PKeyTableModifier{.port = 5, .block = 2}), 5U << 16 | 2);
  EXPECT_EQ(encode_modifier(SlToVlModifier{.input_port = 3, .output_port = 4}), 3U << 8 | 4);
  EXPECT_EQ(encode_modifier(SlToVlModifier{.all_output_ports = true, .all_input_ports = true}), 0x30000U);
  EXPECT_EQ(encode_modifier(VlArbitrationModifier{.block = 3, .port = 9}), 3U << 16 | 9);
  EXPECT_EQ(encode_modifier(MulticastForwardingModifier{.position = 2, .block = 31}), 2U << 28 | 31);
  EXPECT_EQ(decode_modifier<MulticastForwardingModifier>(0xf00001ff).block, 511);
}

TEST(Names, AreThoseOfLibibumad) {
  EXPECT_EQ(mad::name_of(ManagementClass::subnet_directed_route), "Subn");
  EXPECT_EQ(mad::name_of(ManagementClass{0x0a}), "Vendor");
  EXPECT_EQ(mad::name_of(ManagementClass{0x4f}), "Vendor");
  EXPECT_EQ(mad::name_of(ManagementClass::device_administration), "DevAdm");
  EXPECT_EQ(mad::name_of(ManagementClass{0x22}), "Application");
  EXPECT_EQ(mad::name_of(ManagementClass{0x50}), "");
  EXPECT_EQ(mad::name_of(Method::get_table_response), "GetTableResp");
  EXPECT_EQ(mad::name_of(common_status(0x031c)), "Invalid attribute/modifier field");
  EXPECT_EQ(common_status(0x0005), Status::busy);
  EXPECT_EQ(mad::name_of(sa_status(0x0300)), "No Records");
  EXPECT_EQ(status_of(SaStatus::denied), 0x0700);
}

TEST(Methods, HaveTheirAnswers) {
  EXPECT_EQ(response_to(Method::set), Method::get_response);
  EXPECT_EQ(response_to(Method::trap), Method::trap_repress);
  EXPECT_EQ(response_to(Method::get_table), Method::get_table_response);
  EXPECT_EQ(response_to(Method::delete_record), Method::delete_response);
  EXPECT_EQ(response_to(Method::send), Method::send);
}

TEST(VendorClasses, AreTwoRanges) {
  EXPECT_FALSE(is_vendor_range1(ManagementClass::snmp_tunneling));
  EXPECT_TRUE(is_vendor_range1(ManagementClass{0x0f}));
  EXPECT_TRUE(is_vendor_range2(ManagementClass::openib_ping));
  EXPECT_FALSE(is_vendor_range2(ManagementClass{0x50}));
}

}  // namespace
}  // namespace softrnic::mad
