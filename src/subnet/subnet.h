// A subnet as a sweep found it: nodes, their ports, what each said of itself, and which ports are cabled
// together. What a port was set to since then is kept up here too, so that the next comparison is with what
// is so.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/strong.h"
#include "mad/guid.h"
#include "mad/node_info.h"
#include "mad/port_info.h"
#include "mad/sm_info.h"
#include "mad/switch_info.h"
#include "subnet/directed_path.h"
#include "subnet/events.h"
#include "subnet/graph.h"

namespace softrnic::subnet {

/// A place in Subnet::nodes().
struct NodeId : Strong<struct NodeIdTag, std::uint32_t> {
  using Strong::Strong;
};
inline constexpr NodeId kNoNode{~0U};

struct NodePort {
  NodeId node = kNoNode;
  std::uint8_t port = 0;

  auto operator<=>(const NodePort&) const = default;
};

struct PhysicalPort {
  bool is_known = false;  ///< has told its PortInfo
  mad::PortInfo info;
  NodePort peer;                      ///< node kNoNode: nothing known
  DirectedPath path;                  ///< of channel adapters and routers: to this port
  Guid guid;                          ///< of end ports, zero of others
  std::vector<std::uint16_t> p_keys;  ///< of end ports: the table as it is, in whole blocks
  std::vector<mad::Guid> guids;       ///< of end ports: the GUID table as it is

  bool is_linked() const { return peer.node != kNoNode; }
  bool is_down() const {
    return info.port_state < mad::PortState::initialize || info.port_state > mad::PortState::active;
  }
};

struct Node {
  mad::NodeInfo info;
  mad::NodeDescription description;
  mad::SwitchInfo switch_info;      ///< of switches
  bool is_complete = false;         ///< has told all that there must be to manage it
  DirectedPath path;                ///< to the port that it was found by first
  std::uint8_t entry = 0;           ///< that port
  std::vector<PhysicalPort> ports;  ///< by number; of those of an adapter that were not found, not known

  Guid guid() const { return info.node_guid; }
  bool is_switch() const { return info.node_type == mad::NodeType::switch_node; }
};

/// Another subnet manager.
struct RemoteManager {
  NodePort port;
  mad::SmInfo info;
};

class Subnet {
 public:
  std::span<const Node> nodes() const { return nodes_; }
  const Node& at(NodeId id) const { return nodes_[id.value]; }
  Node& at(NodeId id) { return nodes_[id.value]; }
  const PhysicalPort& at(NodePort port) const { return at(port.node).ports[port.port]; }
  PhysicalPort& at(NodePort port) { return at(port.node).ports[port.port]; }

  /// The GUID is new. Has all ports that `info` tells of, none known yet.
  NodeId add(const mad::NodeInfo& info);
  /// kNoNode when there is none.
  NodeId find(Guid node_guid) const;
  /// The end port of that GUID; node kNoNode when there is none.
  NodePort find_port(Guid port_guid) const;
  /// False: another end port has the GUID.
  bool name_port(NodePort port, Guid port_guid);

  /// False: one of them is cabled to another port, or both are one port.
  bool link(NodePort a, NodePort b);
  void unlink(NodePort a);

  /// An SMP to this port takes this route: that of the node, if it is a switch.
  const DirectedPath& path_to(NodePort port) const {
    return at(port.node).is_switch() ? at(port.node).path : at(port).path;
  }
  /// The port that has the node's M_Key, capabilities and, of switches, LID.
  NodePort management_port(NodePort port) const {
    return at(port.node).is_switch() ? NodePort{port.node, 0} : port;
  }
  /// Whether packets can be sent to the port: it is known, and one of an adapter, a router, or port 0.
  bool is_end_port(NodePort port) const;

  PortName name_of(NodePort port) const {
    return port.node == kNoNode ? PortName{} : PortName{at(port.node).guid(), port.port};
  }

  /// Calls `visit(NodePort, PhysicalPort)` for every port that is known of every complete node.
  template <typename Visit>
  void for_each_port(Visit&& visit) const {
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i].is_complete) continue;
      for (std::size_t port = 0; port < nodes_[i].ports.size(); ++port) {
        const PhysicalPort& physical = nodes_[i].ports[port];
        if (physical.is_known) visit(NodePort{NodeId(i), static_cast<std::uint8_t>(port)}, physical);
      }
    }
  }

  NodePort self;                        ///< the port that the sweep began at
  std::vector<RemoteManager> managers;  ///< others than this one
  bool all_answered = true;

 private:
  std::vector<Node> nodes_;
  std::unordered_map<Guid, NodeId> by_guid_;
  std::unordered_map<Guid, NodePort> by_port_guid_;
};

/// What appeared and what is gone from one sweep to the next.
std::vector<Event> changes(const Subnet& before, const Subnet& after);

}  // namespace softrnic::subnet
