#include "fabricd/path_trace.h"

#include <algorithm>
#include <array>

namespace softrnic::fabricd {
namespace {

using fabric::EngineNode;
using fabric::EnginePort;

constexpr std::array<std::string_view, 8> kEndNames = {
    "reached",   "no entry",   "no such port",    "no cable",
    "link down", "turns back", "forwarding loop", "wrong port",
};

/// What follows a hop whose out_port is set: its end, or nothing and the port where the packet comes in next.
struct Onward {
  std::optional<PathEnd> end;
  const EnginePort* next = nullptr;
};

Onward cross_cable(const FabricState& state, const EnginePort& output, PathHop& hop, std::uint8_t sl) {
  hop.vl = output.map_vl(hop.in_port, sl);
  if (output.peer == nullptr) return {PathEnd::no_cable};
  hop.peer = state.address_of(*output.peer);
  if (!output.link->up) return {PathEnd::link_down};
  return {std::nullopt, output.peer};
}

/// A switch, port 0 included, where the packet has come in by `hop.in_port`.
Onward cross_switch(const FabricState& state, const EngineNode& node, wire::Lid to, PathHop& hop,
                    std::uint8_t sl) {
  hop.out_port = node.forwarding.unicast(to);
  if (hop.out_port == fabric::ForwardingTables::kNoPort) return {PathEnd::no_entry};
  const EnginePort* const output = node.port(hop.out_port);
  if (output == nullptr) return {PathEnd::no_such_port};
  if (!output->is_external()) {
    const fabric::ManagedPort* const zero = state.agents.port(output->id);
    return {zero != nullptr && zero->owns(to) ? PathEnd::reached : PathEnd::wrong_port};
  }
  if (hop.out_port == hop.in_port) return {PathEnd::turns_back};
  return cross_cable(state, *output, hop, sl);
}

/// An adapter without a LID takes all (Engine::bid_in_adapter).
PathEnd arrive(const EnginePort& port, wire::Lid to) {
  const bool takes = port.attributes.lid.is_reserved() || port.owns(to);
  return takes ? PathEnd::reached : PathEnd::wrong_port;
}

class UnicastWalk {
 public:
  UnicastWalk(const FabricState& state, wire::Lid to, std::uint8_t sl)
      : state_(state), to_(to), sl_(sl), seen_(state.topology.nodes().size()) {}

  PathTrace from(fabric::PortAddress start) {
    const EnginePort* const port = state_.port(start);
    const bool is_switch = state_.is_switch(start.node);
    if (!is_switch && port->owns(to_)) return std::move(trace_);
    PathHop first{.node = start.node, .out_port = start.port};
    go_on(is_switch ? enter_switch(first) : leave_adapter(*port, first));
    return std::move(trace_);
  }

 private:
  Onward leave_adapter(const EnginePort& port, PathHop hop) {
    const Onward onward = cross_cable(state_, port, hop, sl_);
    trace_.hops.push_back(hop);
    return onward;
  }

  Onward enter_switch(PathHop hop) {
    if (seen_[hop.node.value]) return {PathEnd::loop};
    seen_[hop.node.value] = true;
    const Onward onward = cross_switch(state_, state_.node(hop.node), to_, hop, sl_);
    const bool ends_here = onward.end == PathEnd::reached || onward.end == PathEnd::wrong_port;
    if (!ends_here) trace_.hops.push_back(hop);
    return onward;
  }

  void go_on(Onward onward) {
    while (!onward.end) {
      const fabric::PortAddress at = state_.address_of(*onward.next);
      const PathHop hop{.node = at.node, .in_port = at.port};
      onward = state_.is_switch(at.node) ? enter_switch(hop) : Onward{arrive(*onward.next, to_)};
    }
    trace_.end = *onward.end;
  }

  const FabricState& state_;
  wire::Lid to_;
  std::uint8_t sl_;
  std::vector<bool> seen_;  ///< switches
  PathTrace trace_;
};

}  // namespace

std::string_view name_of(PathEnd end) { return kEndNames[static_cast<std::size_t>(end)]; }

bool PathTrace::carries_data() const {
  return end == PathEnd::reached &&
         std::ranges::all_of(hops, [](const PathHop& hop) { return hop.vl.has_value(); });
}

PathTrace trace_path(const FabricState& state, fabric::PortAddress from, wire::Lid to, std::uint8_t sl) {
  return UnicastWalk(state, to, sl).from(from);
}

}  // namespace softrnic::fabricd
