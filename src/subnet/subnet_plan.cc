#include "subnet/subnet_plan.h"

#include <utility>

#include "subnet/deadlock_check.h"
#include "subnet/min_hop.h"
#include "subnet/route_check.h"
#include "subnet/routing_engine.h"
#include "subnet/vl_settings.h"

namespace softrnic::subnet {
namespace {

void plan_lids(SubnetDatabase& database, const ManagerOptions& options, GuidToLid& lids, EventSink& events) {
  const auto assignment = assign_lids(database.graph(), options.lids, lids);
  if (!assignment) return events.notify(event::LidsExhausted{});
  apply_lids(database.topology.graph, *assignment);
  lids = assignment->guid_to_lid;
}

void plan_p_keys(SubnetDatabase& database, const ManagerOptions& options, EventSink& events) {
  std::vector<PkeyTable> before;
  for (const NodePort at : database.topology.end_ports) before.push_back(database.subnet.at(at).p_keys);
  database.p_keys = make_pkey_tables(database.graph(), options.partitions,
                                     {database.self, options.allow_both_pkeys}, before);
  for (const EndPortId id : database.p_keys.overflows)
    events.notify(event::PartitionOverflow{database.graph().at(id).guid});
}

void plan_routes(SubnetDatabase& database, const ManagerOptions& options, EventSink& events) {
  std::uint64_t steps = 0;
  database.min_hops = min_hops(database.graph(), steps);
  auto made = route(database.graph(), options.routing);
  if (made) {
    database.routing = std::move(*made);
  } else {
    events.notify(event::RoutingFailed{options.routing.engine});
    database.routing = route_min_hop(database.graph());
  }
}

/// Service levels that packets may have: those of the partitions.
std::uint16_t service_levels(const ManagerOptions& options) {
  std::uint16_t levels = 1;
  for (const Partition& partition : options.partitions)
    levels |= static_cast<std::uint16_t>(1U << (partition.flags.sl & 15));
  return levels;
}

DeadlockOptions deadlock_options(const SubnetDatabase& database, const ManagerOptions& options) {
  DeadlockOptions made;
  if (!options.qos) return made;
  made.service_levels = [levels = service_levels(options)](EndPortId, Lid) { return levels; };
  const QosOptions external = options.qos_config.options(QosPort::switch_external);
  made.vl = [&database, external](SwitchId sw, std::uint8_t, std::uint8_t out, std::uint8_t sl) {
    const auto& info = database.subnet.at(NodePort{database.topology.node_of(sw), out}).info;
    return sl_to_vl(external, static_cast<std::uint8_t>(info.vl_cap))[sl & 15];
  };
  return made;
}

void check(const SubnetDatabase& database, const ManagerOptions& options, EventSink& events) {
  const ForwardingTables& tables = database.routing.tables;
  const RouteReport report = check_routes(database.graph(), tables);
  const auto reached = report.ends[static_cast<std::size_t>(RouteEnd::reached)];
  if (!report.all_reach()) events.notify(event::RoutesMissing{report.routes - reached});
  const auto cycle = find_deadlock(database.graph(), tables, deadlock_options(database, options));
  if (!cycle.empty()) events.notify(event::DeadlockRisk{to_string(database.graph(), cycle)});
}

}  // namespace

SubnetDatabase plan_subnet(Subnet subnet, const ManagerOptions& options, GuidToLid& lids, EventSink& events) {
  SubnetDatabase database;
  database.subnet = std::move(subnet);
  database.topology = make_graph(database.subnet);
  if (database.subnet.self.node != kNoNode)
    database.self = database.topology.end_port_of(database.subnet, database.subnet.self);
  plan_lids(database, options, lids, events);
  plan_p_keys(database, options, events);
  plan_routes(database, options, events);
  check(database, options, events);
  return database;
}

}  // namespace softrnic::subnet
