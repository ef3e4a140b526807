#include "subnet/switch_settings.h"

#include <algorithm>
#include <set>

#include "mad/attribute_modifier.h"
#include "mad/forwarding_tables.h"

namespace softrnic::subnet {
namespace {

constexpr std::uint16_t kNoMulticast = Lid::kFirstMulticast - 1;

// Of one switch.
class SwitchPlan {
 public:
  SwitchPlan(const SubnetDatabase& database, const SentAttributes& sent, SwitchId sw, Settings& out)
      : subnet_(database.subnet),
        graph_(database.graph()),
        tables_(database.routing.tables.at(sw)),
        sent_(sent),
        at_{database.topology.node_of(sw), 0},
        node_(subnet_.at(at_.node)),
        out_(out) {}

  void plan_info(const ManagerOptions& options) {
    mad::SwitchInfo now = node_.switch_info;
    now.port_state_change = false;  // writing 0 leaves it
    mad::SwitchInfo wanted = now;
    const std::uint16_t last = now.linear_fdb_cap > 0 ? now.linear_fdb_cap - 1 : 0;
    wanted.linear_fdb_top = std::min(graph_.top_lid().value, last);
    wanted.life_time_value = options.ports.packet_life_time;
    const std::uint32_t capabilities = node_.ports[0].info.capability_mask;
    if ((capabilities & mad::port_capability::kMulticastFdbTop) != 0)
      wanted.multicast_fdb_top = multicast_top();
    if (mad::encoded(now) != mad::encoded(wanted)) out_.push_back(setting_of(at_, wanted));
  }

  void plan_linear() {
    const std::size_t most = node_.switch_info.linear_fdb_cap;
    for (std::size_t block = 0; block < tables_.linear.blocks() && block * kLinearBlock < most; ++block) {
      mad::LinearForwardingTable wanted;
      std::ranges::copy(tables_.linear.block(block), wanted.ports.begin());
      add(wanted, static_cast<std::uint32_t>(block));
    }
  }

  void plan_multicast() {
    for (const std::uint32_t modifier : multicast_blocks()) {
      const auto at = mad::decode_modifier<mad::MulticastForwardingModifier>(modifier);
      mad::MulticastForwardingTable wanted;
      wanted.port_masks = tables_.multicast.block(at.block, at.position);
      add(wanted, modifier);
    }
  }

 private:
  template <typename Attribute>
  void add(const Attribute& wanted, std::uint32_t modifier) {
    const Setting setting = setting_of(at_, wanted, modifier);
    if (!sent_.has(node_.ports[0].guid, setting)) out_.push_back(setting);
  }

  // Those that are wanted, and those that it was sent earlier and may have to be emptied.
  std::set<std::uint32_t> multicast_blocks() const {
    std::set<std::uint32_t> modifiers;
    const std::size_t most = node_.switch_info.multicast_fdb_cap;
    for (std::size_t block = 0; block < tables_.multicast.blocks() && block * kMulticastBlock < most; ++block)
      for (std::size_t position = 0; position < tables_.multicast.positions(); ++position)
        modifiers.insert(mad::encode_modifier(mad::MulticastForwardingModifier{
            .position = static_cast<std::uint8_t>(position), .block = static_cast<std::uint16_t>(block)}));
    sent_.for_each(node_.ports[0].guid, mad::MulticastForwardingTable::kAttribute,
                   [&](std::uint32_t modifier) { modifiers.insert(modifier); });
    return modifiers;
  }

  std::uint16_t multicast_top() const {
    const std::size_t entries = tables_.multicast.blocks() * kMulticastBlock;
    for (std::size_t entry = entries; entry > 0; --entry) {
      const Lid lid(static_cast<std::uint16_t>(Lid::kFirstMulticast + entry - 1));
      if (!tables_.multicast.mask(lid).empty()) return lid.value;
    }
    return kNoMulticast;
  }

  const Subnet& subnet_;
  const Graph& graph_;
  const SwitchTables& tables_;
  const SentAttributes& sent_;
  NodePort at_;
  const Node& node_;
  Settings& out_;
};

bool was_reset(const Node& node) {
  bool is_linked = false;
  for (std::size_t port = 1; port < node.ports.size(); ++port) {
    if (!node.ports[port].is_linked()) continue;
    is_linked = true;
    if (node.ports[port].info.port_state != mad::PortState::initialize) return false;
  }
  return is_linked || node.ports[0].info.lid.is_reserved();
}

}  // namespace

Settings switch_settings(const SubnetDatabase& database, const ManagerOptions& options,
                         const SentAttributes& sent) {
  Settings settings;
  for (std::uint32_t i = 0; i < database.graph().switches().size(); ++i) {
    SwitchPlan plan(database, sent, SwitchId(i), settings);
    plan.plan_info(options);
    plan.plan_linear();
    plan.plan_multicast();
  }
  return settings;
}

Settings multicast_settings(const SubnetDatabase& database, const SentAttributes& sent) {
  Settings settings;
  for (std::uint32_t i = 0; i < database.graph().switches().size(); ++i)
    SwitchPlan(database, sent, SwitchId(i), settings).plan_multicast();
  return settings;
}

void forget_what_was_reset(const Subnet& subnet, SentAttributes& sent) {
  sent.keep_only([&](Guid guid) { return subnet.find_port(guid).node != kNoNode; });
  subnet.for_each_port([&](NodePort at, const PhysicalPort& port) {
    if (!subnet.is_end_port(at)) return;
    const Node& node = subnet.at(at.node);
    const bool lost = node.is_switch() ? was_reset(node) : port.info.port_state == mad::PortState::initialize;
    if (lost) sent.forget(port.guid);
  });
}

}  // namespace softrnic::subnet
