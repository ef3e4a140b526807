// A switch or an adapter: its ports, and a switch's tables.
#pragma once

#include <vector>

#include "fabric/engine_port.h"
#include "fabric/forwarding.h"
#include "fabric/types.h"

namespace softrnic::fabric {

enum class NodeKind : std::uint8_t { switch_node, adapter };

struct EngineNode {
  NodeKind kind = NodeKind::adapter;
  /// By number. Of a switch, the one at 0 is internal; an adapter has nothing there.
  std::vector<EnginePort*> ports;
  ForwardingTables forwarding;          ///< of a switch
  Duration lifetime = Duration::max();  ///< of a packet in a switch: SwitchInfo LifeTimeValue

  bool is_switch() const { return kind == NodeKind::switch_node; }
  EnginePort* port(std::uint8_t number) const { return number < ports.size() ? ports[number] : nullptr; }
};

}  // namespace softrnic::fabric
