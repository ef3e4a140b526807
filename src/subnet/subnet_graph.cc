#include "subnet/subnet_graph.h"

#include <algorithm>

#include "subnet/discovery.h"

namespace softrnic::subnet {
namespace {

constexpr std::uint32_t kMbpsOfDataRate = 100;

std::uint16_t partition_cap(const Node& node) {
  return std::clamp<std::uint16_t>(node.info.partition_cap, 1, kMostPKeys);
}

Switch switch_description_of(const Node& node) {
  Switch sw;
  sw.guid = node.guid();
  sw.port_guid = node.info.port_guid;
  sw.system_image = node.info.system_image_guid;
  sw.ports = node.info.num_ports;
  sw.multicast = node.switch_info.multicast_fdb_cap != 0;
  sw.enhanced_port0 = node.switch_info.enhanced_port0;
  sw.partition_cap = partition_cap(node);
  return sw;
}

EndPort end_port_of(const Node& node, NodePort at, const PhysicalPort& port) {
  EndPort end_port;
  end_port.guid = port.guid;
  end_port.node = node.guid();
  end_port.system_image = node.info.system_image_guid;
  end_port.type = node.info.node_type;
  end_port.number = at.port;
  end_port.partition_cap = partition_cap(node);
  return end_port;
}

Link link_of(const mad::PortInfo& info) {
  return {mad::data_rate(rate_of(info)) * kMbpsOfDataRate, info.port_state};
}

void add_nodes(const Subnet& subnet, SubnetGraph& out) {
  out.switches.assign(subnet.nodes().size(), kNoSwitch);
  subnet.for_each_port([&](NodePort at, const PhysicalPort& port) {
    if (!subnet.is_end_port(at)) return;
    const Node& node = subnet.at(at.node);
    if (!node.is_switch()) {
      if (out.graph.add_end_port(end_port_of(node, at, port))) out.end_ports.push_back(at);
    } else if (const auto added = out.graph.add_switch(switch_description_of(node)); added) {
      out.switches[at.node.value] = *added;
      out.nodes.push_back(at.node);
      out.end_ports.push_back(at);
    }
  });
}

/// What a graph refuses was refused by the sweep already, but for two links to one adapter's port.
void add_links(const Subnet& subnet, SubnetGraph& out) {
  subnet.for_each_port([&](NodePort at, const PhysicalPort& port) {
    const SwitchId sw = out.switch_of(at.node);
    if (sw == kNoSwitch || !port.is_linked()) return;
    const SwitchId peer = out.switch_of(port.peer.node);
    if (peer == kNoSwitch) {
      const EndPortId end_port = out.end_port_of(subnet, port.peer);
      if (end_port != kNoEndPort) (void)out.graph.connect({sw, at.port}, end_port, link_of(port.info));
    } else if (at < port.peer) {
      (void)out.graph.connect({sw, at.port}, SwitchPort{peer, port.peer.port}, link_of(port.info));
    }
  });
}

}  // namespace

mad::Rate rate_of(const mad::PortInfo& info) {
  return mad::link_rate(info.link_width_active, info.link_speed_active, info.link_speed_ext_active);
}

SubnetGraph make_graph(const Subnet& subnet) {
  SubnetGraph made;
  add_nodes(subnet, made);
  add_links(subnet, made);
  for (std::uint32_t i = 0; i < made.end_ports.size(); ++i) {
    const mad::PortInfo& info = subnet.at(made.end_ports[i]).info;
    (void)made.graph.set_lids(EndPortId(i), info.lid, info.lmc);
  }
  return made;
}

}  // namespace softrnic::subnet
