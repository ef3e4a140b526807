// Nodes that answer SMPs from simple tables, and complain of what a port must not be told.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "mad/attribute_modifier.h"
#include "mad/capability_mask.h"
#include "mad/forwarding_tables.h"
#include "mad/guid_info.h"
#include "mad/node_info.h"
#include "mad/p_key_table.h"
#include "mad/port_info.h"
#include "mad/smp.h"
#include "mad/switch_info.h"

namespace softrnic::subnet::testing {

struct SimPlace {
  int node = -1;
  int port = 0;
  auto operator<=>(const SimPlace&) const = default;
};

struct SimPort {
  mad::PortInfo info;
  std::vector<std::uint16_t> p_keys = std::vector<std::uint16_t>(32);
  SimPlace peer;
};

struct SimNode {
  mad::NodeInfo info;
  mad::NodeDescription description;
  mad::SwitchInfo switch_info;
  std::vector<SimPort> ports;
  std::vector<std::uint8_t> linear = std::vector<std::uint8_t>(49152, 0xff);
  std::map<std::uint32_t, mad::MulticastForwardingTable> multicast;  // by modifier
  std::map<std::pair<std::uint16_t, std::uint32_t>, std::array<std::byte, 64>> other;
  bool is_dead = false;
  Duration delay{};
  std::uint64_t m_key = 0;

  bool is_switch() const { return info.node_type == mad::NodeType::switch_node; }
  std::uint64_t guid() const { return info.node_guid.value; }
};

/// All nodes of a subnet, with their subnet management agents.
class SimAgents {
 public:
  SimNode& node(SimPlace at) { return nodes[static_cast<std::size_t>(at.node)]; }
  SimPort& at(SimPlace at) { return node(at).ports[static_cast<std::size_t>(at.port)]; }

  std::uint64_t port_guid(SimPlace place) {
    const SimNode& n = node(place);
    return n.is_switch() ? n.guid() : n.guid() + static_cast<std::uint64_t>(place.port);
  }

  std::vector<SimNode> nodes;
  std::vector<std::string> complaints;   ///< what a port was told that it must not be told
  std::map<SimPlace, int> reregistered;  ///< how often the clients of a port were told to register again

 protected:
  int add(mad::NodeType type, std::uint8_t ports, std::uint64_t guid) {
    SimNode made;
    made.info.node_type = type;
    made.info.num_ports = ports;
    made.info.node_guid = made.info.system_image_guid = made.info.port_guid = mad::Guid(guid);
    made.info.partition_cap = 32;
    made.description = mad::NodeDescription::of("node " + std::to_string(nodes.size()));
    made.ports.resize(ports + std::size_t{1});
    for (SimPort& port : made.ports) {
      mad::PortInfo& info = port.info;
      info.port_state = mad::PortState::down;
      info.link_width_active = mad::LinkWidth::x4;
      info.link_speed_active = mad::LinkSpeed::qdr;
      info.link_width_enabled = info.link_width_supported = 2;
      info.mtu_cap = mad::Mtu::b4096;
      info.vl_cap = mad::VlCap::vl0_7;
      info.operational_vls = mad::VlCap::vl0;
      info.vl_arbitration_high_cap = info.vl_arbitration_low_cap = 8;
      info.guid_cap = 2;
      info.capability_mask = mad::port_capability::kTrap | mad::port_capability::kClientReregistration |
                             mad::port_capability::kSlMapping;
      port.p_keys[0] = 0xffff;
    }
    nodes.push_back(std::move(made));
    return static_cast<int>(nodes.size()) - 1;
  }
  // ---- the agent of a node

