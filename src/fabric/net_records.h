// What a net file says of nodes, as records that still name each other by text, and the topology they make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "fabric/net_line.h"
#include "fabric/text_error.h"
#include "fabric/topology.h"

namespace softrnic::fabric {

struct PortRecord {
  std::size_t line = 0;
  std::uint8_t port = 0;
  std::optional<Guid> guid;
  std::string peer;  ///< ID of a node; empty: no cable is described here
  std::uint8_t peer_port = 1;
  std::optional<Guid> peer_guid;
  bool one_sided = false;  ///< the peer does not describe the cable too
  LinkRate rate;
  std::uint8_t lmc = 0;
  wire::Lid lid;
};

struct NodeRecord {
  std::size_t line = 0;
  std::string id;
  NodeType type = NodeType::channel_adapter;
  std::uint8_t port_count = 0;
  std::string name;
  std::string description;
  Guid guid;
  Guid port0_guid;  ///< of switches
  Guid system_image_guid;
  std::uint32_t vendor_id = 0;
  std::uint16_t device_id = 0;
  bool enhanced_port0 = false;
  std::uint8_t lmc = 0;
  wire::Lid lid;
  LinkRate rate;  ///< of ports that have no record
  std::vector<PortRecord> ports;
};

/// What the two kinds of lines tell by themselves; the reader adds what only it knows (GUIDs, names, rates).
NodeRecord node_record(const NodeLine& line, std::size_t number);
PortRecord port_record(const PortLine& line, std::size_t number);

/// Whether both say the same, wherever they stand. Ports in ascending order.
bool same_content(const NodeRecord& a, const NodeRecord& b);

/// Puts the ports into ascending order; refuses two records of one port, and a port beyond the last.
Expected<void, TextError> close_record(NodeRecord& record);

/// Where port GUIDs begin that no text tells and that would clash with one it tells; "local" by EUI-64's bit.
inline constexpr std::uint64_t kFirstSpareGuid = 0x02ff'0000'0000'0000;

/// The nodes in the order of the records, which are closed and not empty of GUIDs of nodes; the cables in
/// the order of their first description. Every cable has to be described at both ends, and alike. A port
/// GUID that nobody tells is that of the node plus the number of the port or, when that is taken, some
/// free one.
Expected<Topology, TextError> assemble(std::vector<NodeRecord> records);

}  // namespace softrnic::fabric
