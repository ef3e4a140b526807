// What a SubnSet(PortInfo) may change, field by field (IBTA 14.2.5.6).
#pragma once

#include <cstdint>

#include "mad/port_info.h"

namespace softrnic::fabric {

/// Which fields of PortInfo mean something depends on what the port is.
enum class PortRole : std::uint8_t {
  adapter = 1 << 0,
  base_port0 = 1 << 1,      ///< of a switch: for its agents alone
  enhanced_port0 = 1 << 2,  ///< which is like an adapter's without a link
  switch_external = 1 << 3,
};

/// Whether the values of all fields that `role` has are such as may be written; `extended`: the manager knows
/// LinkSpeedExt. The states of the port are not among them (fabric/port_state_command.h).
bool allows(PortRole role, bool extended, const mad::PortInfo& current, const mad::PortInfo& wanted);

/// Writes them. Fields that are read-only, and those that the role does not have, stay.
void write(PortRole role, bool extended, const mad::PortInfo& wanted, mad::PortInfo& current);

}  // namespace softrnic::fabric
