// What switches are to be set to: SwitchInfo and the blocks of forwarding tables that differ from what they
// were sent (IBTA 14.2.5.4, 14.2.5.10, 14.2.5.12).
#pragma once

#include "subnet/database.h"
#include "subnet/options.h"
#include "subnet/settings.h"

namespace softrnic::subnet {

Settings switch_settings(const SubnetDatabase& database, const ManagerOptions& options,
                         const SentAttributes& sent);

/// Multicast tables alone: for groups that change between two sweeps.
Settings multicast_settings(const SubnetDatabase& database, const SentAttributes& sent);

/// A switch that was reset, or an adapter whose link was down, may have lost what it was sent.
void forget_what_was_reset(const Subnet& subnet, SentAttributes& sent);

}  // namespace softrnic::subnet
