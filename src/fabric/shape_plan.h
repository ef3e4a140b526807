// A fabric being drawn: which nodes there are and which are joined. Port numbers follow from the order of the
// cables: a node's first cable is at port 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/expected.h"
#include "fabric/link_rate.h"
#include "fabric/topology.h"

namespace softrnic::fabric {

class ShapePlan {
 public:
  /// Whether a fabric can have so many nodes, hosts with one port; a sentence if not. Asked before the
  /// drawing begins, for what was asked for may be of any size.
  static std::string refusal(std::uint64_t switches, std::uint64_t hosts);

  std::size_t add_switch(std::string name) { return add(NodeType::switch_node, std::move(name)); }
  /// "host1", "host2", …
  std::size_t add_host() { return add(NodeType::channel_adapter, "host" + std::to_string(++hosts_)); }
  /// So many hosts, each with a cable to `node`.
  void add_hosts(std::size_t node, std::uint32_t count);
  void cable(std::size_t a, std::size_t b);

  /// All ports have that rate; all switches have `ports` ports or, without it, as many as the busiest one
  /// needs.
  Expected<Topology, std::string> build(std::optional<std::uint32_t> ports, LinkRate rate) const;

 private:
  struct PlannedNode {
    NodeType type;
    std::string name;
    std::uint32_t degree = 0;
  };
  std::size_t add(NodeType type, std::string name);
  Expected<std::uint32_t, std::string> switch_ports(std::optional<std::uint32_t> wanted) const;

  std::vector<PlannedNode> nodes_;
  std::vector<std::pair<std::size_t, std::size_t>> cables_;
  std::size_t hosts_ = 0;
};

}  // namespace softrnic::fabric
