#include "subnet/port_settings.h"

#include <algorithm>
#include <array>

#include "mad/attribute_modifier.h"
#include "mad/p_key_table.h"
#include "subnet/vl_settings.h"

namespace softrnic::subnet {
namespace {

using mad::PortInfo;

// As it is written back when nothing is to change: fields whose value is a command say "no change".
PortInfo unchanged(PortInfo info) {
  info.port_state = mad::PortState::no_change;
  info.port_physical_state = mad::PortPhysicalState::no_change;
  info.link_width_enabled = 0;
  info.link_speed_enabled = 0;
  info.link_speed_ext_enabled = 0;
  info.client_reregister = false;
  return info;
}

std::uint32_t modifier_of(const Subnet& subnet, NodePort at) {
  const std::uint32_t capabilities = subnet.at(subnet.management_port(at)).info.capability_mask;
  const bool extended = (capabilities & mad::port_capability::kExtendedSpeeds) != 0;
  return at.port | (extended ? PortInfo::kModifierExtendedSpeeds : 0);
}

bool is_base_port0(const Node& node, NodePort at) {
  return node.is_switch() && at.port == 0 && !node.switch_info.enhanced_port0;
}

// The difference between what one port is and what it is to be.
class PortPlan {
 public:
  PortPlan(const SubnetDatabase& database, const ManagerOptions& options, const SentAttributes& sent)
      : database_(database), options_(options), sent_(sent), vls_(database, options, sent) {}

  void plan(NodePort at, Settings& out) {
    const Subnet& subnet = database_.subnet;
    const PortInfo now = unchanged(subnet.at(at).info);
    PortInfo wanted = now;
    const bool is_end_port = subnet.is_end_port(at);
    if (is_end_port) {
      set_end_port(at, wanted);
      plan_p_keys(at, out);
    }
    if (!is_base_port0(subnet.at(at.node), at)) {
      set_link(at, wanted);
      if (!is_end_port) plan_enforcement(at, wanted, out);
      vls_.plan(at, wanted, out);
    }
    if (mad::encoded(now) != mad::encoded(wanted))
      out.push_back(setting_of(at, wanted, modifier_of(subnet, at)));
  }

 private:
  // IBTA 14.2.5.6: what is the whole port's, not a link's.
  void set_end_port(NodePort at, PortInfo& info) const {
    const EndPortId id = database_.topology.end_port_of(database_.subnet, at);
    if (id == kNoEndPort) return;
    const EndPort& end_port = database_.graph().at(id);
    const PortOptions& ports = options_.ports;
    info.lid = end_port.base_lid;
    info.lmc = end_port.lmc;
    info.master_sm_lid = database_.self_lid();
    info.master_sm_sl = ports.sm_sl;
    info.gid_prefix = ports.subnet_prefix;
    info.m_key = ports.m_key;
    info.m_key_lease_period = ports.m_key_lease_period;
    info.m_key_protect_bits = ports.m_key_protect_bits;
    info.subnet_timeout = ports.subnet_timeout;
  }

  void set_link(NodePort at, PortInfo& info) const {
    const Subnet& subnet = database_.subnet;
    const PhysicalPort& port = subnet.at(at);
    info.link_down_default_state = mad::PortPhysicalState::polling;
    info.local_phy_errors = options_.ports.local_phy_errors_threshold;
    info.overrun_errors = options_.ports.overrun_errors_threshold;
    if (!port.is_linked()) return;
    info.neighbor_mtu = std::min(port.info.mtu_cap, subnet.at(port.peer).info.mtu_cap);
    const bool has_queues = subnet.at(at.node).info.node_type != mad::NodeType::channel_adapter;
    if (!has_queues) return;
    const bool is_leaf = !subnet.at(port.peer.node).is_switch() || !subnet.at(at.node).is_switch();
    info.hoq_life =
        is_leaf ? options_.ports.leaf_head_of_queue_lifetime : options_.ports.head_of_queue_lifetime;
    info.vl_stall_count = is_leaf ? options_.ports.leaf_vl_stall_count : options_.ports.vl_stall_count;
  }