  template <typename Attribute>
  static void put(mad::Smp& smp, const Attribute& value) {
    smp.data = {};
    mad::encode(value, smp.data);
  }
  bool handle(SimPlace in, mad::Smp& smp) {
    SimNode& n = node(in);
    const bool set = smp.method == mad::Method::set;
    switch (smp.attribute) {
      case mad::NodeInfo::kAttribute: {
        mad::NodeInfo info = n.info;
        info.local_port_num = static_cast<std::uint8_t>(in.port);
        info.port_guid = mad::Guid(port_guid(in));
        return put(smp, info), true;
      }
      case mad::NodeDescription::kAttribute:
        return put(smp, n.description), true;
      case mad::SwitchInfo::kAttribute:
        if (!n.is_switch()) return false;
        if (set) set_switch_info(n, mad::decode<mad::SwitchInfo>(smp.data));
        return put(smp, n.switch_info), true;
      case mad::PortInfo::kAttribute: {
        const std::size_t number = smp.modifier & 0xff;
        if (number >= n.ports.size()) return false;
        if (set) set_port_info({in.node, static_cast<int>(number)}, mad::decode<mad::PortInfo>(smp.data));
        return put(smp, n.ports[number].info), true;
      }
      case mad::GuidInfo::kAttribute:
        return put(smp, mad::GuidInfo{{mad::Guid(port_guid(in))}}), true;
      case mad::PKeyTable::kAttribute:
        return p_keys(in, smp, set);
      case mad::LinearForwardingTable::kAttribute:
        return linear(n, smp, set);
      case mad::MulticastForwardingTable::kAttribute:
        if (set) n.multicast[smp.modifier] = mad::decode<mad::MulticastForwardingTable>(smp.data);
        return put(smp, n.multicast[smp.modifier]), true;
      default:
        if (set) n.other[{smp.attribute, smp.modifier}] = smp.data;
        smp.data = n.other[{smp.attribute, smp.modifier}];
        return true;
    }
  }
  bool p_keys(SimPlace in, mad::Smp& smp, bool set) {
    const auto modifier = mad::decode_modifier<mad::PKeyTableModifier>(smp.modifier);
    SimPort& port = at({in.node, node(in).is_switch() ? modifier.port : in.port});
    mad::PKeyTable table = mad::decode<mad::PKeyTable>(smp.data);
    if (modifier.block != 0) return false;
    if (set) std::ranges::copy(table.p_keys, port.p_keys.begin());
    std::ranges::copy(port.p_keys, table.p_keys.begin());
    return put(smp, table), true;
  }
  static bool linear(SimNode& n, mad::Smp& smp, bool set) {
    if (smp.modifier >= n.linear.size() / 64) return false;
    auto table = mad::decode<mad::LinearForwardingTable>(smp.data);
    const auto begin = n.linear.begin() + static_cast<std::ptrdiff_t>(64 * smp.modifier);
    if (set) std::ranges::copy(table.ports, begin);
    std::copy_n(begin, 64, table.ports.begin());
    return put(smp, table), true;
  }
  static void set_switch_info(SimNode& n, const mad::SwitchInfo& wanted) {
    n.switch_info.linear_fdb_top = wanted.linear_fdb_top;
    n.switch_info.life_time_value = wanted.life_time_value;
    n.switch_info.multicast_fdb_top = wanted.multicast_fdb_top;
    if (wanted.port_state_change) n.switch_info.port_state_change = false;
  }
  void set_port_info(SimPlace place, const mad::PortInfo& wanted) {
    SimNode& n = node(place);
    mad::PortInfo& info = at(place).info;
    const bool is_end_port = n.is_switch() == (place.port == 0);
    if (is_end_port) {
      if (!wanted.lid.is_unicast()) complaints.push_back("LID that is not unicast");
      if (!wanted.master_sm_lid.is_unicast()) complaints.push_back("no manager's LID");
      info.lid = wanted.lid;
      info.lmc = wanted.lmc;
      info.master_sm_lid = wanted.master_sm_lid;
      info.master_sm_sl = wanted.master_sm_sl;
      info.gid_prefix = wanted.gid_prefix;
      info.m_key = n.m_key = wanted.m_key;
      info.subnet_timeout = wanted.subnet_timeout;
      info.m_key_lease_period = wanted.m_key_lease_period;
      if (wanted.client_reregister) ++reregistered[place];
    }
    if (wanted.neighbor_mtu > info.mtu_cap) complaints.push_back("NeighborMTU above MTUCap");
    if (wanted.operational_vls > info.vl_cap) complaints.push_back("OperationalVLs above VLCap");
    if (wanted.port_physical_state != mad::PortPhysicalState::no_change)
      complaints.push_back("physical state");
    info.link_down_default_state = wanted.link_down_default_state;
    info.neighbor_mtu = wanted.neighbor_mtu;
    info.operational_vls = wanted.operational_vls;
    info.hoq_life = wanted.hoq_life;
    info.vl_stall_count = wanted.vl_stall_count;
    info.vl_high_limit = wanted.vl_high_limit;
    info.local_phy_errors = wanted.local_phy_errors;
    info.overrun_errors = wanted.overrun_errors;
    info.partition_enforcement_inbound = wanted.partition_enforcement_inbound;
    info.partition_enforcement_outbound = wanted.partition_enforcement_outbound;
    set_state(place, wanted.port_state);
  }
  // IBTA 7.2.7: armed from initialize, active from armed.
  void set_state(SimPlace place, mad::PortState wanted) {
    mad::PortState& state = at(place).info.port_state;
    if (wanted == mad::PortState::no_change) return;
    const bool legal = (wanted == mad::PortState::armed && state == mad::PortState::initialize) ||
                       (wanted == mad::PortState::active && state == mad::PortState::armed) ||
                       wanted == state;
    if (!legal) complaints.push_back("illegal change of state");
    if (wanted == mad::PortState::active && at(place).peer.node >= 0 &&
        at(at(place).peer).info.port_state < mad::PortState::armed)
      complaints.push_back("active before the other end was armed");
    if (legal) state = wanted;
  }
};

}  // namespace softrnic::subnet::testing
