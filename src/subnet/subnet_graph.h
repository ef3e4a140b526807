// The graph that routing works on, made of a subnet that was found, and which is which in the two.
#pragma once

#include <cstdint>
#include <vector>

#include "subnet/graph.h"
#include "subnet/subnet.h"

namespace softrnic::subnet {

struct SubnetGraph {
  Graph graph;
  std::vector<NodeId> nodes;        ///< by SwitchId
  std::vector<NodePort> end_ports;  ///< by EndPortId
  std::vector<SwitchId> switches;   ///< by NodeId; kNoSwitch of other nodes

  SwitchId switch_of(NodeId node) const { return switches[node.value]; }
  NodeId node_of(SwitchId sw) const { return nodes[sw.value]; }
  /// kNoEndPort if the port is none.
  EndPortId end_port_of(const Subnet& subnet, NodePort port) const {
    return graph.find_end_port(subnet.at(port).guid);
  }
  NodePort port_of(EndPortId id) const { return end_ports[id.value]; }
};

/// With the LIDs that ports have, as far as they are legal. Two adapters that are cabled together without a
/// switch are end ports that are not attached.
SubnetGraph make_graph(const Subnet& subnet);

/// Rate of the link at that port; Rate::none if it is not known.
mad::Rate rate_of(const mad::PortInfo& info);

}  // namespace softrnic::subnet
