#include "fabric/topology.h"

#include <algorithm>
#include <utility>

#include "fabric/text_error.h"

namespace softrnic::fabric {
namespace {

constexpr std::size_t kMaxDescriptionBytes = 64;  // NodeDescription
constexpr std::uint32_t kMaxVendorId = 0xffffff;

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }
bool has_control(std::string_view text) { return std::any_of(text.begin(), text.end(), is_control); }

std::string lmc_refusal(const Node& node) {
  for (std::size_t number = 0; number < node.ports.size(); ++number) {
    const std::uint8_t lmc = node.ports[number].lmc;
    if (lmc == 0) continue;
    if (lmc > Topology::kMaxLmc) return "has LMC " + std::to_string(lmc) + "; it is at most 7";
    const bool own_lid = (number == 0) == (node.type == NodeType::switch_node);
    if (!own_lid) return "has an LMC at port " + std::to_string(number) + ", which has no LID";
    if (number == 0 && !node.enhanced_port0)
      return "has an LMC at port 0; only an enhanced port 0 has one (IBTA 14.2.5.4)";
  }
  return {};
}

std::string ports_refusal(const Node& node) {
  const std::size_t count = node.port_count();
  if (count < 1 || count > Topology::kMaxNodePorts)
    return "has " + std::to_string(count) + " ports; there are 1 to 254";
  for (const Port& port : node.ports) {
    if (port.peer) return "has a cable already; connect() makes them";
  }
  return lmc_refusal(node);
}

/// GUIDs of the ports that have one, in ascending order.
std::vector<std::uint64_t> port_guids(const Node& node) {
  std::vector<std::uint64_t> guids;
  const bool is_switch = node.type == NodeType::switch_node;
  for (std::size_t number = is_switch ? 0 : 1; number < node.ports.size(); ++number) {
    guids.push_back(node.ports[number].guid.value);
    if (is_switch) break;
  }
  std::sort(guids.begin(), guids.end());
  return guids;
}

std::size_t lids_of(const Node& node) {
  if (node.type == NodeType::switch_node) return std::size_t{1} << node.ports[0].lmc;
  std::size_t lids = 0;
  for (std::size_t number = 1; number < node.ports.size(); ++number)
    lids += std::size_t{1} << node.ports[number].lmc;
  return lids;
}

}  // namespace

std::string_view name_of(NodeType type) {
  switch (type) {
    case NodeType::channel_adapter:
      return "channel adapter";
    case NodeType::switch_node:
      return "switch";
    case NodeType::router:
      return "router";
  }
  return "";
}

Node make_node(NodeType type, std::string name, unsigned ports, Guid guid, LinkRate rate) {
  Node node;
  node.type = type;
  node.name = std::move(name);
  node.guid = guid;
  node.system_image_guid = guid;
  node.ports.resize(ports + 1);
  for (unsigned number = 0; number <= ports; ++number) {
    if (number > 0) node.ports[number].rate = rate;
    if (type != NodeType::switch_node && number > 0) node.ports[number].guid = Guid(guid.value + number);
  }
  if (type == NodeType::switch_node) node.ports[0].guid = guid;
  return node;
}

bool is_node_name(std::string_view text) {
  return !text.empty() && text.size() <= Topology::kMaxNameBytes && !has_control(text) &&
         text.find_first_of("\"#@") == std::string_view::npos;
}

std::string Topology::identity_refusal(const Node& node) const {
  if (name_of(node.type).empty()) return "is of no type that there is";
  if (node.name.empty() || node.name.size() > kMaxNameBytes)
    return "has a name that is not 1 to 64 bytes long";
  if (!is_node_name(node.name)) return "has a name with a control character, or one of \" # @";
  if (by_name_.contains(node.name)) return "has the name of another node";
  if (node.description.size() > kMaxDescriptionBytes || has_control(node.description))
    return "has a description that is longer than 64 bytes or has control characters";
  if (node.vendor_id > kMaxVendorId) return "has a vendor ID of more than 24 bits";
  return {};
}

