// The spanning tree of a multicast group: which switches its packets pass, and by which ports they leave
// each. A switch sends a packet by all ports of its mask but the one it came by (IBTA 18.2.4.3), so that in
// a tree every member gets it once, whoever sends it.
//
// A tree is built anew when a sweep has found something else, and grows and shrinks by branches when members
// come and go in between: what others receive is not disturbed.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "subnet/forwarding_tables.h"
#include "subnet/graph.h"
#include "subnet/hop_matrix.h"

namespace softrnic::subnet {

/// MCMemberRecord: JoinState (IBTA 15.2.5.17), as far as it matters to switches.
enum class MulticastRole : std::uint8_t {
  receiver,   ///< full or non-member: receives, and may send
  send_only,  ///< its packets come into the tree, nothing comes out to it
};

class MulticastTree {
 public:
  /// A tree for `members`, from the switch that has the smallest sum of hops to them. Of equals, the one
  /// whose farthest member is nearest, then the one with the lowest GUID. Those that are not attached, or not
  /// connected to it by switches that know multicast, are left out. `hops`: min_hops of the graph.
  static MulticastTree build(const Graph& graph, const HopMatrix& hops, std::span<const EndPortId> members);

  // The graph is the one that the tree was built for, or one with the same switches and links.

  /// By the shortest branch to the tree. False: is a member already, or left out as in build().
  bool join(const Graph& graph, EndPortId member, MulticastRole role = MulticastRole::receiver);
  /// Branches that lead to no member any more are cut. False: no member.
  bool leave(const Graph& graph, EndPortId member);

  bool has_member(EndPortId member) const { return members_.contains(member); }
  std::size_t members() const { return members_.size(); }

  /// Ports by switch, of the switches that the tree passes; port 0 is set where the switch itself is a
  /// member.
  PortMask mask(SwitchId sw) const;
  std::size_t switches() const { return nodes_.size(); }

  /// Makes this the group's entries in the tables of all switches.
  void store(Lid mlid, ForwardingTables& tables) const;

 private:
  struct Node {
    PortMask mask;
    std::uint32_t members = 0;  // attached to this switch, those included that only send
  };

  bool reach(const Graph& graph, SwitchId sw);
  void add_branch(const Graph& graph, std::span<const SwitchPort> origins, SwitchId sw);
  void prune(const Graph& graph, SwitchId sw);

  std::map<SwitchId, Node> nodes_;
  std::map<EndPortId, SwitchPort> members_;  // where they were attached when they came
};

}  // namespace softrnic::subnet
