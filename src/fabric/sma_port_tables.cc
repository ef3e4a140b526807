// The SMA's tables of a port: partitions, lanes of service levels, arbitration (IBTA 14.2.5.7 – 14.2.5.9).
#include <algorithm>
#include <optional>

#include "fabric/engine.h"
#include "fabric/sma_attributes.h"
#include "mad/attribute_modifier.h"
#include "mad/p_key_table.h"
#include "mad/virtual_lane_tables.h"

namespace softrnic::fabric {
namespace {

using mad::Status;
using Arbitration = mad::VlArbitrationTable;

// ---- P_KeyTable

struct PKeyBlock {
  ManagedPort* port = nullptr;
  std::span<std::uint16_t> p_keys;  ///< the last may be shorter than others
};

std::optional<PKeyBlock> find_p_keys(const SmaRequest& request) {
  const auto modifier = mad::decode_modifier<mad::PKeyTableModifier>(request.smp.modifier);
  ManagedPort* const port = request.port(request.node.is_switch() ? modifier.port : 0);
  if (port == nullptr) return std::nullopt;
  const std::size_t first = modifier.block * mad::PKeyTable::kBlock;
  if (first >= port->p_keys.size()) return std::nullopt;
  const std::size_t size = std::min(mad::PKeyTable::kBlock, port->p_keys.size() - first);
  return PKeyBlock{port, std::span(port->p_keys).subspan(first, size)};
}

// ---- SLtoVLMappingTable

/// Rows of the output ports by input port: numbers from a first to a last one.
struct SlToVlRows {
  std::uint8_t first_output = 0, last_output = 0;
  std::uint8_t first_input = 0, last_input = 0;
};

// Port 0 has one row for all that it sends to the agents.
std::optional<SlToVlRows> find_sl_to_vl(const SmaRequest& request) {
  if (!request.node.is_switch()) return SlToVlRows{request.in_port, request.in_port, 0, 0};
  const auto modifier = mad::decode_modifier<mad::SlToVlModifier>(request.smp.modifier);
  const std::uint8_t ports = request.node.info.num_ports;
  const std::uint8_t first_port = request.node.switch_info.enhanced_port0 ? 0 : 1;
  SlToVlRows rows{modifier.output_port, modifier.output_port, modifier.input_port, modifier.input_port};
  if (modifier.all_output_ports) {
    rows.first_output = first_port;
    rows.last_output = ports;
  }
  if (modifier.all_input_ports) {
    rows.first_input = 0;
    rows.last_input = ports;
  }
  const bool exists =
      rows.first_output >= first_port && rows.last_output <= ports && rows.last_input <= ports;
  return exists ? std::optional(rows) : std::nullopt;
}

std::uint8_t vl_of(const EnginePort& port, std::uint8_t from, std::uint8_t sl) {
  const SlToVl& row = port.sl_to_vl[from < port.sl_to_vl.size() ? from : 0];
  if (row[sl] != kUnsetVl) return row[sl];
  return static_cast<std::uint8_t>(sl % port.attributes.operational_vls);
}

// ---- VLArbitrationTable

struct ArbitrationBlock {
  ManagedPort* port = nullptr;
  std::span<VlWeight> entries;
};

// Port 0 of a switch arbitrates only where it is more than the agents.
std::optional<ArbitrationBlock> find_arbitration(const SmaRequest& request) {
  const auto modifier = mad::decode_modifier<mad::VlArbitrationModifier>(request.smp.modifier);
  const ManagedNode& node = request.node;
  ManagedPort* const port = request.port(node.is_switch() ? modifier.port : 0);
  if (port == nullptr) return std::nullopt;
  if (node.is_switch() && port->number == 0 && !node.switch_info.enhanced_port0) return std::nullopt;
  const unsigned half = modifier.block - static_cast<unsigned>(Arbitration::Block::low_first);
  if (half >= 4) return std::nullopt;
  ManagedPort::VlArbitrationEntries& table = half < 2 ? port->low_priority : port->high_priority;
  return ArbitrationBlock{port,
                          std::span(table).subspan(half % 2 * Arbitration::kBlock, Arbitration::kBlock)};
}
static_assert(ManagedPort::kVlArbitrationEntries == 2 * Arbitration::kBlock);

}  // namespace

Status get_p_key_table(const SmaRequest& request, SmpData data) {
  const auto block = find_p_keys(request);
  if (!block) return Status::bad_attribute_value;
  mad::PKeyTable table;
  std::ranges::copy(block->p_keys, table.p_keys.begin());
  encode(table, data);
  return Status::ok;
}

Status set_p_key_table(const SmaRequest& request, ConstSmpData data) {
  const auto block = find_p_keys(request);
  if (!block) return Status::bad_attribute_value;
  const auto table = mad::decode<mad::PKeyTable>(data);
  if (std::ranges::equal(block->p_keys, std::span(table.p_keys).first(block->p_keys.size()))) {
    return Status::ok;
  }
  std::copy_n(table.p_keys.begin(), block->p_keys.size(), block->p_keys.begin());
  apply_p_keys(request.engine, *block->port);
  const bool is_endport = !request.node.is_switch() || block->port->number == 0;
  if (is_endport) request.events.on_event(request.node, *block->port, PortEvent::p_key_change);
  return Status::ok;
}

Status get_sl_to_vl(const SmaRequest& request, SmpData data) {
  const auto rows = find_sl_to_vl(request);
  if (!rows || rows->first_output != rows->last_output || rows->first_input != rows->last_input) {
    return Status::bad_attribute_value;
  }
  const EnginePort* const port = request.engine.port(request.node.id, rows->first_output);
  if (port == nullptr) return Status::bad_attribute_value;
  mad::SlToVlMappingTable table;
  for (std::uint8_t sl = 0; sl < table.vl_of_sl.size(); ++sl) {
    table.vl_of_sl[sl] = vl_of(*port, rows->first_input, sl);
  }
  encode(table, data);
  return Status::ok;
}

Status set_sl_to_vl(const SmaRequest& request, ConstSmpData data) {
  const auto rows = find_sl_to_vl(request);
  if (!rows) return Status::bad_attribute_value;
  const auto table = mad::decode<mad::SlToVlMappingTable>(data);
  for (unsigned output = rows->first_output; output <= rows->last_output; ++output) {
    const EnginePort* const port = request.engine.port(request.node.id, static_cast<std::uint8_t>(output));
    if (port == nullptr) continue;
    for (unsigned input = rows->first_input; input <= rows->last_input; ++input) {
      request.engine.set_sl_to_vl(port->id, static_cast<std::uint8_t>(port->is_external() ? input : 0),
                                  table.vl_of_sl);
    }
  }
  return Status::ok;
}

Status get_vl_arbitration(const SmaRequest& request, SmpData data) {
  const auto block = find_arbitration(request);
  if (!block) return Status::bad_attribute_value;
  Arbitration table;
  std::ranges::transform(block->entries, table.entries.begin(), [](const VlWeight& entry) {
    return mad::VlArbitrationEntry{.vl = entry.vl, .weight = entry.weight};
  });
  encode(table, data);
  return Status::ok;
}

Status set_vl_arbitration(const SmaRequest& request, ConstSmpData data) {
  const auto block = find_arbitration(request);
  if (!block) return Status::bad_attribute_value;
  const auto table = mad::decode<Arbitration>(data);
  std::ranges::transform(table.entries, block->entries.begin(), [](const mad::VlArbitrationEntry& entry) {
    return VlWeight{.vl = entry.vl, .weight = entry.weight};
  });
  apply_arbitration(request.engine, *block->port);
  return Status::ok;
}

}  // namespace softrnic::fabric
