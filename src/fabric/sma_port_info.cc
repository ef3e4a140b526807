// The SMA's PortInfo (IBTA 14.2.5.6).
#include <optional>

#include "fabric/engine.h"
#include "fabric/m_key.h"
#include "fabric/port_info_rules.h"
#include "fabric/port_state_command.h"
#include "fabric/sma_attributes.h"
#include "mad/attribute_modifier.h"

namespace softrnic::fabric {
namespace {

using mad::PortInfo;
using mad::Status;

PortRole role_of(const ManagedNode& node, const ManagedPort& port) {
  if (!node.is_switch()) return PortRole::adapter;
  if (port.number != 0) return PortRole::switch_external;
  return node.switch_info.enhanced_port0 ? PortRole::enhanced_port0 : PortRole::base_port0;
}

bool has_link(PortRole role) { return role == PortRole::adapter || role == PortRole::switch_external; }

// A port 0 has no states but active.
std::optional<PortStateCommand> find_command(PortRole role, const PortInfo& current, const PortInfo& wanted) {
  if (!has_link(role)) return PortStateCommand::none;
  return command_of(current.port_state, wanted.port_state, wanted.port_physical_state);
}

void tell_host(const SmaRequest& request, ManagedPort& port, const PortInfo& before, const PortInfo& wanted) {
  const PortInfo& now = port.info;
  const auto tell = [&](PortEvent event) { request.events.on_event(request.node, port, event); };
  if (now.lid != before.lid || now.lmc != before.lmc) tell(PortEvent::lid_change);
  if (now.gid_prefix != before.gid_prefix) tell(PortEvent::gid_change);
  if (now.master_sm_lid != before.master_sm_lid || now.master_sm_sl != before.master_sm_sl) {
    tell(PortEvent::sm_change);
  }
  if (wanted.client_reregister) tell(PortEvent::client_reregister);
}

void tell_managers(const SmaRequest& request, const PortInfo& now, const PortInfo& before) {
  mad::LocalChangesDetails changes;
  changes.link_width_enabled_change = now.link_width_enabled != before.link_width_enabled;
  changes.link_speed_enabled_change = now.link_speed_enabled != before.link_speed_enabled ||
                                      now.link_speed_ext_enabled != before.link_speed_ext_enabled;
  if (!changes.link_width_enabled_change && !changes.link_speed_enabled_change) return;
  changes.other_local_changes = true;
  request.events.on_local_changes(request.node, request.endport(), changes);
}

// A key or lease that is written begins anew.
void renew_lease(ManagedPort& port, const PortInfo& before) {
  if (port.info.m_key != before.m_key || port.info.m_key_lease_period != before.m_key_lease_period) {
    port.m_key_lease_end = kNever;
  }
}

}  // namespace

Status get_port_info(const SmaRequest& request, SmpData data) {
  const auto modifier = mad::decode_modifier<mad::PortModifier>(request.smp.modifier);
  const ManagedPort* const port = request.port(modifier.port);
  if (port == nullptr || modifier.reserved != 0) return Status::bad_attribute_value;
  PortInfo info = port->info;
  info.local_port_num = request.in_port;
  if (!shows_m_key(*port, request.smp)) info.m_key = 0;
  // Managers that know no extended speeds take the fastest of the others for it.
  if (!modifier.sm_supports_extended_speeds && info.link_speed_ext_active != mad::LinkSpeedExt::none) {
    info.link_speed_active = mad::LinkSpeed::qdr;
  }
  if (request.smp.method == mad::Method::set) {
    info.client_reregister = mad::decode<PortInfo>(request.smp.data).client_reregister;  // o14-12.2.1
  }
  encode(info, data);
  return Status::ok;
}

Status set_port_info(const SmaRequest& request, ConstSmpData data) {
  const auto modifier = mad::decode_modifier<mad::PortModifier>(request.smp.modifier);
  ManagedPort* const port = request.port(modifier.port);
  if (port == nullptr || modifier.reserved != 0) return Status::bad_attribute_value;
  // An adapter's port is set through itself.
  if (!request.node.is_switch() && port->number != request.in_port) return Status::bad_attribute_value;
  const PortRole role = role_of(request.node, *port);
  const auto wanted = mad::decode<PortInfo>(data);
  const bool extended = modifier.sm_supports_extended_speeds;
  const auto command = find_command(role, port->info, wanted);
  if (!command || !allows(role, extended, port->info, wanted)) return Status::bad_attribute_value;
  const PortInfo before = port->info;
  write(role, extended, wanted, port->info);
  renew_lease(*port, before);
  apply_port_info(request.engine, request.node, *port);
  if (port->info.vl_high_limit != before.vl_high_limit) apply_arbitration(request.engine, *port);
  execute(*command, request.engine, *port);
  if (role != PortRole::switch_external) tell_host(request, *port, before, wanted);
  tell_managers(request, port->info, before);
  return Status::ok;
}

}  // namespace softrnic::fabric
