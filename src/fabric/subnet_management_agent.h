// The subnet management agent: answers what managers ask of a node, and does what they set (IBTA 14.2, 14.3).
#pragma once

#include <cstdint>

#include "base/time.h"
#include "fabric/managed_node.h"
#include "fabric/types.h"
#include "mad/smp.h"
#include "mad/trap_details.h"

namespace softrnic::fabric {

class Engine;

/// What the host of an endport hears of, as adapters tell it: the asynchronous events of verbs.
enum class PortEvent : std::uint8_t {
  active,  ///< IBV_EVENT_PORT_ACTIVE and so on
  error,   ///< no longer active
  lid_change,
  p_key_change,
  sm_change,
  client_reregister,
  gid_change,
};

/// Whom the agent tells. They may call the engine as its sinks may.
class SmaEvents {
 public:
  virtual ~SmaEvents() = default;
  virtual void on_event(ManagedNode& node, ManagedPort& endport, PortEvent event) = 0;
  /// Trap 144 is due; lid and masks are still to be put in (IBTA 14.3.11).
  virtual void on_local_changes(ManagedNode& node, ManagedPort& endport,
                                const mad::LocalChangesDetails& changes) = 0;
};

enum class SmaOutcome : std::uint8_t {
  answered,
  nothing_to_say,
  bad_m_key,       ///< not answered, and trap 256 is due (IBTA 14.3.9)
  trap_repressed,  ///< the trap of this transaction has been heard
};

class SubnetManagementAgent {
 public:
  SubnetManagementAgent(Engine& engine, SmaEvents& events) : engine_(engine), events_(events) {}

  /// A packet whose way ends at this node, by the port `in_port`; 0 where it began at a switch itself. When
  /// it is answered it has become the answer, except for the route.
  SmaOutcome answer(ManagedNode& node, std::uint8_t in_port, mad::Smp& smp, TimePoint now);

 private:
  Engine& engine_;
  SmaEvents& events_;
};

}  // namespace softrnic::fabric
