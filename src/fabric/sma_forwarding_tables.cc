// The SMA's forwarding tables, which are the engine's own (IBTA 14.2.5.10, 14.2.5.12).
#include "fabric/engine.h"
#include "fabric/sma_attributes.h"
#include "mad/attribute_modifier.h"
#include "mad/forwarding_tables.h"

namespace softrnic::fabric {
namespace {

using mad::Status;

bool is_linear_block(const ManagedNode& node, std::uint32_t block) {
  return block < node.switch_info.linear_fdb_cap / mad::LinearForwardingTable::kBlock;
}

bool is_multicast_block(const ManagedNode& node, const mad::MulticastForwardingModifier& modifier) {
  return modifier.block < node.switch_info.multicast_fdb_cap / mad::MulticastForwardingTable::kBlock &&
         modifier.position <= node.info.num_ports / mad::MulticastForwardingTable::kPortsPerPosition;
}

}  // namespace

Status get_linear_forwarding_table(const SmaRequest& request, SmpData data) {
  const ForwardingTables* const tables = request.engine.forwarding(request.node.id);
  if (tables == nullptr || !is_linear_block(request.node, request.smp.modifier)) {
    return Status::bad_attribute_value;
  }
  mad::LinearForwardingTable table;
  table.ports = tables->linear_block(static_cast<std::uint16_t>(request.smp.modifier));
  encode(table, data);
  return Status::ok;
}

Status set_linear_forwarding_table(const SmaRequest& request, ConstSmpData data) {
  ForwardingTables* const tables = request.engine.forwarding(request.node.id);
  if (tables == nullptr || !is_linear_block(request.node, request.smp.modifier)) {
    return Status::bad_attribute_value;
  }
  const auto table = mad::decode<mad::LinearForwardingTable>(data);
  tables->set_linear_block(static_cast<std::uint16_t>(request.smp.modifier), table.ports);
  return Status::ok;
}

Status get_multicast_forwarding_table(const SmaRequest& request, SmpData data) {
  const auto modifier = mad::decode_modifier<mad::MulticastForwardingModifier>(request.smp.modifier);
  const ForwardingTables* const tables = request.engine.forwarding(request.node.id);
  if (tables == nullptr || !is_multicast_block(request.node, modifier)) return Status::bad_attribute_value;
  mad::MulticastForwardingTable table;
  table.port_masks = tables->multicast_block(modifier.block, modifier.position);
  encode(table, data);
  return Status::ok;
}

Status set_multicast_forwarding_table(const SmaRequest& request, ConstSmpData data) {
  const auto modifier = mad::decode_modifier<mad::MulticastForwardingModifier>(request.smp.modifier);
  ForwardingTables* const tables = request.engine.forwarding(request.node.id);
  if (tables == nullptr || !is_multicast_block(request.node, modifier)) return Status::bad_attribute_value;
  const auto table = mad::decode<mad::MulticastForwardingTable>(data);
  tables->set_multicast_block(modifier.block, modifier.position, table.port_masks);
  return Status::ok;
}

}  // namespace softrnic::fabric
