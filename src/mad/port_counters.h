// PortCounters and PortCountersExtended: what each port counts (IBTA 16.1.3.5, 16.1.4.11). Their data begin
// at byte 64 of the datagram, as all attributes of performance management.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "mad/counter.h"
#include "mad/field.h"

namespace softrnic::mad {

inline constexpr std::size_t kPerformanceDataOffset = 64;
inline constexpr std::size_t kPerformanceDataBytes = 192;
inline constexpr std::uint8_t kAllPorts = 0xff;  ///< PortSelect of all ports together

/// ClassPortInfo of performance management (IBTA 16.1.2): bits of CapabilityMask, and of CapabilityMask2.
namespace performance_capability {
inline constexpr std::uint16_t kAllPortSelect = 1 << 8;
inline constexpr std::uint16_t kExtendedWidth = 1 << 9;
inline constexpr std::uint16_t kExtendedWidthNoIetf = 1 << 10;  ///< without counts of unicast and multicast
inline constexpr std::uint16_t kSamplesOnly = 1 << 11;
inline constexpr std::uint16_t kXmitWait = 1 << 12;
inline constexpr std::uint16_t kInhibitLimitedPKeyConstraintErrors = 1 << 13;
inline constexpr std::uint16_t kRsFecCounters = 1 << 14;
inline constexpr std::uint16_t kQp1Dropped = 1 << 15;
inline constexpr std::uint32_t kPmKey2 = 1 << 0;
inline constexpr std::uint32_t kExtendedErrors2 = 1 << 1;  ///< errors in PortCountersExtended too
}  // namespace performance_capability

/// Data is counted in words of four bytes, from LRH to VCRC without both; waiting in ticks (IBTA 16.1.3.4).
struct PortCounters {
  static constexpr std::uint16_t kAttribute = 0x0012;

  std::uint8_t reserved0 = 0;
  std::uint8_t port_select = 0;
  std::uint16_t counter_select = 0;
  Counter<16> symbol_error_counter{};
  Counter<8> link_error_recovery_counter{};
  Counter<8> link_downed_counter{};
  Counter<16> port_rcv_errors{};
  Counter<16> port_rcv_remote_physical_errors{};
  Counter<16> port_rcv_switch_relay_errors{};
  Counter<16> port_xmit_discards{};
  Counter<8> port_xmit_constraint_errors{};
  Counter<8> port_rcv_constraint_errors{};
  std::uint8_t counter_select2 = 0;  ///< bits 16 on of the selection
  Counter<4> local_link_integrity_errors{};
  Counter<4> excessive_buffer_overrun_errors{};
  Counter<16> qp1_dropped{};
  Counter<16> vl15_dropped{};
  Counter<32> port_xmit_data{};
  Counter<32> port_rcv_data{};
  Counter<32> port_xmit_pkts{};
  Counter<32> port_rcv_pkts{};
  Counter<32> port_xmit_wait{};

  std::uint64_t selected() const { return counter_select | std::uint64_t{counter_select2} << 16; }
};
template <>
inline constexpr std::array fields_of<PortCounters> = {
    field<&PortCounters::reserved0>("reserved0", 0, 0, 8),
    field<&PortCounters::port_select>("port_select", 1, 0, 8),
    field<&PortCounters::counter_select>("counter_select", 2, 0, 16),
    field<&PortCounters::symbol_error_counter>("symbol_error_counter", 4, 0, 16).selected_by(0),
    field<&PortCounters::link_error_recovery_counter>("link_error_recovery_counter", 6, 0, 8).selected_by(1),
    field<&PortCounters::link_downed_counter>("link_downed_counter", 7, 0, 8).selected_by(2),
    field<&PortCounters::port_rcv_errors>("port_rcv_errors", 8, 0, 16).selected_by(3),
    field<&PortCounters::port_rcv_remote_physical_errors>("port_rcv_remote_physical_errors", 10, 0, 16)
        .selected_by(4),
    field<&PortCounters::port_rcv_switch_relay_errors>("port_rcv_switch_relay_errors", 12, 0, 16)
        .selected_by(5),
    field<&PortCounters::port_xmit_discards>("port_xmit_discards", 14, 0, 16).selected_by(6),
    field<&PortCounters::port_xmit_constraint_errors>("port_xmit_constraint_errors", 16, 0, 8).selected_by(7),
    field<&PortCounters::port_rcv_constraint_errors>("port_rcv_constraint_errors", 17, 0, 8).selected_by(8),
    field<&PortCounters::counter_select2>("counter_select2", 18, 0, 8),
    field<&PortCounters::local_link_integrity_errors>("local_link_integrity_errors", 19, 0, 4).selected_by(9),
    field<&PortCounters::excessive_buffer_overrun_errors>("excessive_buffer_overrun_errors", 19, 4, 4)
        .selected_by(10),
    field<&PortCounters::qp1_dropped>("qp1_dropped", 20, 0, 16).selected_by(17),
    field<&PortCounters::vl15_dropped>("vl15_dropped", 22, 0, 16).selected_by(11),
    field<&PortCounters::port_xmit_data>("port_xmit_data", 24, 0, 32).selected_by(12),
    field<&PortCounters::port_rcv_data>("port_rcv_data", 28, 0, 32).selected_by(13),
    field<&PortCounters::port_xmit_pkts>("port_xmit_pkts", 32, 0, 32).selected_by(14),
    field<&PortCounters::port_rcv_pkts>("port_rcv_pkts", 36, 0, 32).selected_by(15),
    field<&PortCounters::port_xmit_wait>("port_xmit_wait", 40, 0, 32).selected_by(16),
};
static_assert(covers<PortCounters>(44));

/// The errors, from symbol_error_counter on, count with kExtendedErrors2 alone.
struct PortCountersExtended {
  static constexpr std::uint16_t kAttribute = 0x001d;

