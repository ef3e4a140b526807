#include "mad/mad.h"

#include <gtest/gtest.h>

#include "mad/class_port_info.h"
#include "mad/field.h"

namespace softrnic::mad {
namespace {

Mad counting_mad() {
  Mad mad;
  for (std::size_t i = 0; i < mad.size(); ++i) mad[i] = static_cast<std::byte>(i + 1);
  return mad;
}

TEST(MadHeader, LiesWhereTheSpecificationPutsIt) {
  Mad mad = counting_mad();
  const auto header = parse_header(mad);
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->management_class, ManagementClass{2});
  EXPECT_EQ(header->class_version, 3);
  EXPECT_EQ(header->method, Method{4});
  EXPECT_EQ(header->status, 0x0506);
  EXPECT_EQ(header->class_specific, 0x0708);
  EXPECT_EQ(header->transaction, 0x090a0b0c0d0e0f10U);
  EXPECT_EQ(header->attribute, 0x1112);
  EXPECT_EQ(header->reserved, 0x1314);
  EXPECT_EQ(header->modifier, 0x15161718U);
  Mad again{};
  encode_header(*header, again);
  EXPECT_TRUE(std::equal(again.begin(), again.begin() + kHeaderBytes, mad.begin()));
}

TEST(MadHeader, RefusesOtherLengthsAndVersions) {
  Mad mad = counting_mad();
  EXPECT_EQ(parse_header(Bytes(mad).first(255)).error(), ParseError::bad_length);
  EXPECT_EQ(parse_header({}).error(), ParseError::bad_length);
  mad[0] = std::byte{2};
  EXPECT_EQ(parse_header(mad).error(), ParseError::bad_version);
}

TEST(MadNames, AreThoseOfTheSpecification) {
  EXPECT_EQ(name_of(ManagementClass::communication), "ComMgt");
  EXPECT_EQ(name_of(Method::get_response), "GetResp");
  EXPECT_EQ(name_of(Method{0x55}), "");
}

TEST(Bits, AreCountedFromTheMostSignificant) {
  const std::array<std::byte, 4> bytes{std::byte{0x12}, std::byte{0x34}, std::byte{0x56}, std::byte{0x78}};
  EXPECT_EQ(load_bits(bytes, 0, 32), 0x12345678U);
  EXPECT_EQ(load_bits(bytes, 4, 8), 0x23U);
  EXPECT_EQ(load_bits(bytes, 3, 1), 1U);
  EXPECT_EQ(load_bits(bytes, 12, 20), 0x45678U);
}

// What is stored is loaded, and the bits beside it stay, at every place and width.
TEST(Bits, AreStoredBetweenTheirNeighbours) {
  for (std::size_t width = 1; width <= 64; ++width) {
    for (std::size_t bit = 0; bit + width <= 96; ++bit) {
      std::array<std::byte, 12> bytes;
      bytes.fill(std::byte{0xff});
      const std::uint64_t value = 0xa5c3'9661'5a3c'6996U & (width == 64 ? ~0ULL : (1ULL << width) - 1);
      store_bits(bytes, bit, width, value);
      ASSERT_EQ(load_bits(bytes, bit, width), value) << bit << " " << width;
      store_bits(bytes, bit, width, ~0ULL);
      for (const std::byte byte : bytes) ASSERT_EQ(byte, std::byte{0xff}) << bit << " " << width;
    }
  }
}

TEST(ClassPortInfo, EveryBitIsEncodedAgain) {
  const Mad mad = counting_mad();
  Mad again{};
  encode_class_port_info(decode_class_port_info(mad), again);
  EXPECT_TRUE(std::equal(again.begin(), again.begin() + kClassPortInfoBytes, mad.begin()));
  const ClassPortInfo info = decode_class_port_info(mad);
  EXPECT_EQ(info.capability_mask, 0x0304);
  EXPECT_EQ(info.capability_mask2, 0x05060708U >> 5);
  EXPECT_EQ(info.response_time, 8);
  EXPECT_EQ(info.redirect_qpn.value, 0x222324U);
  EXPECT_EQ(info.trap_qkey, 0x45464748U);
  EXPECT_NE(to_string(info).find("trap_qkey=0x45464748"), std::string::npos);
}

}  // namespace
}  // namespace softrnic::mad
