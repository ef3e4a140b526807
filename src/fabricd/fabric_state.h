// What those who look at a fabric read: its topology, engine and firmware, and how the three belong together.
#pragma once

#include <string>
#include <string_view>

#include "base/expected.h"
#include "fabric/engine.h"
#include "fabric/node_agents.h"
#include "fabric/topology.h"
#include "fabric/wiring.h"

namespace softrnic::fabricd {

struct FabricState {
  const fabric::Topology& topology;
  const fabric::Engine& engine;
  const fabric::NodeAgents& agents;
  const fabric::Wiring& wiring;

  /// nullptr: there is no such port.
  const fabric::EnginePort* port(fabric::PortAddress address) const;
  /// nullptr: there is no such port.
  const fabric::ManagedPort* managed(fabric::PortAddress address) const;
  const fabric::EngineNode& node(fabric::NodeIndex index) const;
  /// Of a port with a cable, or of port 0 of a switch.
  fabric::PortAddress address_of(const fabric::EnginePort& port) const;
  bool is_switch(fabric::NodeIndex index) const { return node(index).is_switch(); }
};

/// A port that packets begin or end at: port 0 of a switch, or a port of an adapter.
struct Endport {
  fabric::PortAddress address;
  wire::Lid lid;  ///< the one that was named, or else its base LID; 0: it has none
};

/// By what people call it: the name of a node, NAME/PORT, a LID, or a GUID of 64 bits in hex. Of an adapter
/// without a port the first that has a cable. Otherwise a sentence.
Expected<Endport, std::string> find_endport(const FabricState& state, std::string_view text);

/// A LID in decimal or, after 0x, in hex; 0: it is none.
wire::Lid parse_lid(std::string_view text);

}  // namespace softrnic::fabricd
