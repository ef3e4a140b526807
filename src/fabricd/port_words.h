// What a fabric's JSON calls states and links of ports.
#pragma once

#include <string>
#include <string_view>

#include "mad/port_info.h"

namespace softrnic::fabricd {

/// "down", "init", "armed", "active"
std::string_view name_of(mad::PortState state);
/// "polling", "link up" …
std::string_view name_of(mad::PortPhysicalState state);
/// "4X"
std::string_view width_of(const mad::PortInfo& info);
/// "EDR"
std::string_view speed_of(const mad::PortInfo& info);

}  // namespace softrnic::fabricd
