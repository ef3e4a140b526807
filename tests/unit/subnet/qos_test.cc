#include "subnet/qos.h"

#include <gtest/gtest.h>

#include <string>

namespace softrnic::subnet {
namespace {

TEST(Qos, HasTheDefaultsOfOpensm) {
  const QosOptions options = QosConfig().options(QosPort::channel_adapter);
  EXPECT_EQ(options.max_vls, 15);
  EXPECT_EQ(options.high_limit, 0);
  ASSERT_EQ(options.vlarb_high.size(), 15U);
  EXPECT_EQ(options.vlarb_high[0], (VlWeight{0, 4}));
  EXPECT_EQ(options.vlarb_high[14], (VlWeight{14, 0}));
  EXPECT_EQ(options.vlarb_low[0], (VlWeight{0, 0}));
  EXPECT_EQ(options.vlarb_low[14], (VlWeight{14, 4}));
  EXPECT_EQ(options.sl2vl, (SlToVl{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 7}));
}

TEST(Qos, ReadsTheExampleOfOpensm) {
  QosConfig config;
  ASSERT_TRUE(config.set("qos_ca_max_vls", "8"));
  ASSERT_TRUE(config.set("qos_ca_high_limit", "6"));
  ASSERT_TRUE(config.set("qos_ca_vlarb_high", "0:4"));
  ASSERT_TRUE(config.set("qos_ca_vlarb_low", "0:0,1:64,2:128,3:192,4:0,5:64,6:64,7:64"));
  ASSERT_TRUE(config.set("qos_ca_sl2vl", "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,7"));
  const QosOptions options = config.options(QosPort::channel_adapter);
  EXPECT_EQ(options.high_limit, 6);
  EXPECT_EQ(options.vlarb_high, VlWeights({{0, 4}}));
  ASSERT_EQ(options.vlarb_low.size(), 8U);
  EXPECT_EQ(options.vlarb_low[3], (VlWeight{3, 192}));
  EXPECT_EQ(config.options(QosPort::switch_external).high_limit, 0);
}

TEST(Qos, PrefersTheOptionOfTheKindOfPort) {
  QosConfig config;
  ASSERT_TRUE(config.set("qos_high_limit", "7"));
  ASSERT_TRUE(config.set("qos_max_vls", "0x4"));
  ASSERT_TRUE(config.set("qos_swe_high_limit", " 9 "));
  EXPECT_EQ(config.options(QosPort::switch_external).high_limit, 9);
  for (const QosPort port : {QosPort::channel_adapter, QosPort::router, QosPort::switch_port0}) {
    EXPECT_EQ(config.options(port).high_limit, 7);
    EXPECT_EQ(config.options(port).max_vls, 4);
  }
  ASSERT_TRUE(config.set("qos_sw0_max_vls", "1"));
  ASSERT_TRUE(config.set("qos_rtr_max_vls", "2"));
  EXPECT_EQ(config.options(QosPort::switch_port0).max_vls, 1);
  EXPECT_EQ(config.options(QosPort::router).max_vls, 2);
}

TEST(Qos, RefusesWhatItDoesNotUnderstand) {
  QosConfig config;
  const auto error = [&](std::string_view name, std::string_view value) {
    return config.set(name, value).error();
  };
  EXPECT_EQ(error("qos", "TRUE"), QosError::unknown_option);
  EXPECT_EQ(error("qos_policy_file", "x"), QosError::unknown_option);
  EXPECT_EQ(error("max_vls", "1"), QosError::unknown_option);
  EXPECT_EQ(error("qos_max_vls", "0"), QosError::bad_number);
  EXPECT_EQ(error("qos_max_vls", "16"), QosError::bad_number);
  EXPECT_EQ(error("qos_max_vls", ""), QosError::bad_number);
  EXPECT_EQ(error("qos_high_limit", "256"), QosError::bad_number);
  EXPECT_EQ(error("qos_high_limit", "-1"), QosError::bad_number);
  EXPECT_EQ(error("qos_high_limit", "99999999999999"), QosError::bad_number);
  EXPECT_EQ(error("qos_vlarb_low", "15:1"), QosError::bad_entry);
  EXPECT_EQ(error("qos_vlarb_low", "1:256"), QosError::bad_entry);
  EXPECT_EQ(error("qos_vlarb_low", "1"), QosError::bad_entry);
  EXPECT_EQ(error("qos_vlarb_low", "1:1,"), QosError::bad_entry);
  EXPECT_EQ(error("qos_sl2vl", "16"), QosError::bad_number);
  EXPECT_EQ(error("qos_sl2vl", "0,1"), QosError::too_few);
  EXPECT_EQ(error("qos_sl2vl", "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0"), QosError::too_many);
  std::string many = "0:1";
  for (unsigned i = 1; i < kArbitrationEntries; ++i) many += ",0:1";
  EXPECT_TRUE(config.set("qos_vlarb_high", many));
  EXPECT_EQ(error("qos_vlarb_high", many + ",0:1"), QosError::too_many);
  EXPECT_EQ(config.options(QosPort::router).vlarb_high.size(), kArbitrationEntries);
}

TEST(Qos, ALinkHasTheVlsOfItsPoorerEnd) {
  EXPECT_EQ(operational_vls(5, 4, 15), 4);
  EXPECT_EQ(operational_vls(2, 5, 15), 2);
  EXPECT_EQ(operational_vls(5, 5, 15), 5);
  EXPECT_EQ(operational_vls(5, 5, 14), 4);
  EXPECT_EQ(operational_vls(5, 5, 7), 3);
  EXPECT_EQ(operational_vls(5, 5, 1), 1);
  EXPECT_EQ(operational_vls(5, 5, 0), 1);
  EXPECT_EQ(operational_vls(0, 5, 15), 1);
  EXPECT_EQ(operational_vls(15, 15, 15), 5);
  for (std::uint8_t code = 1; code <= 5; ++code) EXPECT_EQ(operational_vls(5, code, vls_of_code(code)), code);
}

TEST(Qos, MapsServiceLevelsToVlsThatAreThere) {
  QosConfig config;
  ASSERT_TRUE(config.set("qos_sl2vl", "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15"));
  const QosOptions options = config.options(QosPort::channel_adapter);
  EXPECT_EQ(sl_to_vl(options, 1), (SlToVl{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, kDropVl}));
  EXPECT_EQ(sl_to_vl(options, 3), (SlToVl{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, kDropVl}));
  EXPECT_EQ(sl_to_vl(options, 5), options.sl2vl);
  EXPECT_EQ(sl_to_vl(options, 0), sl_to_vl(options, 1));
}

TEST(Qos, FillsArbitrationTablesOfThePort) {
  const VlWeights weights{{0, 192}, {1, 64}, {9, 1}};
  EXPECT_EQ(arbitration_table(weights, 8, 4),
            VlWeights({{0, 192}, {1, 64}, {1, 1}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}}));
  EXPECT_EQ(arbitration_table(weights, 2, 5), VlWeights({{0, 192}, {1, 64}}));
  EXPECT_EQ(arbitration_table(weights, 255, 2).size(), kArbitrationEntries);
  EXPECT_TRUE(arbitration_table(weights, 0, 4).empty());
  EXPECT_TRUE(arbitration_table(weights, 8, 1).empty());
}

}  // namespace
}  // namespace softrnic::subnet