std::string Topology::guid_refusal(const Node& node) const {
  const auto taken = [this](std::uint64_t guid) {
    const auto owner = by_guid_.find(guid);
    return owner == by_guid_.end() ? std::string()
                                   : "has a GUID of " + quoted(nodes_[owner->second.value].name);
  };
  if (node.guid.value == 0) return "has the GUID 0";
  if (std::string why = taken(node.guid.value); !why.empty()) return why;
  const std::vector<std::uint64_t> guids = port_guids(node);
  if (guids.front() == 0) return "has a port with the GUID 0";
  if (std::adjacent_find(guids.begin(), guids.end()) != guids.end()) return "has two ports with one GUID";
  for (const std::uint64_t guid : guids) {
    if (std::string why = taken(guid); !why.empty()) return why;
  }
  return {};
}

std::string Topology::refusal(const Node& node) const {
  if (std::string why = identity_refusal(node); !why.empty()) return why;
  if (std::string why = ports_refusal(node); !why.empty()) return why;
  if (std::string why = guid_refusal(node); !why.empty()) return why;
  if (lid_count_ + lids_of(node) > kMaxLids)
    return "is one too many: a subnet has " + std::to_string(kMaxLids) + " LIDs";
  if (port_count_ + node.port_count() > kMaxPorts)
    return "is one too many: a fabric has at most " + std::to_string(kMaxPorts) + " ports";
  return {};
}

Expected<NodeIndex, std::string> Topology::add(Node node) {
  if (std::string why = refusal(node); !why.empty())
    return Unexpected{std::string(name_of(node.type)) + " " + quoted(node.name) + " " + why};
  const NodeIndex index(static_cast<std::uint32_t>(nodes_.size()));
  if (node.description.empty()) node.description = node.name;
  by_name_.emplace(node.name, index);
  by_guid_.emplace(node.guid.value, index);
  for (const std::uint64_t guid : port_guids(node)) by_guid_.emplace(guid, index);
  port_count_ += node.port_count();
  lid_count_ += lids_of(node);
  nodes_.push_back(std::move(node));
  return index;
}

std::string Topology::label(PortAddress address) const {
  return "port " + std::to_string(address.port) + " of " + quoted(nodes_[address.node.value].name);
}

std::string Topology::end_refusal(PortAddress end) const {
  if (end.node.value >= nodes_.size()) return "there is no such node";
  if (end.port == 0) return label(end) + " has no cable: there are ports from 1 on";
  const Port* found = port(end);
  if (!found)
    return label(end) + " does not exist: it has " + std::to_string(node(end.node).port_count()) + " ports";
  if (found->peer) return label(end) + " has a cable already, to " + label(*found->peer);
  return {};
}

Expected<void, std::string> Topology::connect(PortAddress a, PortAddress b) {
  if (std::string why = end_refusal(a); !why.empty()) return Unexpected{std::move(why)};
  if (std::string why = end_refusal(b); !why.empty()) return Unexpected{std::move(why)};
  if (a == b) return Unexpected{label(a) + " cannot have a cable to itself"};
  nodes_[a.node.value].ports[a.port].peer = b;
  nodes_[b.node.value].ports[b.port].peer = a;
  cables_.push_back({a, b});
  return {};
}

std::optional<NodeIndex> Topology::find(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

std::optional<NodeIndex> Topology::find(Guid guid) const {
  const auto found = by_guid_.find(guid.value);
  if (found == by_guid_.end()) return std::nullopt;
  return found->second;
}

std::optional<NodeIndex> Topology::first_adapter() const {
  const auto found = std::ranges::find(nodes_, NodeType::channel_adapter, &Node::type);
  if (found == nodes_.end()) return std::nullopt;
  return NodeIndex(static_cast<std::uint32_t>(found - nodes_.begin()));
}

const Port* Topology::port(PortAddress address) const {
  if (address.node.value >= nodes_.size()) return nullptr;
  const Node& owner = nodes_[address.node.value];
  if (address.port >= owner.ports.size()) return nullptr;
  if (address.port == 0 && owner.type != NodeType::switch_node) return nullptr;
  return &owner.ports[address.port];
}

std::optional<PortAddress> Topology::peer(PortAddress address) const {
  const Port* found = port(address);
  if (!found) return std::nullopt;
  return found->peer;
}

std::optional<LinkRate> Topology::link_rate(PortAddress address) const {
  const auto other = peer(address);
  if (!other) return std::nullopt;
  return lower(port(address)->rate, port(*other)->rate);
}

std::size_t Topology::count(NodeType type) const {
  return static_cast<std::size_t>(
      std::count_if(nodes_.begin(), nodes_.end(), [type](const Node& node) { return node.type == type; }));
}

}  // namespace softrnic::fabric
