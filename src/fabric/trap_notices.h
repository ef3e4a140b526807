// The notices that a node's traps carry (IBTA 14.2.5.1, 14.3).
#pragma once

#include <cstdint>

#include "fabric/managed_node.h"
#include "mad/notice.h"
#include "mad/smp.h"

namespace softrnic::fabric {

/// Trap 128: a port of the switch has another state.
mad::Notice link_state_notice(const ManagedNode& node);
/// Traps 129 and 130: a threshold was reached at that port.
mad::Notice threshold_notice(const ManagedNode& node, mad::Trap trap, const ManagedPort& port);
/// Trap 144; lid and masks of `changes` are put in.
mad::Notice local_changes_notice(const ManagedNode& node, const ManagedPort& endport,
                                 mad::LocalChangesDetails changes);
/// Trap 145.
mad::Notice system_image_guid_notice(const ManagedNode& node, const ManagedPort& endport);
/// Trap 256, of the packet that had the wrong key; `slid` is where it came from.
mad::Notice bad_m_key_notice(const ManagedNode& node, const ManagedPort& endport, const mad::Smp& smp,
                             wire::Lid slid);
/// Traps 257 and 258.
mad::Notice bad_key_notice(const ManagedNode& node, const ManagedPort& endport, mad::Trap trap,
                           const mad::BadKeyDetails& details);
/// Trap 259, at that port of the switch; its LID and the port are put in.
mad::Notice switch_bad_p_key_notice(const ManagedNode& node, const ManagedPort& port,
                                    mad::SwitchBadPKeyDetails details);

}  // namespace softrnic::fabric
