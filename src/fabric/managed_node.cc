#include "fabric/managed_node.h"

#include <algorithm>

#include "fabric/engine.h"
#include "wire/headers.h"

namespace softrnic::fabric {
namespace {

namespace capability = mad::port_capability;

constexpr std::uint32_t kOfAll = capability::kTrap | capability::kSlMapping | capability::kLedInfo |
                                 capability::kSystemImageGuid | capability::kCapabilityMask2 |
                                 capability::kDrNotice | capability::kCapabilityMaskNotice |
                                 capability::kOtherLocalChangesNotice | capability::kClientReregistration;
constexpr std::uint32_t kOfAdapters = capability::kAutomaticMigration | capability::kCommunicationManagement;
constexpr std::uint32_t kOfSwitches = capability::kPKeySwitchExternalPortTrap | capability::kMulticastFdbTop;

constexpr std::uint8_t kOneSecond = 18;  ///< 4.096 µs · 2^18, for SubnetTimeOut and RespTimeValue
constexpr std::uint8_t kThreshold = 8;   ///< errors, as opensm sets both at the start
constexpr std::uint8_t kEqualWeight = 64;

std::uint32_t capabilities_of(const ManagedNode& node, const PortProfile& profile) {
  std::uint32_t mask = kOfAll | (node.is_switch() ? kOfSwitches : kOfAdapters);
  if (profile.extended_link_speeds != 0) mask |= capability::kExtendedSpeeds;
  return mask;
}

void make_endport(const ManagedNode& node, const PortProfile& profile, ManagedPort& port) {
  mad::PortInfo& info = port.info;
  info.gid_prefix = mad::kDefaultSubnetPrefix;
  info.capability_mask = capabilities_of(node, profile);
  info.capability_mask2 = mad::port_capability2::kSetNodeDescription;
  info.guid_cap = kGuidsPerPort;
  info.subnet_timeout = kOneSecond;
  info.response_time_value = kOneSecond;
  port.guids.assign(kGuidsPerPort, mad::Guid{});
  port.guids[0] = profile.guid;
  port.p_keys.assign(kEndportPKeys, 0);
  port.p_keys[0] = wire::kDefaultPkey;
}

void make_link(const PortProfile& profile, mad::PortInfo& info) {
  info.link_width_supported = info.link_width_enabled = profile.link_widths;
  info.link_width_active = mad::LinkWidth::x1;
  info.link_speed_supported = info.link_speed_enabled = profile.link_speeds;
  info.link_speed_active = mad::LinkSpeed::sdr;
  info.link_speed_ext_supported = info.link_speed_ext_enabled = profile.extended_link_speeds;
  info.link_down_default_state = mad::PortPhysicalState::polling;
  info.port_physical_state = mad::PortPhysicalState::polling;
  info.port_state = mad::PortState::down;
  info.local_phy_errors = info.overrun_errors = kThreshold;
}

// All data VLs are equal, as the engine has it until tables are set.
void make_arbitration(ManagedPort& port) {
  const unsigned vls = mad::data_vls(port.info.vl_cap);
  for (std::uint8_t vl = 0; vl < vls; ++vl) port.low_priority[vl] = {vl, kEqualWeight};
}

ManagedPort make_port(const ManagedNode& node, const PortProfile& profile, const EnginePort& engine_port) {
  ManagedPort port;
  port.id = engine_port.id;
  port.number = engine_port.number;
  mad::PortInfo& info = port.info;
  const bool is_endport = !node.is_switch() || port.number == 0;
  if (is_endport) {
    make_endport(node, profile, port);
  } else {
    port.p_keys.assign(kSwitchPortPKeys, 0);
    port.p_keys[0] = wire::kDefaultPkey;
  }
  make_link(profile, info);
  info.vl_cap = info.operational_vls = profile.vl_cap;
  info.mtu_cap = info.neighbor_mtu = profile.mtu_cap;
  if (!is_endport) info.hoq_life = kNoLifetime;
  info.vl_arbitration_high_cap = info.vl_arbitration_low_cap = ManagedPort::kVlArbitrationEntries;
  info.port_state = engine_port.state;
  if (engine_port.state != PortState::down) info.port_physical_state = mad::PortPhysicalState::link_up;
  make_arbitration(port);
  return port;
}

mad::SwitchInfo make_switch_info(const NodeProfile& profile) {
  mad::SwitchInfo info;
  info.linear_fdb_cap = kLinearFdbCap;
  info.multicast_fdb_cap = kMulticastFdbCap;
  info.multicast_fdb_top = wire::Lid::kFirstMulticast + kMulticastFdbCap - 1;
  info.default_multicast_primary_port = ForwardingTables::kNoPort;
  info.default_multicast_not_primary_port = ForwardingTables::kNoPort;
  info.life_time_value = kNoLifetime;
  info.optimized_sl_to_vl_mapping_programming = 1;
  info.partition_enforcement_cap = kSwitchPortPKeys;
  info.inbound_enforcement_cap = info.outbound_enforcement_cap = true;
  info.filter_raw_inbound_cap = info.filter_raw_outbound_cap = true;
  info.enhanced_port0 = profile.enhanced_port0;
  return info;
}

mad::NodeInfo make_node_info(const NodeProfile& profile, const EngineNode& node) {
  mad::NodeInfo info;
  info.node_type = node.is_switch() ? mad::NodeType::switch_node : mad::NodeType::channel_adapter;
  info.num_ports = static_cast<std::uint8_t>(node.ports.size() - 1);
  info.system_image_guid = profile.system_image_guid;
  info.node_guid = profile.guid;
  info.partition_cap = kEndportPKeys;
  info.device_id = profile.device_id;
  info.revision = profile.revision;
  info.vendor_id = profile.vendor_id;
  return info;
}

}  // namespace

bool ManagedPort::admits(std::uint16_t p_key) const {
  if ((p_key & kPartition) == 0) return false;
  return std::ranges::any_of(p_keys, [p_key](std::uint16_t own) {
    return (own & kPartition) == (p_key & kPartition) && ((own | p_key) & kFullMember) != 0;
  });
}

std::optional<std::uint16_t> ManagedPort::find_p_key(std::uint16_t p_key) const {
  const auto full = std::ranges::find(p_keys, static_cast<std::uint16_t>(p_key | kFullMember));
  const auto limited = std::ranges::find(p_keys, static_cast<std::uint16_t>(p_key & kPartition));
  const auto found = full != p_keys.end() ? full : limited;
  if (found == p_keys.end()) return std::nullopt;
  return static_cast<std::uint16_t>(found - p_keys.begin());
}

bool ManagedPort::owns(wire::Lid lid) const {
  return lid.is_unicast() && info.lid.value == (lid.value & ~((1U << info.lmc) - 1));
}

ManagedPort* ManagedNode::port(std::uint8_t number) {
  const bool exists = number < ports.size() && (number != 0 || is_switch());
  return exists ? &ports[number] : nullptr;
}

const ManagedPort* ManagedNode::port(std::uint8_t number) const {
  const bool exists = number < ports.size() && (number != 0 || is_switch());
  return exists ? &ports[number] : nullptr;
}

ManagedNode make_managed_node(const NodeProfile& profile, const Engine& engine, NodeId id) {
  ManagedNode made;
  made.id = id;
  made.description = mad::NodeDescription::of(profile.description);
  const EngineNode* const node = engine.node(id);
  if (node == nullptr) return made;
  made.info = make_node_info(profile, *node);
  if (node->is_switch()) made.switch_info = make_switch_info(profile);
  made.ports.resize(node->ports.size());
  for (std::size_t number = 0; number < node->ports.size(); ++number) {
    const EnginePort* const port = node->ports[number];
    if (port == nullptr) continue;
    const PortProfile like =
        profile.ports.empty() ? PortProfile{} : profile.ports[std::min(number, profile.ports.size() - 1)];
    made.ports[number] = make_port(made, like, *port);
  }
  return made;
}

void apply_port_info(Engine& engine, const ManagedNode& node, const ManagedPort& port) {
  const mad::PortInfo& info = port.info;
  PortAttributes attributes;
  attributes.neighbor_mtu = bytes_of(info.neighbor_mtu);
  attributes.operational_vls = static_cast<std::uint8_t>(mad::data_vls(info.operational_vls));
  attributes.hoq_life = info.hoq_life;
  attributes.vl_stall_count = info.vl_stall_count;
  attributes.enforce_partitions_in = info.partition_enforcement_inbound;
  attributes.enforce_partitions_out = info.partition_enforcement_outbound;
  attributes.filter_raw_in = info.filter_raw_inbound;
  attributes.filter_raw_out = info.filter_raw_outbound;
  if (!node.is_switch()) {
    attributes.lid = info.lid;
    attributes.lmc = info.lmc;
  }
  engine.set_attributes(port.id, attributes);
}

void apply_p_keys(Engine& engine, const ManagedPort& port) { engine.set_partitions(port.id, port.p_keys); }

void apply_arbitration(Engine& engine, const ManagedPort& port) {
  VlArbiter* const arbiter = engine.arbiter(port.id);
  if (arbiter == nullptr) return;
  arbiter->set_low(port.low_priority);
  arbiter->set_high(port.high_priority);
  arbiter->set_high_limit(port.info.vl_high_limit);
}

void apply_switch_info(Engine& engine, const ManagedNode& node) {
  ForwardingTables* const tables = engine.forwarding(node.id);
  if (tables == nullptr) return;
  const mad::SwitchInfo& info = node.switch_info;
  tables->set_linear_top(info.linear_fdb_top);
  tables->set_default_multicast(info.default_multicast_primary_port, info.default_multicast_not_primary_port);
  engine.set_lifetime(node.id, info.life_time_value);
}

void apply(Engine& engine, const ManagedNode& node) {
  for (std::size_t number = node.is_switch() ? 0 : 1; number < node.ports.size(); ++number) {
    const ManagedPort& port = node.ports[number];
    apply_port_info(engine, node, port);
    apply_p_keys(engine, port);
    apply_arbitration(engine, port);
  }
  if (node.is_switch()) apply_switch_info(engine, node);
}

}  // namespace softrnic::fabric
