// The optional counters of performance management: of each lane or service level, of what was discarded or
// wrong, of flow control and congestion (IBTA 16.1.4, A10.4, A13.6). Each has its PortSelect and
// CounterSelect.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "mad/counter.h"
#include "mad/field.h"

namespace softrnic::mad {

/// `count` counters of `width` bits, one for each lane or service level; bit n of CounterSelect is counter n.
template <std::uint16_t attribute, unsigned width, std::size_t count>
struct CounterArray {
  static constexpr std::uint16_t kAttribute = attribute;

  std::uint8_t reserved0 = 0;
  std::uint8_t port_select = 0;
  std::uint16_t counter_select = 0;
  std::array<Counter<width>, count> counters{};

  std::uint64_t selected() const { return counter_select; }
};
template <std::uint16_t attribute, unsigned width, std::size_t count>
inline constexpr std::array fields_of<CounterArray<attribute, width, count>> = {
    field<&CounterArray<attribute, width, count>::reserved0>("reserved0", 0, 0, 8),
    field<&CounterArray<attribute, width, count>::port_select>("port_select", 1, 0, 8),
    field<&CounterArray<attribute, width, count>::counter_select>("counter_select", 2, 0, 16),
    field<&CounterArray<attribute, width, count>::counters>("counters", 4, 0, width* count).selected_by(0),
};

using PortOpRcvCounters = CounterArray<0x0017, 32, 2>;              ///< packets, data
using PortFlowCtlCounters = CounterArray<0x0018, 32, 2>;            ///< sent, received
using PortVlOpPackets = CounterArray<0x0019, 16, 16>;               ///< of VL n
using PortVlOpData = CounterArray<0x001a, 32, 16>;                  ///< of VL n
using PortVlXmitFlowCtlUpdateErrors = CounterArray<0x001b, 2, 16>;  ///< of VL n
using PortVlXmitWaitCounters = CounterArray<0x001c, 16, 16>;        ///< of VL n
using SwPortVlCongestion = CounterArray<0x0030, 16, 16>;            ///< of VL n
using PortRcvConCtrl = CounterArray<0x0031, 32, 2>;                 ///< FECN, BECN
using PortSlRcvFecn = CounterArray<0x0032, 32, 16>;                 ///< of SL n
using PortSlRcvBecn = CounterArray<0x0033, 32, 16>;                 ///< of SL n
using PortXmitConCtrl = CounterArray<0x0034, 32, 1>;                ///< time in congestion
using PortVlXmitTimeCong = CounterArray<0x0035, 32, 15>;            ///< of VL n
using PortXmitDataSl = CounterArray<0x0036, 32, 16>;                ///< of SL n
using PortRcvDataSl = CounterArray<0x0037, 32, 16>;                 ///< of SL n

static_assert(covers<PortVlOpPackets>(36) && covers<PortVlOpData>(68) && covers<PortXmitDataSl>(68));
static_assert(covers<PortVlXmitFlowCtlUpdateErrors>(8) && covers<PortVlXmitTimeCong>(64));
static_assert(covers<PortOpRcvCounters>(12) && covers<PortXmitConCtrl>(8));

/// What PortRcvErrors is made of.
struct PortRcvErrorDetails {
  static constexpr std::uint16_t kAttribute = 0x0015;

  std::uint8_t reserved0 = 0;
  std::uint8_t port_select = 0;
  std::uint16_t counter_select = 0;
  Counter<16> port_local_physical_errors{};
  Counter<16> port_malformed_pkt_errors{};
  Counter<16> port_buffer_overrun_errors{};
  Counter<16> port_dlid_mapping_errors{};
  Counter<16> port_vl_mapping_errors{};
  Counter<16> port_looping_errors{};

  std::uint64_t selected() const { return counter_select; }
};
template <>
inline constexpr std::array fields_of<PortRcvErrorDetails> = {
    field<&PortRcvErrorDetails::reserved0>("reserved0", 0, 0, 8),
    field<&PortRcvErrorDetails::port_select>("port_select", 1, 0, 8),
    field<&PortRcvErrorDetails::counter_select>("counter_select", 2, 0, 16),
    field<&PortRcvErrorDetails::port_local_physical_errors>("port_local_physical_errors", 4, 0, 16)
        .selected_by(0),
    field<&PortRcvErrorDetails::port_malformed_pkt_errors>("port_malformed_pkt_errors", 6, 0, 16)
        .selected_by(1),
    field<&PortRcvErrorDetails::port_buffer_overrun_errors>("port_buffer_overrun_errors", 8, 0, 16)
        .selected_by(2),
    field<&PortRcvErrorDetails::port_dlid_mapping_errors>("port_dlid_mapping_errors", 10, 0, 16)
        .selected_by(3),
    field<&PortRcvErrorDetails::port_vl_mapping_errors>("port_vl_mapping_errors", 12, 0, 16).selected_by(4),
    field<&PortRcvErrorDetails::port_looping_errors>("port_looping_errors", 14, 0, 16).selected_by(5),
};
static_assert(covers<PortRcvErrorDetails>(16));

/// What PortXmitDiscards is made of.
struct PortXmitDiscardDetails {
  static constexpr std::uint16_t kAttribute = 0x0016;

