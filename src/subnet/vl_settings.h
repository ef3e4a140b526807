// How the VLs of a link are to be used: how many, which service level takes which, and how they share the
// link (IBTA 7.6.6, 7.6.9). The tables are sent with quality of service alone; ports have sensible ones
// without.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "mad/port_info.h"
#include "mad/virtual_lane_tables.h"
#include "subnet/database.h"
#include "subnet/options.h"
#include "subnet/qos.h"
#include "subnet/settings.h"

namespace softrnic::subnet {

class VlPlan {
 public:
  VlPlan(const SubnetDatabase& database, const ManagerOptions& options, const SentAttributes& sent);

  /// Sets OperationalVLs and VLHighLimit in `info`, and adds the tables that differ from what was sent.
  void plan(NodePort at, mad::PortInfo& info, Settings& out) const;

 private:
  const QosOptions& options_of(NodePort at) const;
  std::uint8_t vls_of_link(NodePort at) const;
  void plan_sl_to_vl(NodePort at, std::uint8_t vls, Settings& out) const;
  void plan_arbitration(NodePort at, const mad::PortInfo& info, std::uint8_t vls, Settings& out) const;
  void add(NodePort at, const Setting& setting, Settings& out) const;

  const SubnetDatabase& database_;
  const SentAttributes& sent_;
  bool has_tables_;
  std::array<QosOptions, 4> options_;  // by QosPort
};

/// The SL-to-VL table that a port is sent; of a switch, for that output port.
SlToVl sl_to_vl_of(const Subnet& subnet, NodePort at, const QosConfig& config);

struct ArbitrationBlock {
  mad::VlArbitrationTable::Block block{};
  mad::VlArbitrationTable table;
};
/// The blocks of the arbitration tables of a port with that OperationalVLs code.
std::vector<ArbitrationBlock> arbitration_blocks(const QosOptions& options, const mad::PortInfo& info,
                                                 std::uint8_t vls);

/// Kind of port in the terms of opensm.conf.
QosPort qos_port(const Subnet& subnet, NodePort at);

}  // namespace softrnic::subnet
