// The SMA's attributes of the node itself, its GUIDs and its lamps (IBTA 14.2.5.2 – 14.2.5.5, 14.2.5.14,
// 14.2.5.15).
#include <algorithm>

#include "fabric/engine.h"
#include "fabric/sma_attributes.h"
#include "mad/attribute_modifier.h"
#include "mad/diagnostics.h"
#include "mad/guid_info.h"

namespace softrnic::fabric {
namespace {

using mad::Status;

constexpr std::uint8_t kLastLifeTime = 0x1f;

bool is_port_or_none(const ManagedNode& node, std::uint8_t number) {
  return number <= node.info.num_ports || number == ForwardingTables::kNoPort;
}

// LIDs above the top are dropped; one below the first multicast LID stands for no multicast at all.
bool is_multicast_top(const mad::SwitchInfo& info, std::uint16_t top) {
  return top >= wire::Lid::kLastUnicast && top < wire::Lid::kFirstMulticast + info.multicast_fdb_cap;
}

std::size_t guid_blocks(const ManagedPort& endport) {
  return (endport.guids.size() + mad::GuidInfo::kBlock - 1) / mad::GuidInfo::kBlock;
}

}  // namespace

Status get_node_description(const SmaRequest& request, SmpData data) {
  if (request.smp.modifier != 0) return Status::bad_attribute_value;
  encode(request.node.description, data);
  return Status::ok;
}

Status set_node_description(const SmaRequest& request, ConstSmpData data) {
  if (request.smp.modifier != 0) return Status::bad_attribute_value;
  request.node.description = mad::decode<mad::NodeDescription>(data);
  return Status::ok;
}

Status get_node_info(const SmaRequest& request, SmpData data) {
  if (request.smp.modifier != 0) return Status::bad_attribute_value;
  mad::NodeInfo info = request.node.info;
  info.port_guid = request.endport().guids.front();
  info.local_port_num = request.in_port;
  encode(info, data);
  return Status::ok;
}

Status get_switch_info(const SmaRequest& request, SmpData data) {
  if (request.smp.modifier != 0) return Status::bad_attribute_value;
  encode(request.node.switch_info, data);
  return Status::ok;
}

Status set_switch_info(const SmaRequest& request, ConstSmpData data) {
  if (request.smp.modifier != 0) return Status::bad_attribute_value;
  const auto wanted = mad::decode<mad::SwitchInfo>(data);
  mad::SwitchInfo& info = request.node.switch_info;
  if (wanted.linear_fdb_top >= info.linear_fdb_cap ||
      !is_port_or_none(request.node, wanted.default_multicast_primary_port) ||
      !is_port_or_none(request.node, wanted.default_multicast_not_primary_port) ||
      (wanted.multicast_fdb_top != 0 && !is_multicast_top(info, wanted.multicast_fdb_top))) {
    return Status::bad_attribute_value;
  }
  info.linear_fdb_top = wanted.linear_fdb_top;
  info.default_multicast_primary_port = wanted.default_multicast_primary_port;
  info.default_multicast_not_primary_port = wanted.default_multicast_not_primary_port;
  info.life_time_value = wanted.life_time_value & kLastLifeTime;
  if (wanted.port_state_change) info.port_state_change = false;
  // 0 is what managers write that do not know the field.
  if (wanted.multicast_fdb_top != 0) info.multicast_fdb_top = wanted.multicast_fdb_top;
  apply_switch_info(request.engine, request.node);
  return Status::ok;
}

Status get_guid_info(const SmaRequest& request, SmpData data) {
  const ManagedPort& endport = request.endport();
  if (request.smp.modifier >= guid_blocks(endport)) return Status::bad_attribute_value;
  const std::size_t first = request.smp.modifier * mad::GuidInfo::kBlock;
  mad::GuidInfo block;
  std::copy_n(endport.guids.begin() + static_cast<std::ptrdiff_t>(first),
              std::min(mad::GuidInfo::kBlock, endport.guids.size() - first), block.guids.begin());
  encode(block, data);
  return Status::ok;
}

Status set_guid_info(const SmaRequest& request, ConstSmpData data) {
  ManagedPort& endport = request.endport();
  if (request.smp.modifier >= guid_blocks(endport)) return Status::bad_attribute_value;
  const std::size_t first = request.smp.modifier * mad::GuidInfo::kBlock;
  const auto block = mad::decode<mad::GuidInfo>(data);
  bool changed = false;
  for (std::size_t i = 0; i < block.guids.size() && first + i < endport.guids.size(); ++i) {
    if (first + i == 0) continue;  // the GUID that it was made with
    changed |= endport.guids[first + i] != block.guids[i];
    endport.guids[first + i] = block.guids[i];
  }
  if (changed) request.events.on_event(request.node, endport, PortEvent::gid_change);
  return Status::ok;
}

Status get_vendor_diag(const SmaRequest& request, SmpData data) {
  if (request.smp.modifier != 0) return Status::bad_attribute_value;
  encode(mad::VendorDiag{}, data);
  return Status::ok;
}

Status get_led_info(const SmaRequest& request, SmpData data) {
  const ManagedPort* const port = request.port(request.smp.modifier);
  if (port == nullptr) return Status::bad_attribute_value;
  encode(mad::LedInfo{.led_mask = port->led}, data);
  return Status::ok;
}

Status set_led_info(const SmaRequest& request, ConstSmpData data) {
  ManagedPort* const port = request.port(request.smp.modifier);
  if (port == nullptr) return Status::bad_attribute_value;
  port->led = mad::decode<mad::LedInfo>(data).led_mask;
  return Status::ok;
}

}  // namespace softrnic::fabric
