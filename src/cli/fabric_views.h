// The commands of `softrnic fabric` that look into a running one: one function a command.
#pragma once

#include "cli/commands.h"

namespace softrnic::cli {

void add_fabric_show(const grammar::Command& fabric, Context& context);
void add_fabric_trace(const grammar::Command& fabric, Context& context);
void add_fabric_why(const grammar::Command& fabric, Context& context);

}  // namespace softrnic::cli