  std::uint8_t reserved0 = 0;
  std::uint8_t port_select = 0;
  std::uint16_t counter_select = 0;
  Counter<16> port_inactive_discards{};
  Counter<16> port_neighbor_mtu_discards{};
  Counter<16> port_sw_lifetime_limit_discards{};
  Counter<16> port_sw_hoq_lifetime_limit_discards{};

  std::uint64_t selected() const { return counter_select; }
};
template <>
inline constexpr std::array fields_of<PortXmitDiscardDetails> = {
    field<&PortXmitDiscardDetails::reserved0>("reserved0", 0, 0, 8),
    field<&PortXmitDiscardDetails::port_select>("port_select", 1, 0, 8),
    field<&PortXmitDiscardDetails::counter_select>("counter_select", 2, 0, 16),
    field<&PortXmitDiscardDetails::port_inactive_discards>("port_inactive_discards", 4, 0, 16).selected_by(0),
    field<&PortXmitDiscardDetails::port_neighbor_mtu_discards>("port_neighbor_mtu_discards", 6, 0, 16)
        .selected_by(1),
    field<&PortXmitDiscardDetails::port_sw_lifetime_limit_discards>("port_sw_lifetime_limit_discards", 8, 0,
                                                                    16)
        .selected_by(2),
    field<&PortXmitDiscardDetails::port_sw_hoq_lifetime_limit_discards>("port_sw_hoq_lifetime_limit_discards",
                                                                        10, 0, 16)
        .selected_by(3),
};
static_assert(covers<PortXmitDiscardDetails>(12));

/// Line coding errors of each lane at FDR and above. With RS-FEC the lanes of `fec_correctable` count
/// symbols, those of `fec_uncorrectable` nothing, and the last three count.
struct PortExtendedSpeedsCounters {
  static constexpr std::uint16_t kAttribute = 0x001f;
  static constexpr std::size_t kLanes = 12;

  std::uint8_t reserved0 = 0;
  std::uint8_t port_select = 0;
  std::array<std::byte, 6> reserved2{};
  std::uint64_t counter_select = 0;
  Counter<16> sync_header_error_counter{};
  Counter<16> unknown_block_counter{};
  std::array<Counter<16>, kLanes> error_detection_counter{};
  std::array<Counter<32>, kLanes> fec_correctable_block_counter{};
  std::array<Counter<32>, kLanes> fec_uncorrectable_block_counter{};
  Counter<32> port_fec_correctable_block_counter{};
  Counter<32> port_fec_uncorrectable_block_counter{};
  Counter<32> port_fec_corrected_symbol_counter{};

  std::uint64_t selected() const { return counter_select; }
};
template <>
inline constexpr std::array fields_of<PortExtendedSpeedsCounters> = {
    field<&PortExtendedSpeedsCounters::reserved0>("reserved0", 0, 0, 8),
    field<&PortExtendedSpeedsCounters::port_select>("port_select", 1, 0, 8),
    field<&PortExtendedSpeedsCounters::reserved2>("reserved2", 2, 0, 48),
    field<&PortExtendedSpeedsCounters::counter_select>("counter_select", 8, 0, 64),
    field<&PortExtendedSpeedsCounters::sync_header_error_counter>("sync_header_error_counter", 16, 0, 16)
        .selected_by(0),
    field<&PortExtendedSpeedsCounters::unknown_block_counter>("unknown_block_counter", 18, 0, 16)
        .selected_by(1),
    field<&PortExtendedSpeedsCounters::error_detection_counter>("error_detection_counter", 20, 0, 192)
        .selected_by(2),
    field<&PortExtendedSpeedsCounters::fec_correctable_block_counter>("fec_correctable_block_counter", 44, 0,
                                                                      384)
        .selected_by(14),
    field<&PortExtendedSpeedsCounters::fec_uncorrectable_block_counter>("fec_uncorrectable_block_counter", 92,
                                                                        0, 384)
        .selected_by(26),
    field<&PortExtendedSpeedsCounters::port_fec_correctable_block_counter>(
        "port_fec_correctable_block_counter", 140, 0, 32)
        .selected_by(38),
    field<&PortExtendedSpeedsCounters::port_fec_uncorrectable_block_counter>(
        "port_fec_uncorrectable_block_counter", 144, 0, 32)
        .selected_by(39),
    field<&PortExtendedSpeedsCounters::port_fec_corrected_symbol_counter>("port_fec_corrected_symbol_counter",
                                                                          148, 0, 32)
        .selected_by(40),
};
static_assert(covers<PortExtendedSpeedsCounters>(152));

}  // namespace softrnic::mad
