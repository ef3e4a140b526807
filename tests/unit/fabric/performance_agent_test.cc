#include "fabric/performance_agent.h"

#include <gtest/gtest.h>

#include "mad/class_port_info.h"
#include "mad/optional_counters.h"
#include "mad/port_counters.h"
#include "mad/port_samples.h"
#include "tests/unit/fabric/agents_fixture.h"

namespace softrnic::fabric {
namespace {

using mad::Method;
using mad::Status;
using std::chrono::nanoseconds;

/// Asked without packets: counters are put into the engine by hand.
class Pma : public ::testing::Test, public AgentsFabric {
 protected:
  template <typename M>
  M ask(NodeId node, Method method, M value, std::uint32_t modifier = 0) {
    mad::Mad mad{};
    mad::encode_header({.management_class = mad::ManagementClass::performance,
                        .class_version = class_version,
                        .method = method,
                        .transaction = 9,
                        .attribute = M::kAttribute,
                        .modifier = modifier},
                       mad);
    mad::encode(value, std::span(mad).subspan(mad::kPerformanceDataOffset));
    answered = pma.answer(*agents.node(node), 1, mad, engine.now());
    const auto header = mad::parse_header(mad);
    status = mad::common_status(header->status);
    EXPECT_EQ(header->transaction, 9U);
    EXPECT_TRUE(!answered || header->method == Method::get_response);
    return mad::decode<M>(Bytes(mad).subspan(mad::kPerformanceDataOffset));
  }
  template <typename M>
  M get(NodeId node, std::uint8_t port) {
    M value{};
    value.port_select = port;
    return ask(node, Method::get, value);
  }
  PortCounters& counters(NodeId node, std::uint8_t port) { return *engine.counters(id_of(node, port)); }

