// What PortState and PortPhysicalState of a SubnSet(PortInfo) ask of a port (IBTA 7.2.7, 14.2.5.6).
#pragma once

#include <cstdint>
#include <optional>

#include "fabric/managed_node.h"
#include "mad/port_info.h"

namespace softrnic::fabric {

class Engine;

enum class PortStateCommand : std::uint8_t {
  none,
  retrain,  ///< down, and up again as the cable allows
  poll,     ///< the same, where it was disabled too
  sleep,    ///< likewise: it wakes when the other end polls
  disable,
  arm,
  activate,
};

/// Of the state `current`; nothing: they may not be asked together, or not in this state.
std::optional<PortStateCommand> command_of(mad::PortState current, mad::PortState state,
                                           mad::PortPhysicalState physical_state);

/// Does it. The engine tells its sink of the changes meanwhile.
void execute(PortStateCommand command, Engine& engine, ManagedPort& port);

/// Reads both states of a port with a cable from the engine.
void read_port_state(const Engine& engine, ManagedPort& port);

}  // namespace softrnic::fabric
