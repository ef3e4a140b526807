// What is decided about a subnet that was found: LIDs, P_Key tables, routes.
#pragma once

#include "subnet/database.h"
#include "subnet/events.h"
#include "subnet/lid_assignment.h"
#include "subnet/options.h"

namespace softrnic::subnet {

/// The same subnet, LIDs and options come to the same decisions. `lids` is what was assigned earlier, and is
/// kept up. What is wrong with them is told to `events`: too few LIDs, tables too short, ports that cannot
/// reach each other, routes that can deadlock. If the engine fails, routing is by min-hop.
SubnetDatabase plan_subnet(Subnet subnet, const ManagerOptions& options, GuidToLid& lids, EventSink& events);

}  // namespace softrnic::subnet
