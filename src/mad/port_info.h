// PortInfo: state, addresses, link and limits of a port; most of what a subnet manager sets (IBTA 14.2.5.6).
#pragma once

#include <array>
#include <cstdint>

#include "mad/capability_mask.h"
#include "mad/field.h"
#include "mad/link.h"
#include "wire/lid.h"

namespace softrnic::mad {

/// 0 of what can be set means: no change.
enum class PortState : std::uint8_t { no_change = 0, down = 1, initialize = 2, armed = 3, active = 4 };

enum class PortPhysicalState : std::uint8_t {
  no_change = 0,
  sleep = 1,
  polling = 2,
  disabled = 3,
  port_configuration_training = 4,
  link_up = 5,
  link_error_recovery = 6,
  phy_test = 7,
};

/// Lanes for data: VL0 alone, VL0–1, VL0–3, VL0–7, VL0–14.
enum class VlCap : std::uint8_t { none = 0, vl0 = 1, vl0_1 = 2, vl0_3 = 3, vl0_7 = 4, vl0_14 = 5 };
/// How many; 0 of a code without meaning.
constexpr unsigned data_vls(VlCap cap) {
  constexpr std::uint8_t counts[] = {0, 1, 2, 4, 8, 15};
  const auto code = static_cast<std::size_t>(cap);
  return code < std::size(counts) ? counts[code] : 0;
}

struct PortInfo {
  static constexpr std::uint16_t kAttribute = 0x0015;
  /// In the attribute modifier: the manager knows LinkSpeedExt (IBTA 14.2.5.6). The port is in bits 7–0.
  static constexpr std::uint32_t kModifierExtendedSpeeds = 1U << 31;

