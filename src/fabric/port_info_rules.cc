#include "fabric/port_info_rules.h"

#include <algorithm>

namespace softrnic::fabric {
namespace {

using mad::PortInfo;

using Roles = unsigned;
constexpr Roles role_bit(PortRole role) { return static_cast<Roles>(role); }
constexpr Roles kAdapter = role_bit(PortRole::adapter);
constexpr Roles kSwitchExternal = role_bit(PortRole::switch_external);
constexpr Roles kEndports = kAdapter | role_bit(PortRole::base_port0) | role_bit(PortRole::enhanced_port0);
constexpr Roles kLinks = kAdapter | kSwitchExternal;
constexpr Roles kDataPorts = kLinks | role_bit(PortRole::enhanced_port0);

struct PortInfoRule {
  Roles roles;
  bool (*allows)(const PortInfo& current, const PortInfo& wanted);  ///< nullptr: any value
  void (*write)(const PortInfo& wanted, PortInfo& current);
  bool needs_extended_manager = false;
};

template <auto field>
void copy(const PortInfo& wanted, PortInfo& current) {
  current.*field = wanted.*field;
}
/// 0 is "no change".
template <auto field>
void copy_unless_zero(const PortInfo& wanted, PortInfo& current) {
  if (wanted.*field != std::remove_cvref_t<decltype(wanted.*field)>{}) current.*field = wanted.*field;
}
/// Counters of violations can only be cleared.
template <auto field>
void clear_if_zero(const PortInfo& wanted, PortInfo& current) {
  if (wanted.*field == 0) current.*field = 0;
}
/// A set of widths or speeds, with one value for all that are supported.
template <auto enabled, auto supported, std::uint8_t all>
bool is_supported(const PortInfo& current, const PortInfo& wanted) {
  return wanted.*enabled == all || (wanted.*enabled & ~(current.*supported)) == 0;
}
template <auto enabled, auto supported, std::uint8_t all>
void enable(const PortInfo& wanted, PortInfo& current) {
  if (wanted.*enabled == 0) return;
  current.*enabled = wanted.*enabled == all ? current.*supported : wanted.*enabled;
}

bool is_base_lid(const PortInfo&, const PortInfo& wanted) {
  return wanted.lid.is_unicast() && (wanted.lid.value & ((1U << wanted.lmc) - 1)) == 0;
}
bool is_sm_lid(const PortInfo&, const PortInfo& wanted) { return wanted.master_sm_lid.is_unicast(); }
bool is_single_lid(const PortInfo&, const PortInfo& wanted) { return wanted.lmc == 0; }
bool is_default_state(const PortInfo&, const PortInfo& wanted) {
  return wanted.link_down_default_state <= mad::PortPhysicalState::polling;
}
bool is_mtu(const PortInfo& current, const PortInfo& wanted) {
  return bytes_of(wanted.neighbor_mtu) != 0 && wanted.neighbor_mtu <= current.mtu_cap;
}
bool are_vls(const PortInfo& current, const PortInfo& wanted) {
  return wanted.operational_vls <= current.vl_cap;
}

bool are_extended_speeds(const PortInfo& current, const PortInfo& wanted) {
  return wanted.link_speed_ext_enabled == mad::kNoExtendedSpeeds ||
         is_supported<&PortInfo::link_speed_ext_enabled, &PortInfo::link_speed_ext_supported,
                      mad::kAllSupportedExtendedSpeeds>(current, wanted);
}
void enable_extended_speeds(const PortInfo& wanted, PortInfo& current) {
  if (wanted.link_speed_ext_enabled == mad::kNoExtendedSpeeds) {
    current.link_speed_ext_enabled = 0;
    return;
  }
  enable<&PortInfo::link_speed_ext_enabled, &PortInfo::link_speed_ext_supported,
         mad::kAllSupportedExtendedSpeeds>(wanted, current);
}

constexpr PortInfoRule kRules[] = {
    {kEndports, nullptr, copy<&PortInfo::m_key>},
    {kEndports, nullptr, copy<&PortInfo::gid_prefix>},
    {kEndports, is_base_lid, copy<&PortInfo::lid>},
    {kEndports, is_sm_lid, copy<&PortInfo::master_sm_lid>},
    {kEndports, nullptr, copy<&PortInfo::m_key_lease_period>},
    {kLinks,
     is_supported<&PortInfo::link_width_enabled, &PortInfo::link_width_supported, mad::kAllSupportedWidths>,
     enable<&PortInfo::link_width_enabled, &PortInfo::link_width_supported, mad::kAllSupportedWidths>},
    {kLinks, is_default_state, copy_unless_zero<&PortInfo::link_down_default_state>},
    {kEndports, nullptr, copy<&PortInfo::m_key_protect_bits>},
    {role_bit(PortRole::base_port0), is_single_lid, copy<&PortInfo::lmc>},
    {kEndports, nullptr, copy<&PortInfo::lmc>},
    {kLinks,
     is_supported<&PortInfo::link_speed_enabled, &PortInfo::link_speed_supported, mad::kAllSupportedSpeeds>,
     enable<&PortInfo::link_speed_enabled, &PortInfo::link_speed_supported, mad::kAllSupportedSpeeds>},
    {kDataPorts, is_mtu, copy<&PortInfo::neighbor_mtu>},
    {kEndports, nullptr, copy<&PortInfo::master_sm_sl>},
    {kDataPorts, nullptr, copy<&PortInfo::vl_high_limit>},
    {kSwitchExternal, nullptr, copy<&PortInfo::vl_stall_count>},
    {kSwitchExternal, nullptr, copy<&PortInfo::hoq_life>},
    {kDataPorts, are_vls, copy_unless_zero<&PortInfo::operational_vls>},
    {kSwitchExternal, nullptr, copy<&PortInfo::partition_enforcement_inbound>},
    {kSwitchExternal, nullptr, copy<&PortInfo::partition_enforcement_outbound>},
    {kSwitchExternal, nullptr, copy<&PortInfo::filter_raw_inbound>},
    {kSwitchExternal, nullptr, copy<&PortInfo::filter_raw_outbound>},
    {kEndports, nullptr, clear_if_zero<&PortInfo::m_key_violations>},
    {kEndports, nullptr, clear_if_zero<&PortInfo::p_key_violations>},
    {kEndports, nullptr, clear_if_zero<&PortInfo::q_key_violations>},
    {kEndports, nullptr, copy<&PortInfo::subnet_timeout>},
    {kLinks, nullptr, copy<&PortInfo::local_phy_errors>},
    {kLinks, nullptr, copy<&PortInfo::overrun_errors>},
    {kLinks, are_extended_speeds, enable_extended_speeds, true},
};

bool applies(const PortInfoRule& rule, PortRole role, bool extended) {
  return (rule.roles & role_bit(role)) != 0 && (extended || !rule.needs_extended_manager);
}

}  // namespace

bool allows(PortRole role, bool extended, const mad::PortInfo& current, const mad::PortInfo& wanted) {
  return std::ranges::all_of(kRules, [&](const PortInfoRule& rule) {
    return !applies(rule, role, extended) || rule.allows == nullptr || rule.allows(current, wanted);
  });
}

void write(PortRole role, bool extended, const mad::PortInfo& wanted, mad::PortInfo& current) {
  for (const PortInfoRule& rule : kRules) {
    if (applies(rule, role, extended)) rule.write(wanted, current);
  }
}

}  // namespace softrnic::fabric
