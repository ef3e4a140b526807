#include "subnet/subnet.h"

namespace softrnic::subnet {
namespace {

/// Each link once, from the port that was found first.
template <typename Visit>
void for_each_link(const Subnet& subnet, Visit&& visit) {
  subnet.for_each_port([&](NodePort at, const PhysicalPort& port) {
    if (port.is_linked() && at < port.peer) visit(at, port.peer);
  });
}

bool has_link(const Subnet& subnet, const PortName& from, const PortName& to) {
  const NodeId node = subnet.find(from.node);
  if (node == kNoNode || from.port >= subnet.at(node).ports.size()) return false;
  return subnet.name_of(subnet.at(NodePort{node, from.port}).peer) == to;
}

std::string description_text(const Node& node) { return std::string(node.description.view()); }

}  // namespace

NodeId Subnet::add(const mad::NodeInfo& info) {
  const NodeId id(static_cast<std::uint32_t>(nodes_.size()));
  Node node;
  node.info = info;
  node.ports.resize(info.num_ports + std::size_t{1});
  nodes_.push_back(std::move(node));
  by_guid_.emplace(info.node_guid, id);
  return id;
}

NodeId Subnet::find(Guid node_guid) const {
  const auto found = by_guid_.find(node_guid);
  return found == by_guid_.end() ? kNoNode : found->second;
}

NodePort Subnet::find_port(Guid port_guid) const {
  const auto found = by_port_guid_.find(port_guid);
  return found == by_port_guid_.end() ? NodePort{} : found->second;
}

bool Subnet::name_port(NodePort port, Guid port_guid) {
  const auto [found, is_new] = by_port_guid_.emplace(port_guid, port);
  if (!is_new && found->second != port) return false;
  at(port).guid = port_guid;
  return true;
}

bool Subnet::link(NodePort a, NodePort b) {
  if (a == b) return false;
  PhysicalPort& from = at(a);
  PhysicalPort& to = at(b);
  if (from.peer == b && to.peer == a) return true;
  if (from.is_linked() || to.is_linked()) return false;
  from.peer = b;
  to.peer = a;
  return true;
}

void Subnet::unlink(NodePort a) {
  const NodePort b = at(a).peer;
  if (b.node == kNoNode) return;
  at(a).peer = {};
  at(b).peer = {};
}

bool Subnet::is_end_port(NodePort port) const {
  const Node& node = at(port.node);
  return node.is_complete && at(port).is_known && (node.is_switch() ? port.port == 0 : port.port != 0);
}

std::vector<Event> changes(const Subnet& before, const Subnet& after) {
  std::vector<Event> events;
  for (const Node& node : before.nodes())
    if (after.find(node.guid()) == kNoNode)
      events.push_back(event::NodeDisappeared{node.guid(), description_text(node)});
  for (const Node& node : after.nodes())
    if (before.find(node.guid()) == kNoNode)
      events.push_back(event::NodeAppeared{node.guid(), node.info.node_type, description_text(node)});
  const auto compare = [&events](const Subnet& all, const Subnet& others, auto kind) {
    for_each_link(all, [&](NodePort a, NodePort b) {
      const PortName from = all.name_of(a);
      const PortName to = all.name_of(b);
      if (!has_link(others, from, to)) events.push_back(decltype(kind){from, to});
    });
  };
  compare(before, after, event::LinkLost{});
  compare(after, before, event::LinkAppeared{});
  return events;
}

}  // namespace softrnic::subnet