  std::uint64_t m_key = 0;
  std::uint64_t gid_prefix = 0;  ///< subnet prefix, in host order
  wire::Lid lid{};               ///< base LID
  wire::Lid master_sm_lid{};
  std::uint32_t capability_mask = 0;  ///< port_capability
  std::uint16_t diag_code = 0;
  std::uint16_t m_key_lease_period = 0;  ///< seconds; 0: without end
  std::uint8_t local_port_num = 0;
  std::uint8_t link_width_enabled = 0;  ///< bits of LinkWidth; 0: no change, 0xff: all supported
  std::uint8_t link_width_supported = 0;
  LinkWidth link_width_active{};
  std::uint8_t link_speed_supported = 0;  ///< 4 bits of LinkSpeed
  PortState port_state{};
  PortPhysicalState port_physical_state{};
  PortPhysicalState link_down_default_state{};  ///< sleep or polling
  std::uint8_t m_key_protect_bits = 0;          ///< 2 bits
  std::uint8_t reserved34 = 0;                  ///< 3 bits
  std::uint8_t lmc = 0;                         ///< 3 bits: the port has 2^lmc LIDs
  LinkSpeed link_speed_active{};                ///< `extended`: see link_speed_ext_active
  std::uint8_t link_speed_enabled = 0;          ///< 4 bits of LinkSpeed; 0: no change, 15: all supported
  Mtu neighbor_mtu{};
  std::uint8_t master_sm_sl = 0;  ///< 4 bits
  VlCap vl_cap{};
  std::uint8_t init_type = 0;      ///< 4 bits: NoLoad, PreserveContent, PreservePresence, DoNotResuscitate
  std::uint8_t vl_high_limit = 0;  ///< in 4096 bytes; 255: without limit (IBTA 7.6.9)
  std::uint8_t vl_arbitration_high_cap = 0;
  std::uint8_t vl_arbitration_low_cap = 0;
  std::uint8_t init_type_reply = 0;  ///< 4 bits
  Mtu mtu_cap{};
  std::uint8_t vl_stall_count = 0;  ///< 3 bits: packets dropped in a row until the VL stalls
  std::uint8_t hoq_life = 0;        ///< 5-bit code: 4.096 µs · 2^code; above 19 without bound
  VlCap operational_vls{};
  bool partition_enforcement_inbound = false;
  bool partition_enforcement_outbound = false;
  bool filter_raw_inbound = false;
  bool filter_raw_outbound = false;
  std::uint16_t m_key_violations = 0;  ///< counts up to 0xffff, as the next two
  std::uint16_t p_key_violations = 0;
  std::uint16_t q_key_violations = 0;
  std::uint8_t guid_cap = 0;  ///< entries of the GUID table
  bool client_reregister = false;
  std::uint8_t multicast_pkey_trap_suppression_enabled = 0;  ///< 2 bits
  std::uint8_t subnet_timeout = 0;                           ///< 5-bit code: 4.096 µs · 2^code
  std::uint8_t reserved52 = 0;                               ///< 3 bits
  std::uint8_t response_time_value = 0;                      ///< 5-bit code: 4.096 µs · 2^code
  std::uint8_t local_phy_errors = 0;                         ///< 4 bits, threshold of trap 129
  std::uint8_t overrun_errors = 0;                           ///< 4 bits, threshold of trap 130
  std::uint16_t max_credit_hint = 0;
  std::uint8_t reserved56 = 0;                 ///< 1 bit
  std::uint8_t link_speed_ext2_active = 0;     ///< 2 bits: XDR
  std::uint8_t link_speed_ext2_supported = 0;  ///< 2 bits
  std::uint8_t link_speed_ext2_enabled = 0;    ///< 3 bits
  std::uint32_t link_round_trip_latency = 0;   ///< 24 bits, in octet times; 0xffffff: not measured
  std::uint16_t capability_mask2 = 0;          ///< port_capability2
  LinkSpeedExt link_speed_ext_active{};
  std::uint8_t link_speed_ext_supported = 0;  ///< 4 bits of LinkSpeedExt
  std::uint8_t reserved63 = 0;                ///< 3 bits
  std::uint8_t link_speed_ext_enabled = 0;    ///< 5 bits; 0: no change, 30: none, 31: all supported
};
template <>
inline constexpr std::array fields_of<PortInfo> = {
    field<&PortInfo::m_key>("m_key", 0, 0, 64),
    field<&PortInfo::gid_prefix>("gid_prefix", 8, 0, 64),
    field<&PortInfo::lid>("lid", 16, 0, 16),
    field<&PortInfo::master_sm_lid>("master_sm_lid", 18, 0, 16),
    field<&PortInfo::capability_mask>("capability_mask", 20, 0, 32),
    field<&PortInfo::diag_code>("diag_code", 24, 0, 16),
    field<&PortInfo::m_key_lease_period>("m_key_lease_period", 26, 0, 16),
    field<&PortInfo::local_port_num>("local_port_num", 28, 0, 8),
    field<&PortInfo::link_width_enabled>("link_width_enabled", 29, 0, 8),
    field<&PortInfo::link_width_supported>("link_width_supported", 30, 0, 8),
    field<&PortInfo::link_width_active>("link_width_active", 31, 0, 8),
    field<&PortInfo::link_speed_supported>("link_speed_supported", 32, 0, 4),
    field<&PortInfo::port_state>("port_state", 32, 4, 4),
    field<&PortInfo::port_physical_state>("port_physical_state", 33, 0, 4),
    field<&PortInfo::link_down_default_state>("link_down_default_state", 33, 4, 4),
    field<&PortInfo::m_key_protect_bits>("m_key_protect_bits", 34, 0, 2),
    field<&PortInfo::reserved34>("reserved34", 34, 2, 3),
    field<&PortInfo::lmc>("lmc", 34, 5, 3),
    field<&PortInfo::link_speed_active>("link_speed_active", 35, 0, 4),
    field<&PortInfo::link_speed_enabled>("link_speed_enabled", 35, 4, 4),
    field<&PortInfo::neighbor_mtu>("neighbor_mtu", 36, 0, 4),
    field<&PortInfo::master_sm_sl>("master_sm_sl", 36, 4, 4),
    field<&PortInfo::vl_cap>("vl_cap", 37, 0, 4),
    field<&PortInfo::init_type>("init_type", 37, 4, 4),
    field<&PortInfo::vl_high_limit>("vl_high_limit", 38, 0, 8),
    field<&PortInfo::vl_arbitration_high_cap>("vl_arbitration_high_cap", 39, 0, 8),
    field<&PortInfo::vl_arbitration_low_cap>("vl_arbitration_low_cap", 40, 0, 8),
    field<&PortInfo::init_type_reply>("init_type_reply", 41, 0, 4),
    field<&PortInfo::mtu_cap>("mtu_cap", 41, 4, 4),
    field<&PortInfo::vl_stall_count>("vl_stall_count", 42, 0, 3),
    field<&PortInfo::hoq_life>("hoq_life", 42, 3, 5),
    field<&PortInfo::operational_vls>("operational_vls", 43, 0, 4),
    field<&PortInfo::partition_enforcement_inbound>("partition_enforcement_inbound", 43, 4, 1),
    field<&PortInfo::partition_enforcement_outbound>("partition_enforcement_outbound", 43, 5, 1),
    field<&PortInfo::filter_raw_inbound>("filter_raw_inbound", 43, 6, 1),
    field<&PortInfo::filter_raw_outbound>("filter_raw_outbound", 43, 7, 1),
    field<&PortInfo::m_key_violations>("m_key_violations", 44, 0, 16),
    field<&PortInfo::p_key_violations>("p_key_violations", 46, 0, 16),
    field<&PortInfo::q_key_violations>("q_key_violations", 48, 0, 16),
    field<&PortInfo::guid_cap>("guid_cap", 50, 0, 8),
    field<&PortInfo::client_reregister>("client_reregister", 51, 0, 1),
    field<&PortInfo::multicast_pkey_trap_suppression_enabled>("multicast_pkey_trap_suppression_enabled", 51,
                                                              1, 2),
    field<&PortInfo::subnet_timeout>("subnet_timeout", 51, 3, 5),
    field<&PortInfo::reserved52>("reserved52", 52, 0, 3),
    field<&PortInfo::response_time_value>("response_time_value", 52, 3, 5),
    field<&PortInfo::local_phy_errors>("local_phy_errors", 53, 0, 4),
    field<&PortInfo::overrun_errors>("overrun_errors", 53, 4, 4),
    field<&PortInfo::max_credit_hint>("max_credit_hint", 54, 0, 16),
    field<&PortInfo::reserved56>("reserved56", 56, 0, 1),
    field<&PortInfo::link_speed_ext2_active>("link_speed_ext2_active", 56, 1, 2).with_previous(),
    field<&PortInfo::link_speed_ext2_supported>("link_speed_ext2_supported", 56, 3, 2).with_previous(),
    field<&PortInfo::link_speed_ext2_enabled>("link_speed_ext2_enabled", 56, 5, 3).with_previous(),
    field<&PortInfo::link_round_trip_latency>("link_round_trip_latency", 57, 0, 24),
    field<&PortInfo::capability_mask2>("capability_mask2", 60, 0, 16),
    field<&PortInfo::link_speed_ext_active>("link_speed_ext_active", 62, 0, 4),
    field<&PortInfo::link_speed_ext_supported>("link_speed_ext_supported", 62, 4, 4),
    field<&PortInfo::reserved63>("reserved63", 63, 0, 3),
    field<&PortInfo::link_speed_ext_enabled>("link_speed_ext_enabled", 63, 3, 5),
};
static_assert(covers<PortInfo>(64));

/// The forward error correction of a port (IBTA 14.2.5.19); HDR and NDR as rdma-core reads them.
struct PortInfoExtended {
  static constexpr std::uint16_t kAttribute = 0x0033;
  static constexpr std::uint32_t kCapFecMode = 1;  ///< of capability_mask: the modes below mean something
  enum class FecMode : std::uint16_t {
    none = 0,
    firecode = 1,
    reed_solomon = 2,
    low_latency_reed_solomon = 3
  };

