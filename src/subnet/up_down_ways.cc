#include "subnet/up_down_ways.h"

#include <algorithm>
#include <span>
#include <utility>

namespace softrnic::subnet {

UpDownOrder::UpDownOrder(std::vector<SwitchId> switches_from_top)
    : from_top(std::move(switches_from_top)), place(from_top.size()) {
  for (std::uint32_t i = 0; i < from_top.size(); ++i) place[from_top[i].value] = i;
}

UpDownWays::UpDownWays(const Graph& graph, const UpDownOrder& order, HopMatrix& hops, std::uint64_t& steps)
    : graph_(graph),
      order_(order),
      hops_(hops),
      steps_(steps),
      switches_(graph.switches().size()),
      ways_(switches_ * switches_, Way::none) {
  hops_ = HopMatrix(switches_);
  for (std::uint32_t to = 0; to < switches_; ++to) {
    find_down(SwitchId(to));
    find_up(SwitchId(to));
  }
}

template <typename Visit>
void UpDownWays::for_each_neighbour(SwitchId sw, Visit&& visit) {
  steps_ += graph_.at(sw).ports;
  graph_.for_each_neighbour(sw, [&](std::uint8_t, SwitchPort peer) { visit(peer.sw); });
}

// Breadth first against the direction of packets, upwards only: every step of theirs goes down.
void UpDownWays::find_down(SwitchId to) {
  set(to, to, 0, Way::down);
  queue_.assign(1, to);
  for (std::size_t next = 0; next < queue_.size(); ++next) {
    const SwitchId sw = queue_[next];
    const int farther = hops_.hops(sw, to) + 1;
    if (farther == kUnreachable) continue;
    for_each_neighbour(sw, [&](SwitchId peer) {
      if (!order_.is_up(sw, peer) || at(peer, to) != Way::none) return;
      set(peer, to, farther, Way::down);
      queue_.push_back(peer);
    });
  }
}

// From the top, so that what is above a switch is known when its turn comes.
void UpDownWays::find_up(SwitchId to) {
  for (const SwitchId sw : order_.from_top) {
    if (at(sw, to) != Way::none) continue;
    int nearest = kUnreachable;
    for_each_neighbour(sw, [&](SwitchId peer) {
      if (order_.is_up(sw, peer)) nearest = std::min<int>(nearest, hops_.hops(peer, to));
    });
    if (nearest + 1 < kUnreachable) set(sw, to, nearest + 1, Way::up);
  }
}

void UpDownWays::find_anywhere(SwitchId to) {
  const std::span<const std::uint8_t> hops = std::as_const(hops_).to(to);
  for (int level = 0; level + 1 < kUnreachable; ++level) {
    for (std::uint32_t i = 0; i < switches_; ++i) {
      if (hops[i] != level) continue;
      for_each_neighbour(SwitchId(i), [&](SwitchId peer) {
        if (hops[peer.value] == kUnreachable) set(peer, to, level + 1, Way::anywhere);
      });
    }
  }
}

void UpDownWays::next_ports(SwitchId from, SwitchId to, std::vector<std::uint8_t>& ports) const {
  const Way way = at(from, to);
  if (way == Way::none) return;
  const int hops = hops_.hops(from, to);
  graph_.for_each_neighbour(from, [&](std::uint8_t port, SwitchPort peer) {
    if (hops_.hops(peer.sw, to) + 1 == hops && may_follow(way, from, peer.sw, to)) ports.push_back(port);
  });
}

bool UpDownWays::may_follow(Way way, SwitchId from, SwitchId next, SwitchId to) const {
  switch (way) {
    case Way::down:
      return !order_.is_up(from, next) && at(next, to) == Way::down;
    case Way::up:
      return order_.is_up(from, next);
    case Way::anywhere:
      return true;
    case Way::none:
      break;
  }
  return false;
}

}  // namespace softrnic::subnet
