#include "fabricd/multicast_trace.h"

#include <algorithm>

namespace softrnic::fabricd {
namespace {

using fabric::EnginePort;

class MulticastWalk {
 public:
  MulticastWalk(const FabricState& state, wire::Lid to, std::uint8_t sl)
      : state_(state), to_(to), sl_(sl), seen_(state.topology.nodes().size()) {}

  MulticastTrace from(fabric::PortAddress start) {
    open_.push_back({.node = start.node});
    if (!state_.is_switch(start.node)) open_.back().branches.push_back(branch(*state_.port(start), 0));
    while (!open_.empty()) {
      MulticastStop stop = std::move(open_.back());
      open_.pop_back();
      visit(stop);
      trace_.stops.push_back(std::move(stop));
    }
    return std::move(trace_);
  }

 private:
  MulticastBranch branch(const EnginePort& output, std::uint8_t in_port) const {
    MulticastBranch branch;
    branch.out_port = output.number;
    if (!output.is_external()) return branch;
    branch.vl = output.map_vl(in_port, sl_);
    if (output.peer != nullptr) branch.peer = state_.address_of(*output.peer);
    branch.is_up = output.link != nullptr && output.link->up;
    return branch;
  }

  void visit(MulticastStop& stop) {
    const bool is_switch = state_.is_switch(stop.node);
    stop.comes_again = seen_[stop.node.value] && is_switch;
    seen_[stop.node.value] = true;
    if (stop.comes_again) return;
    if (is_switch) copy(stop);
    if (!is_switch) stop.is_member = stop.in_port != 0;
    for (auto branch = stop.branches.rbegin(); branch != stop.branches.rend(); ++branch)
      if (branch->peer && branch->is_up && branch->vl)
        open_.push_back({.node = branch->peer->node, .in_port = branch->peer->port, .links = stop.links + 1});
  }

  void copy(MulticastStop& stop) const {
    const fabric::EngineNode& node = state_.node(stop.node);
    const fabric::PortMask ports = node.forwarding.multicast(to_, stop.in_port);
    for (std::size_t number = 0; number < node.ports.size(); ++number) {
      if (!ports[number]) continue;
      stop.branches.push_back(branch(*node.ports[number], stop.in_port));
      stop.is_member |= number == 0;
    }
  }

  const FabricState& state_;
  wire::Lid to_;
  std::uint8_t sl_;
  std::vector<bool> seen_;
  std::vector<MulticastStop> open_;
  MulticastTrace trace_;
};

}  // namespace

bool MulticastTrace::has_loop() const { return std::ranges::any_of(stops, &MulticastStop::comes_again); }

std::size_t MulticastTrace::members() const {
  return static_cast<std::size_t>(std::ranges::count_if(stops, &MulticastStop::is_member));
}

MulticastTrace trace_multicast(const FabricState& state, fabric::PortAddress from, wire::Lid to,
                               std::uint8_t sl) {
  return MulticastWalk(state, to, sl).from(from);
}

}  // namespace softrnic::fabricd