  NodeId leaf = add_switch(3);
  NodeId single = add_adapter();
  NodeId twin = add_adapter(2);
  PerformanceAgent pma{engine};
  std::uint8_t class_version = 1;
  bool answered = false;
  Status status = Status::busy;
};

TEST_F(Pma, ClassPortInfoSaysWhatThereIs) {
  namespace capability = mad::performance_capability;
  const auto of_switch = ask(leaf, Method::get, mad::ClassPortInfo{});
  EXPECT_EQ(status, Status::ok);
  EXPECT_EQ(of_switch.class_version, 1);
  EXPECT_NE(of_switch.capability_mask & capability::kAllPortSelect, 0);
  EXPECT_NE(of_switch.capability_mask & capability::kExtendedWidth, 0);
  EXPECT_NE(of_switch.capability_mask & capability::kXmitWait, 0);
  EXPECT_EQ(of_switch.capability_mask2, capability::kExtendedErrors2);
  EXPECT_EQ(ask(single, Method::get, mad::ClassPortInfo{}).capability_mask & capability::kAllPortSelect, 0);
  EXPECT_NE(ask(twin, Method::get, mad::ClassPortInfo{}).capability_mask & capability::kAllPortSelect, 0);
}

TEST_F(Pma, RefusesWithTheStatusOfTheSpecification) {
  get<mad::PortCounters>(leaf, 4);
  EXPECT_EQ(status, Status::bad_attribute_value);
  get<mad::PortCounters>(single, 0);
  EXPECT_EQ(status, Status::bad_attribute_value);
  get<mad::PortCounters>(single, 255);
  EXPECT_EQ(status, Status::bad_attribute_value) << "it has no AllPortSelect";
  ask(leaf, Method::get, mad::PortCounters{}, 1);
  EXPECT_EQ(status, Status::bad_attribute_value);
  ask(leaf, Method::get, mad::PortVlOpData{});
  EXPECT_EQ(status, Status::bad_method_attribute);
  ask(leaf, Method::set, mad::PortSamplesResult{});
  EXPECT_EQ(status, Status::bad_method_attribute);
  ask(leaf, Method::report, mad::PortCounters{});
  EXPECT_EQ(status, Status::bad_method);
  class_version = 2;
  ask(leaf, Method::get, mad::PortCounters{});
  EXPECT_EQ(status, Status::bad_version);
  ask(leaf, Method::get_response, mad::PortCounters{});
  EXPECT_FALSE(answered);
}

TEST_F(Pma, CountersAreFullWhereTheyWouldBeMore) {
  PortCounters& port = counters(leaf, 2);
  port.symbol_errors = 0x12345;
  port.link_downed = 256;
  port.local_physical_errors = 2;
  port.buffer_overrun_errors = 3;
  port.dlid_mapping_errors = 0xffff;
  port.xmit_constraint_errors = 255;
  port.vl15_dropped = 7;
  port.xmit_data = 0x1'0000'0000;
  port.unicast_rcv_packets = 40;
  port.multicast_rcv_packets = 2;
  port.xmit_wait = nanoseconds(4'000'003);
  const auto read = get<mad::PortCounters>(leaf, 2);
  EXPECT_EQ(read.port_select, 2);
  EXPECT_TRUE(read.symbol_error_counter.is_full());
  EXPECT_TRUE(read.link_downed_counter.is_full());
  EXPECT_EQ(read.port_rcv_errors, 5);
  EXPECT_TRUE(read.port_rcv_switch_relay_errors.is_full());
  EXPECT_TRUE(read.port_xmit_constraint_errors.is_full());
  EXPECT_EQ(read.vl15_dropped, 7);
  EXPECT_TRUE(read.port_xmit_data.is_full());
  EXPECT_EQ(read.port_rcv_pkts, 42);
  EXPECT_EQ(read.port_xmit_wait, 1'000'000);
  const auto wide = get<mad::PortCountersExtended>(leaf, 2);
  EXPECT_EQ(wide.port_xmit_data, 0x1'0000'0000);
  EXPECT_EQ(wide.symbol_error_counter, 0x12345);
  EXPECT_EQ(wide.port_multicast_rcv_pkts, 2);
  EXPECT_EQ(wide.port_xmit_wait, 1'000'000);
}

TEST_F(Pma, AResetIsOfWhatIsSelectedInThatAttribute) {
  PortCounters& port = counters(leaf, 1);
  port.symbol_errors = 10;
  port.xmit_data = 20;
  port.xmit_wait = nanoseconds(40);
  mad::PortCounters wanted;
  wanted.port_select = 1;
  wanted.counter_select = 1U << 0;
  wanted.counter_select2 = 1;  // PortXmitWait
  auto read = ask(leaf, Method::set, wanted);
  EXPECT_EQ(status, Status::ok);
  EXPECT_EQ(read.symbol_error_counter, 0);
  EXPECT_EQ(read.port_xmit_wait, 0);
  EXPECT_EQ(read.port_xmit_data, 20);
  port.symbol_errors += 3;
  EXPECT_EQ(get<mad::PortCounters>(leaf, 1).symbol_error_counter, 3);
  EXPECT_EQ(get<mad::PortCountersExtended>(leaf, 1).symbol_error_counter, 13);
  EXPECT_EQ(port.symbol_errors, 13U) << "the engine's own go on";
  mad::PortCountersExtended wide;
  wide.port_select = 1;
  wide.counter_select2 = 1U << 0;
  EXPECT_EQ(ask(leaf, Method::set, wide).symbol_error_counter, 0);
  EXPECT_EQ(get<mad::PortCounters>(leaf, 1).symbol_error_counter, 3);
  wide.counter_select2 = 0;
  wide.counter_select = 1U << 0;
  EXPECT_EQ(ask(leaf, Method::set, wide).port_xmit_data, 0);
  EXPECT_EQ(get<mad::PortCounters>(leaf, 1).port_xmit_data, 20);
}

// A counter that is full counts on after its reset, as far as it is wide.
TEST_F(Pma, AFullCounterBeginsAgain) {
  counters(leaf, 1).link_downed = 1000;
  mad::PortCounters wanted;
  wanted.port_select = 1;
  wanted.counter_select = 0xffff;
  EXPECT_EQ(ask(leaf, Method::set, wanted).link_downed_counter, 0);
  counters(leaf, 1).link_downed += 5;
  EXPECT_EQ(get<mad::PortCounters>(leaf, 1).link_downed_counter, 5);
}

TEST_F(Pma, AllPortsAreSums) {
  counters(leaf, 1).symbol_errors = 0xfff0;
  counters(leaf, 2).symbol_errors = 0xf;
  counters(leaf, 3).link_downed = 200;
  counters(leaf, 1).link_downed = 100;
  auto read = get<mad::PortCounters>(leaf, mad::kAllPorts);
  EXPECT_EQ(read.port_select, mad::kAllPorts);
  EXPECT_EQ(read.symbol_error_counter, 0xffff);
  EXPECT_TRUE(read.link_downed_counter.is_full());
  mad::PortCounters wanted;
  wanted.port_select = mad::kAllPorts;
  wanted.counter_select = 1U << 0;
  ask(leaf, Method::set, wanted);
  EXPECT_EQ(get<mad::PortCounters>(leaf, 1).symbol_error_counter, 0);
  EXPECT_EQ(get<mad::PortCounters>(leaf, 2).symbol_error_counter, 0);
  EXPECT_EQ(get<mad::PortCounters>(leaf, 3).link_downed_counter, 200);
  counters(twin, 1).symbol_errors = 4;
  counters(twin, 2).symbol_errors = 5;
  EXPECT_EQ(get<mad::PortCounters>(twin, mad::kAllPorts).symbol_error_counter, 9);
  counters(twin, 1).xmit_data = counters(twin, 2).xmit_data = ~std::uint64_t{0} - 1;
  EXPECT_TRUE(get<mad::PortCountersExtended>(twin, mad::kAllPorts).port_xmit_data.is_full());
}

TEST_F(Pma, DetailsAndServiceLevels) {
  PortCounters& port = counters(leaf, 1);
  port.malformed_packet_errors = 2;
  port.looping_errors = 70'000;
  port.hoq_lifetime_discards = 4;
  port.xmit_data_by_sl[5] = 55;
  port.rcv_data_by_sl[15] = 66;
  EXPECT_EQ(get<mad::PortRcvErrorDetails>(leaf, 1).port_malformed_pkt_errors, 2);
  EXPECT_TRUE(get<mad::PortRcvErrorDetails>(leaf, 1).port_looping_errors.is_full());
  EXPECT_EQ(get<mad::PortXmitDiscardDetails>(leaf, 1).port_sw_hoq_lifetime_limit_discards, 4);
  EXPECT_EQ(get<mad::PortXmitDataSl>(leaf, 1).counters[5], 55);
  EXPECT_EQ(get<mad::PortRcvDataSl>(leaf, 1).counters[15], 66);
  port.xmit_wait_by_vl[15] = nanoseconds(44);
  port.rcv_flow_control = 9;
  EXPECT_EQ(get<mad::PortVlXmitWaitCounters>(leaf, 1).counters[15], 11);
  EXPECT_EQ(get<mad::PortFlowCtlCounters>(leaf, 1).counters[1], 9);
  EXPECT_EQ(get<mad::PortXmitConCtrl>(leaf, 1).counters[0], 0);
  EXPECT_EQ(status, Status::ok);
  // perfquery writes a second mask at byte 18 of every attribute, which here lies in a counter.
  mad::PortXmitDataSl wanted;
  wanted.port_select = 1;
  wanted.counter_select = 1U << 5;
  wanted.counters[3] = 0xff00;
  const auto read = ask(leaf, Method::set, wanted);
  EXPECT_EQ(read.counters[5], 0);
  EXPECT_EQ(read.counters[3], 0);
}

TEST_F(Pma, SamplesAnInterval) {
  mad::PortSamplesControl control;
  control.port_select = 2;
  control.tag = 0x77;
  control.sample_start = 250;     // ticks of 4 ns: 1 µs
  control.sample_interval = 500;  // 2 µs
  control.counter_select = {mad::SampleCounter::port_xmit_data, mad::SampleCounter::port_rcv_pkts,
                            mad::SampleCounter::port_xmit_wait, mad::SampleCounter{0x999}};
  counters(leaf, 2).xmit_data = 1000;
  auto shown = ask(leaf, Method::set, control);
  EXPECT_EQ(shown.sample_status, mad::SampleStatus::timer_running);
  EXPECT_EQ(shown.counter_width, 4);
  EXPECT_EQ(shown.counter_mask0_9[4], 1);
  EXPECT_EQ(shown.counter_mask0_9[5], 0);
  const ManagedPort& endport = port(leaf, 0);
  EXPECT_EQ(pma.next_deadline(endport), engine.now() + nanoseconds(1000));
  control.tag = 1;
  EXPECT_EQ(ask(leaf, Method::set, control).tag, 0x77) << "one is under way";

  const auto advance = [&](Duration time) {
    run(time);
    pma.advance(*agents.node(leaf), endport, engine.now());
  };
  counters(leaf, 2).xmit_data += 5;
  advance(nanoseconds(1000));
  EXPECT_EQ(ask(leaf, Method::get, mad::PortSamplesResult{}).sample_status, mad::SampleStatus::sampling);
  counters(leaf, 2).xmit_data += 30;
  counters(leaf, 2).unicast_rcv_packets += 4;
  counters(leaf, 2).xmit_wait += nanoseconds(400);
  advance(nanoseconds(2000));
  counters(leaf, 2).xmit_data += 100;
  const auto result = ask(leaf, Method::get, mad::PortSamplesResult{});
  EXPECT_EQ(result.tag, 0x77);
  EXPECT_EQ(result.sample_status, mad::SampleStatus::done);
  EXPECT_EQ(result.counter[0], 30);
  EXPECT_EQ(result.counter[1], 4);
  EXPECT_EQ(result.counter[2], 100);
  EXPECT_EQ(result.counter[3], 0);
  EXPECT_EQ(ask(leaf, Method::get, mad::PortSamplesResultExtended{}).counter[0], 30);
  EXPECT_EQ(pma.next_deadline(endport), kNever);
}

TEST_F(Pma, TheLongestSampleDoesNotOverflow) {
  mad::PortSamplesControl control;
  control.port_select = 1;
  control.sample_start = control.sample_interval = 0xffffffff;
  ask(leaf, Method::set, control);
  EXPECT_EQ(pma.next_deadline(port(leaf, 0)), engine.now() + 4 * nanoseconds(0xffffffff));
}

TEST(Ticks, AreOfTenBitsOfALane) {
  mad::PortInfo info;
  info.link_speed_active = mad::LinkSpeed::sdr;
  EXPECT_EQ(tick_code(info), 0);
  info.link_speed_active = mad::LinkSpeed::ddr;
  EXPECT_EQ(tick_code(info), 1);
  info.link_speed_active = mad::LinkSpeed::qdr;
  EXPECT_EQ(tick_code(info), 3);
  info.link_speed_ext_active = mad::LinkSpeedExt::edr;
  EXPECT_EQ(tick_code(info), 9);
}

}  // namespace
}  // namespace softrnic::fabric
