#include "cm/messages.h"

#include <gtest/gtest.h>

namespace softrnic::cm {
namespace {

mad::Mad noise(std::uint32_t seed) {
  mad::Mad mad;
  for (std::byte& byte : mad) {
    seed = seed * 1664525 + 1013904223;
    byte = static_cast<std::byte>(seed >> 24);
  }
  return mad;
}

TEST(CmMessages, EveryBitIsEncodedAgain) {
  EXPECT_EQ(formats().size(), 11U);
  for (const Format& format : formats()) {
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
      const mad::Mad in = noise(seed);
      mad::Mad out{};
      std::copy(in.begin(), in.begin() + mad::kHeaderBytes, out.begin());
      format.recode(in, out);
      ASSERT_EQ(out, in) << format.name << " " << seed;
    }
  }
}

TEST(CmMessages, HeadersAreThoseOfTheClass) {
  const mad::Mad mad = encode(Dreq{}, 0x1122334455667788, 9);
  const auto header = mad::parse_header(mad);
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->management_class, mad::ManagementClass::communication);
  EXPECT_EQ(header->class_version, 2);
  EXPECT_EQ(header->method, mad::Method::send);
  EXPECT_EQ(header->attribute, 0x15);
  EXPECT_EQ(header->transaction, 0x1122334455667788U);
  EXPECT_EQ(header->modifier, 9U);
}

/// Where a byte of the message data has to change, and how, when one field is set.
template <typename M>
void expect_place(void (*set)(M&), std::size_t byte, std::initializer_list<unsigned> expected) {
  M message;
  set(message);
  const mad::Mad mad = encode(message, 0);
  mad::Mad zero = encode(M{}, 0);
  for (const unsigned value : expected) zero[mad::kHeaderBytes + byte++] = static_cast<std::byte>(value);
  EXPECT_EQ(mad, zero) << to_string(message);
}

// Places as the kernel has them (include/rdma/ibta_vol1_c12.h); the captures of tests/golden judge the rest.
TEST(CmMessages, FieldsLieWhereLinuxHasThem) {
  expect_place<Req>([](Req& m) { m.vendor = 0xabcdef; }, 5, {0xab, 0xcd, 0xef});
  expect_place<Req>([](Req& m) { m.flow_control = true; }, 43, {0x01});
  expect_place<Req>([](Req& m) { m.transport_service = 3; }, 43, {0x06});
  expect_place<Req>([](Req& m) { m.extended_transport = 1; }, 51, {0x01});
  expect_place<Req>([](Req& m) { m.srq = true; }, 51, {0x08});
  expect_place<Req>([](Req& m) { m.primary.flow_label = 0xfffff; }, 88, {0xff, 0xff, 0xf0});
  expect_place<Req>([](Req& m) { m.primary.rate = 0x3f; }, 91, {0x3f});
  expect_place<Req>([](Req& m) { m.primary.subnet_local = true; }, 94, {0x08});
  expect_place<Req>([](Req& m) { m.alternate.ack_timeout = 31; }, 139, {0xf8});
  expect_place<Mra>([](Mra& m) { m.about = About::rep; }, 8, {0x40});
  expect_place<Mra>([](Mra& m) { m.service_timeout = 31; }, 9, {0xf8});
  expect_place<Rej>([](Rej& m) { m.info_length = 72; }, 9, {72 << 1});
  expect_place<Rej>([](Rej& m) { m.reason = RejectReason::vendor_option; }, 10, {0, 35});
  expect_place<Rep>([](Rep& m) { m.vendor_high = 1, m.qpn = Qpn(0x020304); }, 12, {2, 3, 4, 1});
  expect_place<Rep>([](Rep& m) { m.vendor_middle = 1, m.eecn = 2; }, 16, {0, 0, 2, 1});
  expect_place<Rep>([](Rep& m) { m.srq = true; }, 27, {0x10});
  expect_place<Rep>([](Rep& m) { m.failover_accepted = 3; }, 26, {0x06});
  expect_place<Dreq>([](Dreq& m) { m.remote_qpn = Qpn(1); }, 8, {0, 0, 1});
  expect_place<Lap>([](Lap& m) { m.remote_response_timeout = 31; }, 15, {0xf8});
  expect_place<Lap>([](Lap& m) { m.alternate.traffic_class = 7; }, 59, {7});
  expect_place<Lap>([](Lap& m) { m.alternate.ack_timeout = 1; }, 63, {0x08});
  expect_place<Apr>([](Apr& m) { m.status = AprStatus::not_supported; }, 9, {2});
  expect_place<SidrReq>([](SidrReq& m) { m.service_id = ServiceId(0x0102030405060708); }, 8,
                        {1, 2, 3, 4, 5, 6, 7, 8});
  expect_place<SidrRep>([](SidrRep& m) { m.vendor_high = 0x1234, m.vendor_low = 0x56; }, 6,
                        {0x12, 0x34, 0, 0, 0, 0x56});
  expect_place<SidrRep>([](SidrRep& m) { m.qkey = 0x01234567; }, 20, {1, 0x23, 0x45, 0x67});
}

TEST(CmMessages, PrintWhatIsNotZero) {
  Rej rej;
  rej.reason = RejectReason::invalid_service_id;
  rej.remote_id = 0x10;
  EXPECT_EQ(print(encode(rej, 1)), "REJ remote_id=0x10 reason=0x8");
  EXPECT_EQ(print({}), "");
}

}  // namespace
}  // namespace softrnic::cm
