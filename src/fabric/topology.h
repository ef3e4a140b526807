// What a fabric consists of, before anything runs in it: nodes, their ports, and cables between ports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/expected.h"
#include "base/strong.h"
#include "fabric/link_rate.h"
#include "mad/guid.h"
#include "mad/node_info.h"
#include "wire/lid.h"

namespace softrnic::fabric {

using mad::Guid;
using mad::NodeType;

/// Place of a node in Topology::nodes().
struct NodeIndex : Strong<struct NodeIndexTag, std::uint32_t> {
  using Strong::Strong;
};

/// "channel adapter", "switch", "router"
std::string_view name_of(NodeType type);

/// A port of a node. Port 0, which only switches have, is the one that management datagrams for the switch go
/// to; it has no cable.
struct PortAddress {
  NodeIndex node;
  std::uint8_t port = 0;

  auto operator<=>(const PortAddress&) const = default;
};

struct Port {
  Guid guid;                        ///< of adapters and routers, and of port 0 of a switch
  LinkRate rate;                    ///< the most it can do
  std::uint8_t lmc = 0;             ///< 0 - 7: it answers to 2^lmc LIDs (IBTA 4.1.3); of switches at port 0
  std::optional<PortAddress> peer;  ///< the other end of its cable

  bool operator==(const Port&) const = default;
};

struct Node {
  NodeType type = NodeType::channel_adapter;
  std::string name;         ///< unique: 1 - 64 bytes, printable, none of the characters " # @
  std::string description;  ///< NodeDescription, at most 64 bytes (IBTA 14.2.5.2); empty: becomes the name
  Guid guid;                ///< NodeInfo.NodeGUID, not 0
  Guid system_image_guid;   ///< may be shared by the nodes of one enclosure; 0: none
  std::uint32_t vendor_id = 0;  ///< 24 bits
  std::uint16_t device_id = 0;
  bool enhanced_port0 = false;  ///< SwitchInfo.EnhancedPort0 (IBTA 14.2.5.4); only then port 0 has an LMC
  std::vector<Port> ports;      ///< by port number; [0] of adapters and routers is not used

  /// NodeInfo.NumPorts: port 0 does not count.
  std::size_t port_count() const { return ports.empty() ? 0 : ports.size() - 1; }
  bool operator==(const Node&) const = default;
};

/// 1 to 64 bytes without control characters, ", # and @.
bool is_node_name(std::string_view text);

/// A node with `ports` (1 - 254) ports of that rate. The port GUIDs follow the GUID of the node; a switch has
/// one for all. System image GUID and description are those of the node itself.
Node make_node(NodeType type, std::string name, unsigned ports, Guid guid, LinkRate rate);

struct Cable {
  PortAddress a;
  PortAddress b;

  bool operator==(const Cable&) const = default;
};

/// Base LIDs of ports that have one; of a switch at port 0.
using LidMap = std::unordered_map<PortAddress, wire::Lid>;

/// Nodes and cables that fit together, always: names and GUIDs are unique, a cable has two different
/// ports that exist and have no other, and all limits hold. What would break this is refused with a
/// sentence that says why, and nothing changes.
class Topology {
 public:
  static constexpr std::size_t kMaxNodePorts = 254;  ///< NodeInfo.NumPorts, 255 being "no port" in tables
  static constexpr std::size_t kMaxLids = wire::Lid::kLastUnicast - wire::Lid::kFirstUnicast + 1;
  static constexpr std::size_t kMaxPorts = 1
                                           << 20;  ///< bounds memory; a fat tree with kMaxLids has a quarter
  static constexpr std::size_t kMaxNameBytes = 64;
  static constexpr std::uint8_t kMaxLmc = 7;

  Expected<NodeIndex, std::string> add(Node node);
  Expected<void, std::string> connect(PortAddress a, PortAddress b);

  std::span<const Node> nodes() const { return nodes_; }
  std::span<const Cable> cables() const { return cables_; }                ///< in the order of connect()
  const Node& node(NodeIndex index) const { return nodes_[index.value]; }  ///< of this topology

  std::optional<NodeIndex> find(std::string_view name) const;
  /// The node that the GUID belongs to, as its own or of a port.
  std::optional<NodeIndex> find(Guid guid) const;
  /// Where people begin. Nothing: there are switches and routers alone.
  std::optional<NodeIndex> first_adapter() const;
  /// nullptr for a port that does not exist; port 0 exists on switches.
  const Port* port(PortAddress address) const;
  /// The other end of the cable; nothing when there is no cable or no such port.
  std::optional<PortAddress> peer(PortAddress address) const;
  /// What the cable of a port comes up with; nothing without a cable.
  std::optional<LinkRate> link_rate(PortAddress address) const;

  std::size_t count(NodeType type) const;
  /// All that can have a cable.
  std::size_t port_count() const { return port_count_; }
  /// LIDs that ports of adapters and routers and port 0 of switches take, 2^lmc each.
  std::size_t lid_count() const { return lid_count_; }

 private:
  std::string refusal(const Node& node) const;
  std::string identity_refusal(const Node& node) const;
  std::string guid_refusal(const Node& node) const;
  std::string end_refusal(PortAddress end) const;
  std::string label(PortAddress address) const;

  std::vector<Node> nodes_;
  std::vector<Cable> cables_;
  std::unordered_map<std::string, NodeIndex> by_name_;
  std::unordered_map<std::uint64_t, NodeIndex> by_guid_;
  std::size_t port_count_ = 0;
  std::size_t lid_count_ = 0;
};

}  // namespace softrnic::fabric

template <>
struct std::hash<softrnic::fabric::PortAddress> {
  std::size_t operator()(const softrnic::fabric::PortAddress& address) const noexcept {
    return (static_cast<std::size_t>(address.node.value) << 8) | address.port;
  }
};
