// The M_Key: who may read and write the attributes of an endport (IBTA 14.2.4).
#pragma once

#include "base/time.h"
#include "fabric/managed_node.h"
#include "mad/smp.h"

namespace softrnic::fabric {

/// Whether the packet has the key, or needs none. If not it is counted, a lease begins to run, and trap 256
/// is due; the packet is not answered.
bool admit_by_m_key(ManagedPort& endport, const mad::Smp& smp, TimePoint now);

/// Whether a Get(PortInfo) that was admitted may read the key itself.
bool shows_m_key(const ManagedPort& endport, const mad::Smp& smp);

}  // namespace softrnic::fabric