  std::uint32_t capability_mask = 0;
  FecMode fec_mode_active{};
  std::uint16_t fdr_fec_mode_supported = 0;
  std::uint16_t fdr_fec_mode_enabled = 0;
  std::uint16_t edr_fec_mode_supported = 0;
  std::uint16_t edr_fec_mode_enabled = 0;
  std::uint16_t hdr_fec_mode_supported = 0;
  std::uint16_t hdr_fec_mode_enabled = 0;
  std::uint16_t ndr_fec_mode_supported = 0;
  std::uint16_t ndr_fec_mode_enabled = 0;
};
template <>
inline constexpr std::array fields_of<PortInfoExtended> = {
    field<&PortInfoExtended::capability_mask>("capability_mask", 0, 0, 32),
    field<&PortInfoExtended::fec_mode_active>("fec_mode_active", 4, 0, 16),
    field<&PortInfoExtended::fdr_fec_mode_supported>("fdr_fec_mode_supported", 6, 0, 16),
    field<&PortInfoExtended::fdr_fec_mode_enabled>("fdr_fec_mode_enabled", 8, 0, 16),
    field<&PortInfoExtended::edr_fec_mode_supported>("edr_fec_mode_supported", 10, 0, 16),
    field<&PortInfoExtended::edr_fec_mode_enabled>("edr_fec_mode_enabled", 12, 0, 16),
    field<&PortInfoExtended::hdr_fec_mode_supported>("hdr_fec_mode_supported", 14, 0, 16),
    field<&PortInfoExtended::hdr_fec_mode_enabled>("hdr_fec_mode_enabled", 16, 0, 16),
    field<&PortInfoExtended::ndr_fec_mode_supported>("ndr_fec_mode_supported", 18, 0, 16),
    field<&PortInfoExtended::ndr_fec_mode_enabled>("ndr_fec_mode_enabled", 20, 0, 16),
};
static_assert(covers<PortInfoExtended>(22));

}  // namespace softrnic::mad
