#include "subnet/vl_settings.h"

#include <algorithm>

#include "mad/attribute_modifier.h"
#include "mad/virtual_lane_tables.h"

namespace softrnic::subnet {
namespace {

using Block = mad::VlArbitrationTable::Block;

mad::VlArbitrationTable arbitration_block(const VlWeights& weights, std::size_t first) {
  mad::VlArbitrationTable table;
  for (std::size_t i = 0; i < table.entries.size() && first + i < weights.size(); ++i) {
    table.entries[i].vl = weights[first + i].vl;
    table.entries[i].weight = weights[first + i].weight;
  }
  return table;
}

std::uint8_t vls_of(const mad::PortInfo& info) { return static_cast<std::uint8_t>(info.vl_cap); }

}  // namespace

QosPort qos_port(const Subnet& subnet, NodePort at) {
  switch (subnet.at(at.node).info.node_type) {
    case mad::NodeType::switch_node:
      return at.port == 0 ? QosPort::switch_port0 : QosPort::switch_external;
    case mad::NodeType::router:
      return QosPort::router;
    default:
      return QosPort::channel_adapter;
  }
}

SlToVl sl_to_vl_of(const Subnet& subnet, NodePort at, const QosConfig& config) {
  return sl_to_vl(config.options(qos_port(subnet, at)),
                  static_cast<std::uint8_t>(subnet.at(at).info.operational_vls));
}

std::vector<ArbitrationBlock> arbitration_blocks(const QosOptions& options, const mad::PortInfo& info,
                                                 std::uint8_t vls) {
  std::vector<ArbitrationBlock> blocks;
  const auto add = [&](const VlWeights& weights, std::uint8_t cap, Block first) {
    const VlWeights table = arbitration_table(weights, cap, vls);
    for (std::size_t at = 0; at < table.size(); at += mad::VlArbitrationTable::kBlock) {
      const std::size_t number = static_cast<std::size_t>(first) + at / mad::VlArbitrationTable::kBlock;
      blocks.push_back({static_cast<Block>(number), arbitration_block(table, at)});
    }
  };
  add(options.vlarb_low, info.vl_arbitration_low_cap, Block::low_first);
  add(options.vlarb_high, info.vl_arbitration_high_cap, Block::high_first);
  return blocks;
}

VlPlan::VlPlan(const SubnetDatabase& database, const ManagerOptions& options, const SentAttributes& sent)
    : database_(database), sent_(sent), has_tables_(options.qos) {
  for (std::size_t i = 0; i < options_.size(); ++i)
    options_[i] = options.qos_config.options(static_cast<QosPort>(i));
}

const QosOptions& VlPlan::options_of(NodePort at) const {
  return options_[static_cast<std::size_t>(qos_port(database_.subnet, at))];
}

// Both ends come to the same.
std::uint8_t VlPlan::vls_of_link(NodePort at) const {
  const PhysicalPort& port = database_.subnet.at(at);
  const std::uint8_t own = options_of(at).max_vls;
  if (!port.is_linked()) return operational_vls(vls_of(port.info), vls_of(port.info), own);
  return operational_vls(vls_of(port.info), vls_of(database_.subnet.at(port.peer).info),
                         std::min(own, options_of(port.peer).max_vls));
}

void VlPlan::plan(NodePort at, mad::PortInfo& info, Settings& out) const {
  const PhysicalPort& port = database_.subnet.at(at);
  if (!port.is_linked() && at.port != 0) return;
  const std::uint8_t vls = vls_of_link(at);
  info.operational_vls = static_cast<mad::VlCap>(vls);
  if (!has_tables_) return;
  info.vl_high_limit = options_of(at).high_limit;
  plan_sl_to_vl(at, vls, out);
  plan_arbitration(at, info, vls, out);
}

void VlPlan::plan_sl_to_vl(NodePort at, std::uint8_t vls, Settings& out) const {
  const Node& node = database_.subnet.at(at.node);
  mad::SlToVlMappingTable table;
  table.vl_of_sl = sl_to_vl(options_of(at), vls);
  if (!node.is_switch()) return add(at, setting_of(at, table), out);
  if (node.switch_info.optimized_sl_to_vl_mapping_programming != 0) {
    const mad::SlToVlModifier all{.all_input_ports = true, .output_port = at.port};
    return add(at, setting_of(at, table, mad::encode_modifier(all)), out);
  }
  for (std::size_t in = 0; in < node.ports.size(); ++in) {
    const mad::SlToVlModifier one{.input_port = static_cast<std::uint8_t>(in), .output_port = at.port};
    if (in != at.port) add(at, setting_of(at, table, mad::encode_modifier(one)), out);
  }
}

void VlPlan::plan_arbitration(NodePort at, const mad::PortInfo& info, std::uint8_t vls, Settings& out) const {
  const std::uint16_t port = database_.subnet.at(at.node).is_switch() ? at.port : std::uint8_t{0};
  for (const ArbitrationBlock& block : arbitration_blocks(options_of(at), info, vls)) {
    const mad::VlArbitrationModifier modifier{static_cast<std::uint16_t>(block.block), port};
    add(at, setting_of(at, block.table, mad::encode_modifier(modifier)), out);
  }
}

void VlPlan::add(NodePort at, const Setting& setting, Settings& out) const {
  const NodePort managed = database_.subnet.management_port(at);
  if (!sent_.has(database_.subnet.at(managed).guid, setting)) out.push_back(setting);
}

}  // namespace softrnic::subnet
