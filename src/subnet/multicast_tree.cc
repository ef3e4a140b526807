#include "subnet/multicast_tree.h"

#include <algorithm>
#include <tuple>

namespace softrnic::subnet {
namespace {

bool can_join(const Graph& graph, EndPortId member) {
  return graph.is_attached(member) && graph.at(graph.at(member).attached.sw).multicast;
}

// Smaller is better.
struct RootCost {
  std::uint64_t sum = 0;
  std::uint8_t farthest = 0;
};

SwitchId choose_root(const Graph& graph, const HopMatrix& hops, std::span<const EndPortId> members) {
  std::vector<std::uint32_t> members_at(graph.switches().size());
  for (const EndPortId member : members) {
    if (can_join(graph, member)) ++members_at[graph.at(member).attached.sw.value];
  }
  SwitchId best = kNoSwitch;
  RootCost best_cost;
  for (std::uint32_t i = 0; i < graph.switches().size(); ++i) {
    if (!graph.switches()[i].multicast) continue;
    RootCost cost;
    for (std::uint32_t to = 0; to < members_at.size(); ++to) {
      if (members_at[to] == 0) continue;
      const std::uint8_t distance = hops.hops(SwitchId(i), SwitchId(to));
      cost.sum += std::uint64_t{distance} * members_at[to];
      cost.farthest = std::max(cost.farthest, distance);
    }
    const bool is_better =
        best == kNoSwitch || std::tuple(cost.sum, cost.farthest, graph.switches()[i].guid) <
                                 std::tuple(best_cost.sum, best_cost.farthest, graph.at(best).guid);
    if (!is_better) continue;
    best = SwitchId(i);
    best_cost = cost;
  }
  return best;
}

// By switch: the port that a breadth-first search came to it by; sw kNoSwitch where it did not come.
using Origins = std::vector<SwitchPort>;

// From `start` through switches that know multicast, until `is_goal`. Returns the goal, or kNoSwitch.
template <typename IsGoal>
SwitchId search(const Graph& graph, SwitchId start, Origins& origins, IsGoal&& is_goal) {
  origins.assign(graph.switches().size(), SwitchPort{});
  std::vector<SwitchId> queue{start};
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const SwitchId sw = queue[next];
    if (is_goal(sw)) return sw;
    graph.for_each_neighbour(sw, [&](std::uint8_t port, SwitchPort peer) {
      SwitchPort& origin = origins[peer.sw.value];
      if (peer.sw == start || origin.sw != kNoSwitch || !graph.at(peer.sw).multicast) return;
      origin = {sw, port};
      queue.push_back(peer.sw);
    });
  }
  return kNoSwitch;
}

}  // namespace

MulticastTree MulticastTree::build(const Graph& graph, const HopMatrix& hops,
                                   std::span<const EndPortId> members) {
  MulticastTree tree;
  const SwitchId root = choose_root(graph, hops, members);
  if (root == kNoSwitch) return tree;
  tree.nodes_[root];
  Origins origins;
  search(graph, root, origins, [](SwitchId) { return false; });
  for (const EndPortId member : members) {
    if (!can_join(graph, member)) continue;
    const SwitchId sw = graph.at(member).attached.sw;
    if (!tree.nodes_.contains(sw)) {
      if (origins[sw.value].sw == kNoSwitch) continue;
      tree.add_branch(graph, origins, sw);
    }
    tree.join(graph, member);
  }
  tree.prune(graph, root);
  return tree;
}

// From `sw` back the way the search came, to where it started or to what is in the tree already.
void MulticastTree::add_branch(const Graph& graph, std::span<const SwitchPort> origins, SwitchId sw) {
  for (;;) {
    const SwitchPort origin = origins[sw.value];
    if (origin.sw == kNoSwitch) return;
    const bool was_there = nodes_.contains(origin.sw);
    nodes_[origin.sw].mask.set(origin.port);
    nodes_[sw].mask.set(graph.at(origin).peer.port);
    if (was_there) return;
    sw = origin.sw;
  }
}

bool MulticastTree::reach(const Graph& graph, SwitchId sw) {
  if (nodes_.contains(sw)) return true;
  if (nodes_.empty()) {
    nodes_[sw];
    return true;
  }
  Origins origins;
  const SwitchId nearest = search(graph, sw, origins, [&](SwitchId at) { return nodes_.contains(at); });
  if (nearest == kNoSwitch) return false;
  add_branch(graph, origins, nearest);
  return true;
}

bool MulticastTree::join(const Graph& graph, EndPortId member, MulticastRole role) {
  if (has_member(member) || !can_join(graph, member)) return false;
  const SwitchPort attached = graph.at(member).attached;
  if (!reach(graph, attached.sw)) return false;
  Node& node = nodes_[attached.sw];
  ++node.members;
  if (role == MulticastRole::receiver) node.mask.set(attached.port);
  members_.emplace(member, attached);
  return true;
}

bool MulticastTree::leave(const Graph& graph, EndPortId member) {
  const auto found = members_.find(member);
  if (found == members_.end()) return false;
  const SwitchPort attached = found->second;
  members_.erase(found);
  Node& node = nodes_[attached.sw];
  --node.members;
  node.mask.clear(attached.port);
  prune(graph, attached.sw);
  return true;
}

// Without members, a switch's ports are those of its branches: one that has a single branch is of no use.
void MulticastTree::prune(const Graph& graph, SwitchId sw) {
  for (auto at = nodes_.find(sw); at != nodes_.end() && at->second.members == 0;) {
    const PortMask mask = at->second.mask;
    if (mask.count() > 1) return;
    const SwitchId leaf = at->first;
    nodes_.erase(at);
    if (mask.empty()) return;
    const SwitchPort peer = graph.at(SwitchPort{leaf, mask.first()}).peer;
    at = nodes_.find(peer.sw);
    if (at != nodes_.end()) at->second.mask.clear(peer.port);
  }
}

PortMask MulticastTree::mask(SwitchId sw) const {
  const auto found = nodes_.find(sw);
  return found == nodes_.end() ? PortMask{} : found->second.mask;
}

void MulticastTree::store(Lid mlid, ForwardingTables& tables) const {
  for (std::uint32_t i = 0; i < tables.switches(); ++i) {
    tables.at(SwitchId(i)).multicast.set(mlid, mask(SwitchId(i)));
  }
}

}  // namespace softrnic::subnet
