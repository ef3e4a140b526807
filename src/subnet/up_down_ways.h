// The ways from each switch to each other on which no packet goes up again once it went down, in whatever
// order says what is up. Routing engines differ in that order, and in which of several ports they take.
//
// As tables know a packet's destination only, not where it came from, a switch that has a way which only goes
// down takes that, even if another is shorter; only then may all that is above it rely on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "subnet/graph.h"
#include "subnet/hop_matrix.h"

namespace softrnic::subnet {

/// Switches from the top down: each is above all that follow.
struct UpDownOrder {
  std::vector<SwitchId> from_top;
  std::vector<std::uint32_t> place;  ///< by switch: where it is in from_top

  explicit UpDownOrder(std::vector<SwitchId> switches_from_top);
  bool is_up(SwitchId from, SwitchId to) const { return place[to.value] < place[from.value]; }
};

class UpDownWays {
 public:
  /// Finds all ways. `hops` becomes the links that they pass; the ports looked at are added to `steps`. All
  /// that is given outlives the object.
  UpDownWays(const Graph& graph, const UpDownOrder& order, HopMatrix& hops, std::uint64_t& steps);

  /// Lets switches that have no way to `to` go on to any that has one, by the fewest links. Such ways go up
  /// after down.
  void find_anywhere(SwitchId to);

  /// Appends the ports of `from` that lead on towards `to`, another switch, in order.
  void next_ports(SwitchId from, SwitchId to, std::vector<std::uint8_t>& ports) const;

 private:
  /// How a switch goes on towards another.
  enum class Way : std::uint8_t {
    none,
    down,  ///< down only
    up,    ///< up first
    anywhere,
  };

  void find_down(SwitchId to);
  void find_up(SwitchId to);
  bool may_follow(Way way, SwitchId from, SwitchId next, SwitchId to) const;
  template <typename Visit>
  void for_each_neighbour(SwitchId sw, Visit&& visit);

  Way at(SwitchId from, SwitchId to) const { return ways_[to.value * switches_ + from.value]; }
  void set(SwitchId from, SwitchId to, int hops, Way way) {
    ways_[to.value * switches_ + from.value] = way;
    hops_.to(to)[from.value] = static_cast<std::uint8_t>(hops);
  }

  const Graph& graph_;
  const UpDownOrder& order_;
  HopMatrix& hops_;
  std::uint64_t& steps_;
  std::size_t switches_;
  std::vector<Way> ways_;  // by destination and switch
  std::vector<SwitchId> queue_;
};

}  // namespace softrnic::subnet
