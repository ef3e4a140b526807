#include "subnet/sa_table_records.h"

#include "mad/attribute_modifier.h"
#include "subnet/vl_settings.h"

namespace softrnic::subnet {
namespace {

/// Switches that the requester may hear of, and that the query does not rule out by their LID.
template <typename Record, typename Visit>
void for_each_switch(const SaView& view, const SaRequest& request, const SaQuery<Record>& query,
                     Visit&& visit) {
  const SubnetDatabase& database = view.database;
  for (std::uint32_t i = 0; i < database.graph().switches().size(); ++i) {
    const NodePort at{database.topology.node_of(SwitchId(i)), 0};
    const Lid lid = view.lid_of(at);
    const bool is_meant = !request.has(mad::component<Record>("lid")) || query.wanted.lid == lid;
    if (is_meant && view.may_see(request.requester, at))
      visit(at, lid, database.routing.tables.at(SwitchId(i)));
  }
}

/// Known ports likewise, with the LID of the end port that they are or belong to.
template <typename Record, typename Visit>
void for_each_port(const SaView& view, const SaRequest& request, const SaQuery<Record>& query,
                   Visit&& visit) {
  view.database.subnet.for_each_port([&](NodePort at, const PhysicalPort& port) {
    const Lid lid = view.lid_of(at);
    const bool is_meant = !request.has(mad::component<Record>("lid")) || query.wanted.lid == lid;
    if (is_meant && view.may_see(request.requester, at)) visit(at, lid, port);
  });
}

template <typename Record>
SaQuery<Record> query_for(const SaView& view, const SaRequest& request, SaRecords& out) {
  SaQuery<Record> query(request, out);
  query.wanted.lid = view.base_lid(query.wanted.lid);
  return query;
}

mad::PKeyTable p_key_block(const std::vector<std::uint16_t>& p_keys, std::size_t block) {
  mad::PKeyTable table;
  for (std::size_t i = 0; i < kPkeyBlock && block * kPkeyBlock + i < p_keys.size(); ++i)
    table.p_keys[i] = p_keys[block * kPkeyBlock + i];
  return table;
}

}  // namespace

/// What the service levels were set to or, without quality of service, would be.
void query_sl_to_vl(const SaView& view, const SaRequest& request, SaRecords& out) {
  auto query = query_for<mad::SlToVlMappingTableRecord>(view, request, out);
  for_each_port(view, request, query, [&](NodePort at, Lid lid, const PhysicalPort&) {
    mad::SlToVlMappingTableRecord record;
    record.lid = lid;
    record.output_port_num = at.port;
    record.table.vl_of_sl = sl_to_vl_of(view.database.subnet, at, view.options.qos_config);
    const Node& node = view.database.subnet.at(at.node);
    if (!node.is_switch()) return query.add(record);
    for (std::size_t in = 0; in < node.ports.size(); ++in) {
      record.input_port_num = static_cast<std::uint8_t>(in);
      if (in != at.port) query.add(record);
    }
  });
}

void query_linear_tables(const SaView& view, const SaRequest& request, SaRecords& out) {
  auto query = query_for<mad::LinearForwardingTableRecord>(view, request, out);
  for_each_switch(view, request, query, [&](NodePort, Lid lid, const SwitchTables& tables) {
    for (std::size_t block = 0; block < tables.linear.blocks(); ++block) {
      mad::LinearForwardingTableRecord record;
      record.lid = lid;
      record.block_num = static_cast<std::uint16_t>(block);
      std::ranges::copy(tables.linear.block(block), record.table.ports.begin());
      query.add(record);
    }
  });
}

void query_multicast_tables(const SaView& view, const SaRequest& request, SaRecords& out) {
  auto query = query_for<mad::MulticastForwardingTableRecord>(view, request, out);
  for_each_switch(view, request, query, [&](NodePort, Lid lid, const SwitchTables& tables) {
    for (std::size_t block = 0; block < tables.multicast.blocks(); ++block) {
      for (std::size_t position = 0; position < tables.multicast.positions(); ++position) {
        mad::MulticastForwardingTableRecord record;
        record.lid = lid;
        record.position = static_cast<std::uint8_t>(position);
        record.block_num = static_cast<std::uint16_t>(block);
        record.table.port_masks = tables.multicast.block(block, position);
        query.add(record);
      }
    }
  });
}

void query_p_keys(const SaView& view, const SaRequest& request, SaRecords& out) {
  auto query = query_for<mad::PKeyTableRecord>(view, request, out);
  for_each_port(view, request, query, [&](NodePort at, Lid lid, const PhysicalPort& port) {
    // An external port of a switch enforces what the adapter at its other end has.
    const bool enforces = port.info.partition_enforcement_inbound || port.info.partition_enforcement_outbound;
    const bool is_end_port = view.database.subnet.is_end_port(at);
    if (!is_end_port && (!enforces || !port.is_linked())) return;
    const auto& p_keys = is_end_port ? port.p_keys : view.database.subnet.at(port.peer).p_keys;
    for (std::size_t block = 0; block * kPkeyBlock < p_keys.size(); ++block)
      query.add({.lid = lid,
                 .block_num = static_cast<std::uint16_t>(block),
                 .port_num = at.port,
                 .table = p_key_block(p_keys, block)});
  });
}

void query_arbitration(const SaView& view, const SaRequest& request, SaRecords& out) {
  auto query = query_for<mad::VlArbitrationTableRecord>(view, request, out);
  for_each_port(view, request, query, [&](NodePort at, Lid lid, const PhysicalPort& port) {
    const QosOptions options = view.options.qos_config.options(qos_port(view.database.subnet, at));
    const auto vls = static_cast<std::uint8_t>(port.info.operational_vls);
    for (const ArbitrationBlock& block : arbitration_blocks(options, port.info, vls))
      query.add({.lid = lid,
                 .output_port_num = at.port,
                 .block_num = static_cast<std::uint8_t>(block.block),
                 .table = block.table});
  });
}

}  // namespace softrnic::subnet
