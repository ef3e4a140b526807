#include "fabric/performance_counters.h"

#include <algorithm>

#include "mad/link.h"
#include "mad/optional_counters.h"
#include "mad/port_counters.h"

namespace softrnic::fabric {
namespace {

using Input = CounterInput;

template <auto member>
std::uint64_t counted(const Input& input, std::size_t) {
  if constexpr (std::is_member_function_pointer_v<decltype(member)>) {
    return (input.engine.*member)();
  } else {
    return input.engine.*member;
  }
}
template <auto member>
std::uint64_t counted_each(const Input& input, std::size_t n) {
  return (input.engine.*member)[n];
}
template <auto member>
std::uint64_t noticed(const Input& input, std::size_t) {
  return input.port.*member;
}
std::uint64_t ticks_of(Duration time) { return static_cast<std::uint64_t>(time / kPerformanceTick); }
std::uint64_t xmit_wait(const Input& input, std::size_t) { return ticks_of(input.engine.xmit_wait); }
std::uint64_t vl_xmit_wait(const Input& input, std::size_t vl) {
  return ticks_of(input.engine.xmit_wait_by_vl[vl]);
}

using C = PortCounters;
using P = ManagedPort;

// LinkErrorRecoveryCounter stays 0: a link of the fabric goes down or does not.
constexpr CounterSource kPortCounters[] = {
    {0, 1, counted<&C::symbol_errors>},
    {2, 1, counted<&C::link_downed>},
    {3, 1, counted<&C::rcv_errors>},
    {4, 1, counted<&C::rcv_remote_physical_errors>},
    {5, 1, counted<&C::rcv_switch_relay_errors>},
    {6, 1, counted<&C::xmit_discards>},
    {7, 1, counted<&C::xmit_constraint_errors>},
    {8, 1, counted<&C::rcv_constraint_errors>},
    {9, 1, noticed<&P::local_link_integrity_errors>},
    {10, 1, noticed<&P::excessive_buffer_overrun_errors>},
    {11, 1, counted<&C::vl15_dropped>},
    {12, 1, counted<&C::xmit_data>},
    {13, 1, counted<&C::rcv_data>},
    {14, 1, counted<&C::xmit_packets>},
    {15, 1, counted<&C::rcv_packets>},
    {16, 1, xmit_wait},
    {17, 1, noticed<&P::qp1_dropped>},
};

constexpr CounterSource kPortCountersExtended[] = {
    {0, 1, counted<&C::xmit_data>},
    {1, 1, counted<&C::rcv_data>},
    {2, 1, counted<&C::xmit_packets>},
    {3, 1, counted<&C::rcv_packets>},
    {4, 1, counted<&C::unicast_xmit_packets>},
    {5, 1, counted<&C::unicast_rcv_packets>},
    {6, 1, counted<&C::multicast_xmit_packets>},
    {7, 1, counted<&C::multicast_rcv_packets>},
    {16, 1, counted<&C::symbol_errors>},
    {18, 1, counted<&C::link_downed>},
    {19, 1, counted<&C::rcv_errors>},
    {20, 1, counted<&C::rcv_remote_physical_errors>},
    {21, 1, counted<&C::rcv_switch_relay_errors>},
    {22, 1, counted<&C::xmit_discards>},
    {23, 1, counted<&C::xmit_constraint_errors>},
    {24, 1, counted<&C::rcv_constraint_errors>},
    {25, 1, noticed<&P::local_link_integrity_errors>},
    {26, 1, noticed<&P::excessive_buffer_overrun_errors>},
    {27, 1, counted<&C::vl15_dropped>},
    {28, 1, xmit_wait},
    {29, 1, noticed<&P::qp1_dropped>},
};

constexpr CounterSource kRcvErrorDetails[] = {
    {0, 1, counted<&C::local_physical_errors>}, {1, 1, counted<&C::malformed_packet_errors>},
    {2, 1, counted<&C::buffer_overrun_errors>}, {3, 1, counted<&C::dlid_mapping_errors>},
    {4, 1, counted<&C::vl_mapping_errors>},     {5, 1, counted<&C::looping_errors>},
};

constexpr CounterSource kXmitDiscardDetails[] = {
    {0, 1, counted<&C::inactive_discards>},
    {1, 1, counted<&C::neighbor_mtu_discards>},
    {2, 1, counted<&C::switch_lifetime_discards>},
    {3, 1, counted<&C::hoq_lifetime_discards>},
};

constexpr CounterSource kFlowControl[] = {
    {0, 1, counted<&C::xmit_flow_control>},
    {1, 1, counted<&C::rcv_flow_control>},
};

constexpr CounterSource kVlXmitWait[] = {{0, 16, vl_xmit_wait}};
constexpr CounterSource kXmitDataSl[] = {{0, 16, counted_each<&C::xmit_data_by_sl>}};
constexpr CounterSource kRcvDataSl[] = {{0, 16, counted_each<&C::rcv_data_by_sl>}};

template <mad::Formatted M>
std::uint64_t selected_in(Bytes data) {
  return mad::decode<M>(data).selected();
}

template <mad::Formatted M>
void write_counters(const CounterValues& values, MutableBytes data) {
  for (const auto& entry : mad::fields_of<M>) {
    if (entry.select < 0) continue;
    const std::size_t width = entry.width / entry.elements;
    const std::uint64_t full = ~std::uint64_t{0} >> (64 - width);
    for (std::size_t n = 0; n < entry.elements; ++n) {
      const std::uint64_t value = values[static_cast<std::size_t>(entry.select) + n];
      mad::store_bits(data, entry.bit + n * width, width, std::min(value, full));
    }
  }
}

template <mad::Formatted M>
constexpr CounterAttribute attribute(std::span<const CounterSource> sources) {
  return {M::kAttribute, sources, selected_in<M>, write_counters<M>};
}

// Those without a source are of congestion control, which the fabric's switches do not do, and of line codes,
// which its cables do not have: they are right as they stand.
constexpr std::array<CounterAttribute, kCounterAttributes> kCounterAttributeTable = {
    attribute<mad::PortCounters>(kPortCounters),
    attribute<mad::PortCountersExtended>(kPortCountersExtended),
    attribute<mad::PortRcvErrorDetails>(kRcvErrorDetails),
    attribute<mad::PortXmitDiscardDetails>(kXmitDiscardDetails),
    attribute<mad::PortXmitDataSl>(kXmitDataSl),
    attribute<mad::PortRcvDataSl>(kRcvDataSl),
    attribute<mad::PortFlowCtlCounters>(kFlowControl),
    attribute<mad::PortVlXmitWaitCounters>(kVlXmitWait),
    attribute<mad::PortVlXmitFlowCtlUpdateErrors>({}),
    attribute<mad::PortExtendedSpeedsCounters>({}),
    attribute<mad::SwPortVlCongestion>({}),
    attribute<mad::PortRcvConCtrl>({}),
    attribute<mad::PortSlRcvFecn>({}),
    attribute<mad::PortSlRcvBecn>({}),
    attribute<mad::PortXmitConCtrl>({}),
    attribute<mad::PortVlXmitTimeCong>({}),
};

}  // namespace

CounterValues CounterAttribute::read(const CounterInput& input) const {
  CounterValues values{};
  for (const CounterSource& source : sources) {
    for (std::size_t n = 0; n < source.count; ++n) values[source.select + n] = source.read(input, n);
  }
  return values;
}

std::span<const CounterAttribute, kCounterAttributes> counter_attributes() { return kCounterAttributeTable; }

std::uint64_t xmit_wait_of(const PortCounters& counters) { return ticks_of(counters.xmit_wait); }

// A lane of 2.5 Gb/s takes 4 ns for ten bits.
std::uint8_t tick_code(const mad::PortInfo& info) {
  constexpr unsigned kSdr = 25;
  const mad::SpeedInfo* const speed = mad::find_speed(info.link_speed_active, info.link_speed_ext_active);
  const unsigned times = speed == nullptr ? 1 : (speed->lane_rate + kSdr / 2) / kSdr;
  return static_cast<std::uint8_t>(times - 1);
}

}  // namespace softrnic::fabric