  std::uint8_t reserved0 = 0;
  std::uint8_t port_select = 0;
  std::uint16_t counter_select = 0;
  std::uint32_t counter_select2 = 0;  ///< bits 16 on of the selection
  Counter<64> port_xmit_data{};
  Counter<64> port_rcv_data{};
  Counter<64> port_xmit_pkts{};
  Counter<64> port_rcv_pkts{};
  Counter<64> port_unicast_xmit_pkts{};
  Counter<64> port_unicast_rcv_pkts{};
  Counter<64> port_multicast_xmit_pkts{};
  Counter<64> port_multicast_rcv_pkts{};
  Counter<64> symbol_error_counter{};
  Counter<64> link_error_recovery_counter{};
  Counter<64> link_downed_counter{};
  Counter<64> port_rcv_errors{};
  Counter<64> port_rcv_remote_physical_errors{};
  Counter<64> port_rcv_switch_relay_errors{};
  Counter<64> port_xmit_discards{};
  Counter<64> port_xmit_constraint_errors{};
  Counter<64> port_rcv_constraint_errors{};
  Counter<64> local_link_integrity_errors{};
  Counter<64> excessive_buffer_overrun_errors{};
  Counter<64> vl15_dropped{};
  Counter<64> port_xmit_wait{};
  Counter<64> qp1_dropped{};

  std::uint64_t selected() const { return counter_select | std::uint64_t{counter_select2} << 16; }
};
template <>
inline constexpr std::array fields_of<PortCountersExtended> = {
    field<&PortCountersExtended::reserved0>("reserved0", 0, 0, 8),
    field<&PortCountersExtended::port_select>("port_select", 1, 0, 8),
    field<&PortCountersExtended::counter_select>("counter_select", 2, 0, 16),
    field<&PortCountersExtended::counter_select2>("counter_select2", 4, 0, 32),
    field<&PortCountersExtended::port_xmit_data>("port_xmit_data", 8, 0, 64).selected_by(0),
    field<&PortCountersExtended::port_rcv_data>("port_rcv_data", 16, 0, 64).selected_by(1),
    field<&PortCountersExtended::port_xmit_pkts>("port_xmit_pkts", 24, 0, 64).selected_by(2),
    field<&PortCountersExtended::port_rcv_pkts>("port_rcv_pkts", 32, 0, 64).selected_by(3),
    field<&PortCountersExtended::port_unicast_xmit_pkts>("port_unicast_xmit_pkts", 40, 0, 64).selected_by(4),
    field<&PortCountersExtended::port_unicast_rcv_pkts>("port_unicast_rcv_pkts", 48, 0, 64).selected_by(5),
    field<&PortCountersExtended::port_multicast_xmit_pkts>("port_multicast_xmit_pkts", 56, 0, 64)
        .selected_by(6),
    field<&PortCountersExtended::port_multicast_rcv_pkts>("port_multicast_rcv_pkts", 64, 0, 64)
        .selected_by(7),
    field<&PortCountersExtended::symbol_error_counter>("symbol_error_counter", 72, 0, 64).selected_by(16),
    field<&PortCountersExtended::link_error_recovery_counter>("link_error_recovery_counter", 80, 0, 64)
        .selected_by(17),
    field<&PortCountersExtended::link_downed_counter>("link_downed_counter", 88, 0, 64).selected_by(18),
    field<&PortCountersExtended::port_rcv_errors>("port_rcv_errors", 96, 0, 64).selected_by(19),
    field<&PortCountersExtended::port_rcv_remote_physical_errors>("port_rcv_remote_physical_errors", 104, 0,
                                                                  64)
        .selected_by(20),
    field<&PortCountersExtended::port_rcv_switch_relay_errors>("port_rcv_switch_relay_errors", 112, 0, 64)
        .selected_by(21),
    field<&PortCountersExtended::port_xmit_discards>("port_xmit_discards", 120, 0, 64).selected_by(22),
    field<&PortCountersExtended::port_xmit_constraint_errors>("port_xmit_constraint_errors", 128, 0, 64)
        .selected_by(23),
    field<&PortCountersExtended::port_rcv_constraint_errors>("port_rcv_constraint_errors", 136, 0, 64)
        .selected_by(24),
    field<&PortCountersExtended::local_link_integrity_errors>("local_link_integrity_errors", 144, 0, 64)
        .selected_by(25),
    field<&PortCountersExtended::excessive_buffer_overrun_errors>("excessive_buffer_overrun_errors", 152, 0,
                                                                  64)
        .selected_by(26),
    field<&PortCountersExtended::vl15_dropped>("vl15_dropped", 160, 0, 64).selected_by(27),
    field<&PortCountersExtended::port_xmit_wait>("port_xmit_wait", 168, 0, 64).selected_by(28),
    field<&PortCountersExtended::qp1_dropped>("qp1_dropped", 176, 0, 64).selected_by(29),
};
static_assert(covers<PortCountersExtended>(184));

}  // namespace softrnic::mad
