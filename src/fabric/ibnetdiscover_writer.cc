#include <algorithm>
#include <vector>

#include "fabric/hex.h"
#include "fabric/ibnetdiscover_format.h"

namespace softrnic::fabric {
namespace {

/// The nodes that directed routes from a port lead to, in the order of discovery. A route goes on through
/// switches alone, and from the first node through the port it began at (IBTA 14.2.2).
class Discovery {
 public:
  Discovery(const Topology& topology, PortAddress from)
      : topology_(topology), from_(from), found_(topology.nodes().size()) {
    if (!topology.port(from)) return;
    find(from.node);
    for (std::size_t next = 0; next < order_.size(); ++next) {
      const NodeIndex index = order_[next];
      for (std::size_t port = 1; port < topology.node(index).ports.size(); ++port)
        look_through({index, static_cast<std::uint8_t>(port)});
    }
  }

  const std::vector<NodeIndex>& order() const { return order_; }

  /// Whether the cable of a port, which has one, was seen from one of its ends.
  bool sees_cable(PortAddress end) const {
    const PortAddress other = *topology_.peer(end);
    return (found_[end.node.value] && looks_through(end)) ||
           (found_[other.node.value] && looks_through(other));
  }

 private:
  bool looks_through(PortAddress port) const {
    return port == from_ || topology_.node(port.node).type == NodeType::switch_node;
  }

  void look_through(PortAddress port) {
    const auto peer = topology_.peer(port);
    if (peer && looks_through(port)) find(peer->node);
  }

  void find(NodeIndex node) {
    if (found_[node.value]) return;
    found_[node.value] = true;
    order_.push_back(node);
  }

  const Topology& topology_;
  PortAddress from_;
  std::vector<bool> found_;
  std::vector<NodeIndex> order_;
};

class IbnetdiscoverWriter {
 public:
  IbnetdiscoverWriter(const Topology& topology, const LidMap& lids, PortAddress from)
      : topology_(topology), lids_(lids), from_(from), discovery_(topology, from) {}

  std::string write(std::string_view date) {
    const Port* port = topology_.port(from_);
    if (!port) return {};
    const Node& node = topology_.node(from_.node);
    const Guid port_guid = node.type == NodeType::switch_node ? node.ports[0].guid : port->guid;
    out_ = "#\n# Topology file: generated on " + std::string(date) + "\n#\n# Initiated from node " +
           hex16(node.guid.value) + " port " + hex16(port_guid.value) + "\n";
    for (const NodeType type : {NodeType::switch_node, NodeType::channel_adapter, NodeType::router})
      write_nodes(type);
    return std::move(out_);
  }

 private:
  void write_nodes(NodeType type) {
    const std::vector<NodeIndex>& order = discovery_.order();
    for (auto index = order.rbegin(); index != order.rend(); ++index) {
      const Node& node = topology_.node(*index);
      if (node.type != type) continue;
      write_ids(node);
      write_header(node, *index);
      for (std::size_t number = 1; number < node.ports.size(); ++number)
        write_port({*index, static_cast<std::uint8_t>(number)});
    }
  }

  void write_ids(const Node& node) {
    out_ += "\nvendid=0x" + hex(node.vendor_id) + "\ndevid=0x" + hex(node.device_id) + "\n";
    if (node.system_image_guid.value != 0) out_ += "sysimgguid=0x" + hex(node.system_image_guid.value) + "\n";
    const std::string guid = "guid=0x" + hex(node.guid.value);
    if (node.type == NodeType::switch_node)
      out_ += "switch" + guid + "(" + hex(node.ports[0].guid.value) + ")\n";
    else
      out_ += (node.type == NodeType::router ? "rt" : "ca") + guid + "\n";
  }

  void write_header(const Node& node, NodeIndex index) {
    const bool is_switch = node.type == NodeType::switch_node;
    out_ += is_switch ? "Switch" : node.type == NodeType::router ? "Rt" : "Ca";
    out_ += "\t" + std::to_string(node.port_count()) + " " + id(node) + "\t\t# " + description(node);
    if (is_switch)
      out_ += std::string(node.enhanced_port0 ? " enhanced" : " base") + " port 0 " + lid_of({index, 0}) +
              " lmc " + std::to_string(node.ports[0].lmc);
    out_ += "\n";
  }

  void write_port(PortAddress address) {
    const Node& node = topology_.node(address.node);
    const Port& port = node.ports[address.port];
    if (!port.peer || !discovery_.sees_cable(address)) return;
    const Node& peer = topology_.node(port.peer->node);
    const bool is_switch = node.type == NodeType::switch_node,
               peer_is_switch = peer.type == NodeType::switch_node;
    const std::string peer_guid = "(" + hex(peer.ports[port.peer->port].guid.value) + ") ";
    out_ += "[" + std::to_string(address.port) + "]";
    if (!is_switch) out_ += "(" + hex(port.guid.value) + ") ";
    out_ += "\t" + id(peer) + "[" + std::to_string(port.peer->port) + "]";
    if (!peer_is_switch) out_ += (is_switch ? "" : " ") + peer_guid;
    out_ += "\t\t# ";
    if (!is_switch) out_ += lid_of(address) + " lmc " + std::to_string(port.lmc) + " ";
    out_ += description(peer) + " " +
            lid_of({port.peer->node, peer_is_switch ? std::uint8_t{0} : port.peer->port}) + " " +
            to_string(*topology_.link_rate(address)) + "\n";
  }

  static std::string id(const Node& node) { return "\"" + to_string(TypedGuid{node.type, node.guid}) + "\""; }

  /// By isprint() in the C locale; the tool prints a blank instead.
  static bool is_not_printable(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte >= 0x7f;
  }
  static std::string description(const Node& node) {
    std::string text = node.description;
    std::replace_if(text.begin(), text.end(), is_not_printable, ' ');
    return "\"" + text + "\"";
  }

  std::string lid_of(PortAddress address) const {
    const auto found = lids_.find(address);
    return "lid " + std::to_string(found == lids_.end() ? 0 : found->second.value);
  }

  const Topology& topology_;
  const LidMap& lids_;
  PortAddress from_;
  Discovery discovery_;
  std::string out_;
};

}  // namespace

std::string write_ibnetdiscover(const Topology& topology, const LidMap& lids, PortAddress from,
                                std::string_view date) {
  return IbnetdiscoverWriter(topology, lids, from).write(date);
}

}  // namespace softrnic::fabric