  void plan_p_keys(NodePort at, Settings& out) const {
    const EndPortId id = database_.topology.end_port_of(database_.subnet, at);
    if (id == kNoEndPort) return;
    const std::vector<std::uint16_t>& have = database_.subnet.at(at).p_keys;
    for (std::size_t block = 0; block * kPkeyBlock < have.size(); ++block) {
      const mad::PKeyTable wanted = p_key_block(database_.p_keys_of(id), block);
      const auto begin = have.begin() + static_cast<std::ptrdiff_t>(block * kPkeyBlock);
      if (std::equal(wanted.p_keys.begin(), wanted.p_keys.end(), begin)) continue;
      out.push_back(setting_of(at, wanted, p_key_modifier(0, block)));
    }
  }

  // A switch's port to an adapter lets through what the adapter's own table has (IBTA 18.2.4).
  void plan_enforcement(NodePort at, PortInfo& info, Settings& out) const {
    const Subnet& subnet = database_.subnet;
    const mad::SwitchInfo& sw = subnet.at(at.node).switch_info;
    if (sw.partition_enforcement_cap == 0) return;
    const PhysicalPort& port = subnet.at(at);
    const bool is_leaf = port.is_linked() && !subnet.at(port.peer.node).is_switch();
    const EndPortId peer = is_leaf ? database_.topology.end_port_of(subnet, port.peer) : kNoEndPort;
    const bool enforces = options_.ports.partition_enforcement && peer != kNoEndPort &&
                          database_.p_keys_of(peer).size() <= sw.partition_enforcement_cap;
    info.partition_enforcement_inbound = enforces && sw.inbound_enforcement_cap;
    info.partition_enforcement_outbound = enforces && sw.outbound_enforcement_cap;
    if (!enforces) return;
    const std::size_t entries = std::min(sw.partition_enforcement_cap, kMostPKeys);
    for (std::size_t block = 0; block * kPkeyBlock < entries; ++block) {
      const Setting setting =
          setting_of(at, p_key_block(database_.p_keys_of(peer), block), p_key_modifier(at.port, block));
      if (!sent_.has(subnet.at(at.node).info.port_guid, setting)) out.push_back(setting);
    }
  }

  static mad::PKeyTable p_key_block(const PkeyTable& table, std::size_t block) {
    mad::PKeyTable made;
    for (std::size_t i = 0; i < kPkeyBlock && block * kPkeyBlock + i < table.size(); ++i)
      made.p_keys[i] = table[block * kPkeyBlock + i];
    return made;
  }
  static std::uint32_t p_key_modifier(std::uint8_t port, std::size_t block) {
    return mad::encode_modifier(mad::PKeyTableModifier{port, static_cast<std::uint16_t>(block)});
  }

  const SubnetDatabase& database_;
  const ManagerOptions& options_;
  const SentAttributes& sent_;
  VlPlan vls_;
};

Setting state_setting(const Subnet& subnet, NodePort at, mad::PortState state) {
  PortInfo info = unchanged(subnet.at(at).info);
  info.port_state = state;
  return setting_of(at, info, modifier_of(subnet, at));
}

bool has_use(NodePort at, const PhysicalPort& port) { return port.is_linked() || at.port == 0; }

}  // namespace

Settings port_settings(const SubnetDatabase& database, const ManagerOptions& options,
                       const SentAttributes& sent) {
  Settings settings;
  PortPlan plan(database, options, sent);
  database.subnet.for_each_port([&](NodePort at, const PhysicalPort&) { plan.plan(at, settings); });
  return settings;
}

Settings arm_settings(const SubnetDatabase& database) {
  Settings settings;
  database.subnet.for_each_port([&](NodePort at, const PhysicalPort& port) {
    if (has_use(at, port) && port.info.port_state == mad::PortState::initialize)
      settings.push_back(state_setting(database.subnet, at, mad::PortState::armed));
  });
  return settings;
}

Settings activate_settings(const SubnetDatabase& database, const std::set<Guid>& reregister) {
  Settings settings;
  database.subnet.for_each_port([&](NodePort at, const PhysicalPort& port) {
    const bool is_armed = has_use(at, port) && port.info.port_state == mad::PortState::armed;
    const bool can_reregister =
        (port.info.capability_mask & mad::port_capability::kClientReregistration) != 0;
    const bool tells = port.guid != Guid{} && can_reregister && reregister.contains(port.guid);
    if (!is_armed && !tells) return;
    PortInfo info = unchanged(port.info);
    if (is_armed) info.port_state = mad::PortState::active;
    info.client_reregister = tells;
    settings.push_back(setting_of(at, info, modifier_of(database.subnet, at)));
  });
  return settings;
}

}  // namespace softrnic::subnet
