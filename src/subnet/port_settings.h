// What ports are to be set to, as a difference to what they have: PortInfo, P_Key tables, SL-to-VL tables, VL
// arbitration (IBTA 14.2.5.6 – 14.2.5.9), and then their states (IBTA 14.4).
#pragma once

#include <set>

#include "subnet/database.h"
#include "subnet/options.h"
#include "subnet/settings.h"

namespace softrnic::subnet {

/// All but the state. The graph of `database` has the LIDs that ports get.
Settings port_settings(const SubnetDatabase& database, const ManagerOptions& options,
                       const SentAttributes& sent);

/// Ports that carry packets, or would, and are in `initialize`: to `armed`.
Settings arm_settings(const SubnetDatabase& database);

/// Ports that are armed: to `active`. Clients of the ports in `reregister` are told to register again what
/// they have registered with the subnet administrator (IBTA 14.4), if they know how to be told.
Settings activate_settings(const SubnetDatabase& database, const std::set<Guid>& reregister);

}  // namespace softrnic::subnet
