#include "subnet/discovery.h"

#include <algorithm>
#include <utility>

#include "mad/attribute_modifier.h"
#include "mad/guid_info.h"
#include "mad/p_key_table.h"

namespace softrnic::subnet {
namespace {

bool is_plausible(const mad::NodeInfo& info, const DirectedPath& path) {
  const bool is_switch = info.node_type == mad::NodeType::switch_node;
  const bool has_type =
      info.node_type >= mad::NodeType::channel_adapter && info.node_type <= mad::NodeType::router;
  // Only the manager's own switch is asked through port 0.
  const std::uint8_t first = is_switch && path.hops() == 0 ? 0 : 1;
  return has_type && info.num_ports >= 1 && info.num_ports <= kMaxSwitchPorts && !info.node_guid.is_zero() &&
         !info.port_guid.is_zero() && info.local_port_num >= first && info.local_port_num <= info.num_ports;
}

// What a node says of itself whatever port it is asked through.
bool is_same_node(const mad::NodeInfo& a, const mad::NodeInfo& b) {
  return a.node_type == b.node_type && a.num_ports == b.num_ports &&
         (a.node_type != mad::NodeType::switch_node || a.port_guid == b.port_guid);
}

std::size_t blocks(std::size_t entries, std::size_t block) { return (entries + block - 1) / block; }

}  // namespace

std::uint64_t m_key_for(const Subnet& subnet, NodePort port, std::uint64_t configured) {
  const std::uint64_t told = subnet.at(subnet.management_port(port)).info.m_key;
  return told != 0 ? told : configured;
}

void Discovery::start(const Subnet* before, bool is_master) {
  subnet_ = {};
  before_ = before;
  is_master_ = is_master;
  pending_ = 0;
  ports_ = 0;
  is_at_limit_ = false;
  silent_.clear();
  probe({}, {});
}

/// Asks the node of `port`, and calls `take(attribute)` if that is answered.
template <typename Attribute, typename Take>
void Discovery::ask(NodePort port, SmpRequest request, Take take) {
  request.m_key = m_key_for(subnet_, port, options_.m_key);
  request.target = SmpTarget(port.node.value);
  ++pending_;
  requests_.send(request, [this, take, path = request.path, node = port.node](const SmpResult& result) {
    --pending_;
    if (result.is_answered()) take(result.as<Attribute>());
    if (result.outcome == SmpOutcome::no_answer) note_silence(path, Attribute::kAttribute, node);
  });
}

void Discovery::note_silence(const DirectedPath& path, std::uint16_t attribute, NodeId node) {
  subnet_.all_answered = false;
  if (node != kNoNode && !silent_.insert(node).second) return;
  events_.notify(event::NoAnswer{path, attribute});
}

void Discovery::probe(const DirectedPath& path, NodePort from) {
  SmpRequest request = get_smp<mad::NodeInfo>(path);
  request.m_key = options_.m_key;
  ++pending_;
  requests_.send(request, [this, path, from](const SmpResult& result) {
    --pending_;
    if (!result.is_answered()) return note_silence(path, mad::NodeInfo::kAttribute, kNoNode);
    take_node(path, from, result.as<mad::NodeInfo>());
  });
}

void Discovery::take_node(const DirectedPath& path, NodePort from, const mad::NodeInfo& info) {
  if (!is_plausible(info, path)) return events_.notify(event::BadAnswer{path, mad::NodeInfo::kAttribute});
  NodeId id = subnet_.find(info.node_guid);
  const bool is_new = id == kNoNode;
  if (is_new) id = add_node(path, info);
  if (id == kNoNode) return;
  if (!is_same_node(subnet_.at(id).info, info))
    return events_.notify(event::BadAnswer{path, mad::NodeInfo::kAttribute});

  const NodePort at{id, info.local_port_num};
  if (from.node != kNoNode && !connect(from, at)) return;
  if (!subnet_.at(id).is_switch()) take_end_port(at, path, info.port_guid);
  if (is_new) ask_switch(id);
}

/// kNoNode: the sweep is at its limit.
NodeId Discovery::add_node(const DirectedPath& path, const mad::NodeInfo& info) {
  ports_ += info.num_ports + std::size_t{1};
  if (subnet_.nodes().size() >= options_.most_nodes || ports_ > options_.most_ports) {
    if (!std::exchange(is_at_limit_, true)) events_.notify(event::SweepLimit{subnet_.nodes().size()});
    return kNoNode;
  }
  const NodeId id = subnet_.add(info);
  Node& node = subnet_.at(id);
  node.path = path;
  node.entry = info.local_port_num;
  if (path.hops() == 0) subnet_.self = subnet_.management_port({id, info.local_port_num});
  return id;
}

/// False: what is at `to` is not what it seems, and is left alone.
bool Discovery::connect(NodePort from, NodePort to) {
  if (subnet_.link(from, to)) return true;
  if (from == to) return false;  // a loopback plug
  const NodePort other = subnet_.at(to).is_linked() ? subnet_.at(to).peer : subnet_.at(from).peer;
  events_.notify(
      event::DuplicateGuid{subnet_.at(to.node).guid(), subnet_.name_of(from), subnet_.name_of(other)});
  return false;
}

void Discovery::take_end_port(NodePort at, const DirectedPath& path, Guid port_guid) {
  if (subnet_.at(at).guid != Guid{}) return;
  if (!subnet_.name_port(at, port_guid)) {
    events_.notify(
        event::DuplicateGuid{port_guid, subnet_.name_of(at), subnet_.name_of(subnet_.find_port(port_guid))});
    return subnet_.unlink(at);
  }
  subnet_.at(at).path = path;
  ask_port(at);
}

/// NodeDescription of any new node; of a switch what it is, and then its ports.
void Discovery::ask_switch(NodeId id) {
  const Node& node = subnet_.at(id);
  ask<mad::NodeDescription>(
      {id, 0}, get_smp<mad::NodeDescription>(node.path),
      [this, id](const mad::NodeDescription& description) { subnet_.at(id).description = description; });
  if (!node.is_switch()) return;
  const Guid port_guid(node.info.port_guid.value);
  if (!subnet_.name_port({id, 0}, port_guid)) {
    return events_.notify(event::DuplicateGuid{port_guid, subnet_.name_of({id, 0}),
                                               subnet_.name_of(subnet_.find_port(port_guid))});
  }
  ask<mad::SwitchInfo>({id, 0}, get_smp<mad::SwitchInfo>(node.path),
                       [this, id](const mad::SwitchInfo& info) { take_switch_info(id, info); });
}

void Discovery::take_switch_info(NodeId id, const mad::SwitchInfo& info) {
  Node& node = subnet_.at(id);
  node.switch_info = info;
  node.is_complete = true;
  if (!is_master_ || !info.port_state_change) return ask_ports(id);
  // The same values; PortStateChange is reset by writing 1 (IBTA 14.2.5.4).
  ask<mad::SwitchInfo>({id, 0}, set_smp(node.path, info), [this, id](const mad::SwitchInfo& now) {
    subnet_.at(id).switch_info = now;
    ask_ports(id);
  });
}

void Discovery::ask_ports(NodeId id) {
  const std::size_t ports = subnet_.at(id).ports.size();
  for (std::size_t port = 0; port < ports; ++port) ask_port({id, static_cast<std::uint8_t>(port)});
}

void Discovery::ask_port(NodePort at) {
  ask<mad::PortInfo>(at, get_smp<mad::PortInfo>(subnet_.path_to(at), at.port),
                     [this, at](const mad::PortInfo& info) { take_port(at, info); });
}

void Discovery::take_port(NodePort at, const mad::PortInfo& info) {
  const Node& node = subnet_.at(at.node);
  PhysicalPort& port = subnet_.at(at);
  port.info = info;
  port.is_known = true;
  if (!node.is_switch()) subnet_.at(at.node).is_complete = true;
  if (subnet_.is_end_port(at)) {
    ask_tables(at);
    if ((info.capability_mask & mad::port_capability::kIsSm) != 0 && at != subnet_.self) ask_manager(at);
  }
  // An adapter passes nothing on but what it sends itself.
  const DirectedPath& path = subnet_.path_to(at);
  const bool leads_on = node.is_switch() ? at.port != 0 && at.port != node.entry : path.hops() == 0;
  if (leads_on && !port.is_down() && path.has_room()) probe(path.then(at.port), at);
}

void Discovery::ask_tables(NodePort at) {
  if (keep_tables(at)) return;
  ask_p_keys(at);
  ask_guids(at);
}

/// A port that has not been down since the last sweep has the tables that it had.
bool Discovery::keep_tables(NodePort at) {
  if (before_ == nullptr) return false;
  PhysicalPort& port = subnet_.at(at);
  const NodePort then = before_->find_port(port.guid);
  if (then.node == kNoNode || !before_->at(then).is_known || before_->at(then).p_keys.empty()) return false;
  if (port.info.port_state == mad::PortState::initialize) return false;
  port.p_keys = before_->at(then).p_keys;
  port.guids = before_->at(then).guids;
  return true;
}

void Discovery::ask_p_keys(NodePort at) {
  const std::uint16_t entries =
      std::clamp<std::uint16_t>(subnet_.at(at.node).info.partition_cap, 1, kMostPKeys);
  constexpr std::size_t kBlock = mad::PKeyTable::kBlock;
  subnet_.at(at).p_keys.assign(blocks(entries, kBlock) * kBlock, 0);
  for (std::size_t block = 0; block < blocks(entries, kBlock); ++block) {
    const auto modifier =
        mad::encode_modifier(mad::PKeyTableModifier{.block = static_cast<std::uint16_t>(block)});
    ask<mad::PKeyTable>(at, get_smp<mad::PKeyTable>(subnet_.path_to(at), modifier),
                        [this, at, block](const mad::PKeyTable& table) {
                          std::ranges::copy(table.p_keys, subnet_.at(at).p_keys.begin() +
                                                              static_cast<std::ptrdiff_t>(block * kBlock));
                        });
  }
}

void Discovery::ask_guids(NodePort at) {
  constexpr std::size_t kBlock = mad::GuidInfo::kBlock;
  const std::size_t count = blocks(subnet_.at(at).info.guid_cap, kBlock);
  subnet_.at(at).guids.assign(count * kBlock, {});
  for (std::size_t block = 0; block < count; ++block) {
    ask<mad::GuidInfo>(at, get_smp<mad::GuidInfo>(subnet_.path_to(at), static_cast<std::uint32_t>(block)),
                       [this, at, block](const mad::GuidInfo& info) {
                         std::ranges::copy(info.guids, subnet_.at(at).guids.begin() +
                                                           static_cast<std::ptrdiff_t>(block * kBlock));
                       });
  }
}

void Discovery::ask_manager(NodePort at) {
  ask<mad::SmInfo>(at, get_smp<mad::SmInfo>(subnet_.path_to(at)), [this, at](const mad::SmInfo& info) {
    // It speaks for itself alone.
    if (info.guid.value != subnet_.at(at).guid.value) return;
    subnet_.managers.push_back({at, info});
  });
}

Subnet Discovery::finish() {
  for (std::uint32_t i = 0; i < subnet_.nodes().size(); ++i) {
    Node& node = subnet_.at(NodeId(i));
    if (node.is_switch() && !node.ports[0].is_known) node.is_complete = false;
  }
  const auto carries = [this](NodePort at) {
    return subnet_.at(at.node).is_complete && subnet_.at(at).is_known && !subnet_.at(at).is_down();
  };
  for (std::uint32_t i = 0; i < subnet_.nodes().size(); ++i) {
    for (std::size_t port = 0; port < subnet_.at(NodeId(i)).ports.size(); ++port) {
      const NodePort at{NodeId(i), static_cast<std::uint8_t>(port)};
      if (subnet_.at(at).is_linked() && (!carries(at) || !carries(subnet_.at(at).peer))) subnet_.unlink(at);
    }
  }
  before_ = nullptr;
  return std::exchange(subnet_, {});
}

}  // namespace softrnic::subnet
