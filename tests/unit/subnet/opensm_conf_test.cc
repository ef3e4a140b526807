#include "subnet/opensm_conf.h"

#include <gtest/gtest.h>

namespace softrnic::subnet {
namespace {

TEST(OpensmConf, SetsWhatItNames) {
  const auto read = read_opensm_conf(
      "# QoS\n"
      "qos TRUE\n"
      "qos_max_vls 2\t# of them\r\n"
      "\n"
      "qos_vlarb_low 0:192,1:64\n"
      "  routing_engine   ftree  \n"
      "m_key 0x0123456789abcdef\n"
      "sweep_interval 3\n"
      "lmc 2",
      {});
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->qos);
  const QosOptions qos = read->qos_config.options(QosPort::switch_external);
  EXPECT_EQ(qos.max_vls, 2);
  ASSERT_EQ(qos.vlarb_low.size(), 2U);
  EXPECT_EQ(qos.vlarb_low[1].weight, 64);
  EXPECT_EQ(read->routing.engine, "ftree");
  EXPECT_EQ(read->ports.m_key, 0x0123'4567'89ab'cdefU);
  EXPECT_EQ(read->sweep_interval, std::chrono::seconds(3));
  EXPECT_EQ(read->lids.lmc, 2);
}

TEST(OpensmConf, LeavesTheRestAsItWas) {
  ManagerOptions before;
  before.routing.engine = "updn";
  before.priority = 5;
  const auto read = read_opensm_conf("routing_engine (null)\n#sm_priority 3\n", before);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->routing.engine, "updn");
  EXPECT_EQ(read->priority, 5);
}

struct Wrong {
  const char* text;
  OpensmConfFault fault;
};

TEST(OpensmConf, RefusesWhatItDoesNotUnderstand) {
  using enum OpensmConfFault;
  constexpr Wrong kAll[] = {
      {"qos\n", no_value},
      {"babbling_port_policy FALSE", unknown_option},
      {"qos_colour 3", unknown_option},
      {"qos yes", bad_value},
      {"qos_max_vls 16", bad_value},
      {"lmc 8", bad_value},
      {"sm_priority 16", bad_value},
      {"sm_priority -1", bad_value},
      {"m_key 0x10000000000000000", bad_value},
      {"m_key 0x", bad_value},
      {"routing_engine nue", bad_value},
      {"sweep_interval 4294967296", bad_value},
      {"vl_stall_count 8", bad_value},
  };
  for (const Wrong& wrong : kAll) {
    const auto read = read_opensm_conf(std::string("qos FALSE\n") + wrong.text, {});
    ASSERT_FALSE(read) << wrong.text;
    EXPECT_EQ(read.error().fault, wrong.fault) << wrong.text;
    EXPECT_EQ(read.error().line, 2U) << wrong.text;
    EXPECT_FALSE(name_of(read.error().fault).empty());
  }
}

}  // namespace
}  // namespace softrnic::subnet
