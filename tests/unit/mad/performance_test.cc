// Counters, judged by the offsets of libibmad (fields.c).
#include <gtest/gtest.h>

#include "mad/optional_counters.h"
#include "mad/port_counters.h"
#include "mad/port_samples.h"
#include "tests/unit/mad/format_checks.h"

namespace softrnic::mad {
namespace {

TEST(PortCounters, LieWhereLibibmadPutsThem) {
  expect_places<PortCounters>({
      {"port_select", 8, 8},
      {"counter_select", 16, 16},
      {"symbol_error_counter", 32, 16},
      {"link_error_recovery_counter", 48, 8},
      {"link_downed_counter", 56, 8},
      {"port_rcv_errors", 64, 16},
      {"port_rcv_remote_physical_errors", 80, 16},
      {"port_rcv_switch_relay_errors", 96, 16},
      {"port_xmit_discards", 112, 16},
      {"port_xmit_constraint_errors", 128, 8},
      {"port_rcv_constraint_errors", 136, 8},
      {"counter_select2", 144, 8},
      {"local_link_integrity_errors", 152, 4},
      {"excessive_buffer_overrun_errors", 156, 4},
      {"qp1_dropped", 160, 16},
      {"vl15_dropped", 176, 16},
      {"port_xmit_data", 192, 32},
      {"port_rcv_data", 224, 32},
      {"port_xmit_pkts", 256, 32},
      {"port_rcv_pkts", 288, 32},
      {"port_xmit_wait", 320, 32},
  });
}

TEST(PortCountersExtended, LieWhereLibibmadPutsThem) {
  expect_places<PortCountersExtended>({
      {"port_select", 8, 8},
      {"counter_select", 16, 16},
      {"counter_select2", 32, 32},
      {"port_xmit_data", 64, 64},
      {"port_rcv_data", 128, 64},
      {"port_unicast_xmit_pkts", 320, 64},
      {"symbol_error_counter", 576, 64},
      {"link_downed_counter", 704, 64},
      {"port_xmit_discards", 960, 64},
      {"local_link_integrity_errors", 1152, 64},
      {"vl15_dropped", 1280, 64},
      {"port_xmit_wait", 1344, 64},
      {"qp1_dropped", 1408, 64},
  });
}

TEST(OptionalCounters, LieWhereLibibmadPutsThem) {
  expect_places<PortRcvErrorDetails>({{"port_local_physical_errors", 32, 16},
                                      {"port_dlid_mapping_errors", 80, 16},
                                      {"port_looping_errors", 112, 16}});
  expect_places<PortXmitDiscardDetails>(
      {{"port_inactive_discards", 32, 16}, {"port_sw_hoq_lifetime_limit_discards", 80, 16}});
  expect_places<PortExtendedSpeedsCounters>({{"counter_select", 64, 64},
                                             {"sync_header_error_counter", 128, 16},
                                             {"unknown_block_counter", 144, 16},
                                             {"error_detection_counter", 160, 192},
                                             {"fec_correctable_block_counter", 352, 384},
                                             {"fec_uncorrectable_block_counter", 736, 384},
                                             {"port_fec_correctable_block_counter", 1120, 32},
                                             {"port_fec_corrected_symbol_counter", 1184, 32}});
  expect_places<PortVlOpPackets>({{"counters", 32, 256}});
  expect_places<PortVlXmitFlowCtlUpdateErrors>({{"counters", 32, 32}});
  expect_places<PortVlXmitTimeCong>({{"counters", 32, 480}});
  expect_places<PortXmitConCtrl>({{"counters", 32, 32}});
  expect_places<PortRcvDataSl>({{"counters", 32, 512}});
}

TEST(PortSamples, LieWhereLibibmadPutsThem) {
  expect_places<PortSamplesControl>({
      {"op_code", 0, 8},
      {"port_select", 8, 8},
      {"tick", 16, 8},
      {"counter_width", 29, 3},
      {"counter_mask0_9", 34, 30},
      {"counter_mask10_14", 65, 15},
      {"sample_mechanisms", 80, 8},
      {"sample_status", 94, 2},
      {"option_mask", 96, 64},
      {"vendor_mask", 160, 64},
      {"sample_start", 224, 32},
      {"sample_interval", 256, 32},
      {"tag", 288, 16},
      {"counter_select", 304, 240},
      {"samples_only_option_mask", 576, 64},
  });
  expect_places<PortSamplesResult>({{"tag", 0, 16}, {"sample_status", 30, 2}, {"counter", 32, 480}});
  expect_places<PortSamplesResultExtended>({{"extended_width", 32, 2}, {"counter", 64, 960}});
}

TEST(Counter, StopsWhenFull) {
  Counter<4> nibble;
  nibble += 14;
  EXPECT_FALSE(nibble.is_full());
  nibble += 1;
  EXPECT_TRUE(nibble.is_full());
  nibble += ~0ULL;
  EXPECT_EQ(nibble.value, 15);
  Counter<64> wide = ~0ULL - 1;
  EXPECT_FALSE(wide.is_full());
  wide += 5;
  EXPECT_TRUE(wide.is_full());
  EXPECT_EQ(Counter<2>(3).value, 3);
  EXPECT_EQ(Counter<2>(4).value, 3);
  EXPECT_EQ(Counter<16>(Counter<64>(70000)).value, 0xffff);
}

// A Set writes the counters that CounterSelect names, as perfquery -R does with zeros (libibmad gs.c), and as
// rdma/ib_pma.h numbers them.
TEST(CounterSelect, NamesTheCountersThatASetWrites) {
  PortCounters counters;
  counters.symbol_error_counter = 1;
  counters.vl15_dropped = 2;
  counters.port_xmit_data = 3;
  counters.port_xmit_wait = 4;
  counters.local_link_integrity_errors = 5;
  counters.excessive_buffer_overrun_errors = 6;
  PortCounters request{.port_select = 7, .counter_select = 0x0800 | 0x1000 | 0x0400};
  request.port_xmit_data = 9;
  set_selected(request.selected(), request, counters);
  EXPECT_EQ(counters.symbol_error_counter, 1U);
  EXPECT_EQ(counters.vl15_dropped, 0U);
  EXPECT_EQ(counters.port_xmit_data, 9U);
  EXPECT_EQ(counters.port_xmit_wait, 4U);
  EXPECT_EQ(counters.local_link_integrity_errors, 5U);
  EXPECT_EQ(counters.excessive_buffer_overrun_errors, 0U);
  EXPECT_EQ(counters.port_select, 0);
  request = {.counter_select2 = 1};
  set_selected(request.selected(), request, counters);
  EXPECT_EQ(counters.port_xmit_wait, 0U);
  EXPECT_EQ(counters.symbol_error_counter, 1U);
}

// IB_PMA_SEL_… of rdma/ib_pma.h; PortXmitWait is bit 16 in perfquery -R.
TEST(CounterSelect, HasItsBits) {
  const std::pair<std::string_view, int> bits[] = {
      {"symbol_error_counter", 0},
      {"link_error_recovery_counter", 1},
      {"link_downed_counter", 2},
      {"port_rcv_errors", 3},
      {"port_rcv_remote_physical_errors", 4},
      {"port_xmit_discards", 6},
      {"local_link_integrity_errors", 9},
      {"excessive_buffer_overrun_errors", 10},
      {"vl15_dropped", 11},
      {"port_xmit_data", 12},
      {"port_rcv_data", 13},
      {"port_xmit_pkts", 14},
      {"port_rcv_pkts", 15},
      {"port_xmit_wait", 16},
      {"counter_select", -1},
  };
  for (const auto& [name, number] : bits) {
    const auto found = std::ranges::find(fields_of<PortCounters>, name, &Field<PortCounters>::name);
    ASSERT_NE(found, fields_of<PortCounters>.end()) << name;
    EXPECT_EQ(found->select, number) << name;
  }
}

TEST(CounterSelect, OfAnArrayHasABitForEach) {
  PortVlXmitFlowCtlUpdateErrors counters;
  counters.counters.fill(3);
  set_selected(0x8001, {}, counters);
  EXPECT_EQ(counters.counters[0], 0U);
  EXPECT_EQ(counters.counters[1], 3U);
  EXPECT_EQ(counters.counters[14], 3U);
  EXPECT_EQ(counters.counters[15], 0U);
  set_selected(~0ULL, {}, counters);
  EXPECT_EQ(counters.counters[7], 0U);
}

}  // namespace
}  // namespace softrnic::mad
