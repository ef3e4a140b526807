#include "fabric/port_state_command.h"

#include <array>

#include "fabric/engine.h"

namespace softrnic::fabric {
namespace {

using Command = PortStateCommand;

/// By the physical state that is asked for.
constexpr std::array<Command, 4> kPhysicalCommands = {Command::retrain, Command::sleep, Command::poll,
                                                      Command::disable};

// The link has to be down, or be taken down, for its physical state to be changed; ibportstate leaves
// PortState at "no change" for that.
std::optional<Command> physical_command(mad::PortPhysicalState state) {
  const auto code = static_cast<std::size_t>(state);
  return code < kPhysicalCommands.size() ? std::optional(kPhysicalCommands[code]) : std::nullopt;
}

std::optional<Command> advance_to(mad::PortState from, mad::PortState current, mad::PortState state,
                                  Command command) {
  if (current == state) return Command::none;
  return current == from ? std::optional(command) : std::nullopt;
}

}  // namespace

std::optional<Command> command_of(mad::PortState current, mad::PortState state,
                                  mad::PortPhysicalState physical_state) {
  const bool keeps_physical = physical_state == mad::PortPhysicalState::no_change;
  switch (state) {
    case mad::PortState::no_change:
      return keeps_physical ? Command::none : physical_command(physical_state);
    case mad::PortState::down:
      return physical_command(physical_state);
    case mad::PortState::initialize:
      return std::nullopt;
    case mad::PortState::armed:
      if (!keeps_physical) return std::nullopt;
      return advance_to(mad::PortState::initialize, current, state, Command::arm);
    case mad::PortState::active:
      if (!keeps_physical) return std::nullopt;
      return advance_to(mad::PortState::armed, current, state, Command::activate);
  }
  return std::nullopt;
}

void execute(Command command, Engine& engine, ManagedPort& port) {
  const bool was_up = port.info.port_state != mad::PortState::down;
  port.is_being_set = true;
  switch (command) {
    case Command::none:
      break;
    case Command::poll:
    case Command::sleep:
      port.polls_as =
          command == Command::poll ? mad::PortPhysicalState::polling : mad::PortPhysicalState::sleep;
      engine.set_enabled(port.id, true);
      if (was_up) engine.set_state(port.id, PortState::down);
      break;
    case Command::retrain:
      engine.set_state(port.id, PortState::down);
      break;
    case Command::disable:
      engine.set_enabled(port.id, false);
      break;
    case Command::arm:
      engine.set_state(port.id, PortState::armed);
      break;
    case Command::activate:
      engine.set_state(port.id, PortState::active);
      break;
  }
  port.is_being_set = false;
  read_port_state(engine, port);
}

void read_port_state(const Engine& engine, ManagedPort& port) {
  const EnginePort* const source = engine.port(port.id);
  if (source == nullptr) return;
  port.info.port_state = source->state;
  if (source->state != PortState::down) {
    port.info.port_physical_state = mad::PortPhysicalState::link_up;
  } else {
    port.info.port_physical_state = source->enabled ? port.polls_as : mad::PortPhysicalState::disabled;
  }
}

}  // namespace softrnic::fabric
