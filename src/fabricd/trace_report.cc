#include "fabricd/trace_report.h"

#include "fabricd/multicast_trace.h"
#include "fabricd/port_words.h"

namespace softrnic::fabricd {
namespace {

using fabric::ForwardingTables;
using fabric::PortAddress;

Json address_json(const FabricState& state, PortAddress address) {
  return {{"node", state.topology.node(address.node).name}, {"port", address.port}};
}

Json vl_json(const std::optional<std::uint8_t>& vl) { return vl ? Json(*vl) : Json(nullptr); }

/// Of the cable at a port, as it is now.
void add_link(const FabricState& state, PortAddress address, Json& row) {
  const fabric::ManagedPort* const port = state.managed(address);
  if (port == nullptr) return;
  row["width"] = width_of(port->info);
  row["speed"] = speed_of(port->info);
  row["state"] = name_of(port->info.port_state);
}

Json hop_json(const FabricState& state, const PathHop& hop) {
  Json row;
  row["node"] = state.topology.node(hop.node).name;
  row["type"] = fabric::name_of(state.topology.node(hop.node).type);
  if (hop.in_port != 0) row["in_port"] = hop.in_port;
  const bool has_out = hop.out_port != ForwardingTables::kNoPort;
  if (state.is_switch(hop.node)) row["lft"] = has_out ? Json(hop.out_port) : Json(nullptr);
  if (!has_out) return row;
  row["out_port"] = hop.out_port;
  row["vl"] = vl_json(hop.vl);
  if (!hop.peer) return row;
  add_link(state, {hop.node, hop.out_port}, row);
  row["peer"] = address_json(state, *hop.peer);
  return row;
}

Json branch_json(const FabricState& state, const MulticastStop& stop, const MulticastBranch& branch) {
  Json row;
  row["out_port"] = branch.out_port;
  if (branch.out_port == 0) return row;
  row["vl"] = vl_json(branch.vl);
  if (!branch.peer) return row;
  add_link(state, {stop.node, branch.out_port}, row);
  row["peer"] = address_json(state, *branch.peer);
  return row;
}

Json stop_json(const FabricState& state, const MulticastStop& stop) {
  Json row;
  row["node"] = state.topology.node(stop.node).name;
  row["type"] = fabric::name_of(state.topology.node(stop.node).type);
  if (stop.in_port != 0) row["in_port"] = stop.in_port;
  row["links"] = stop.links;
  row["is_member"] = stop.is_member;
  row["comes_again"] = stop.comes_again;
  row["branches"] = Json::array();
  for (const MulticastBranch& branch : stop.branches)
    row["branches"].push_back(branch_json(state, stop, branch));
  return row;
}

std::string multicast_report(const FabricState& state, const Endport& from, wire::Lid to, std::uint8_t sl) {
  const MulticastTrace trace = trace_multicast(state, from.address, to, sl);
  Json out;
  out["from"] = endport_json(state, from);
  out["to"] = {{"multicast_lid", to.value}};
  out["sl"] = sl;
  out["outcome"] = trace.has_loop() ? "forwarding loop" : trace.members() == 0 ? "no members" : "reached";
  out["members"] = trace.members();
  out["stops"] = Json::array();
  for (const MulticastStop& stop : trace.stops) out["stops"].push_back(stop_json(state, stop));
  return out.to_string();
}

}  // namespace

Json endport_json(const FabricState& state, const Endport& endport) {
  Json row = address_json(state, endport.address);
  if (!endport.lid.is_reserved()) row["lid"] = endport.lid.value;
  return row;
}

Json hops_json(const FabricState& state, const PathTrace& trace) {
  Json rows = Json::array();
  for (const PathHop& hop : trace.hops) rows.push_back(hop_json(state, hop));
  return rows;
}

std::string_view outcome_of(const PathTrace& trace) {
  return trace.end == PathEnd::reached && !trace.carries_data() ? "no VL" : name_of(trace.end);
}

Expected<std::string, std::string> trace_report(const FabricState& state, std::string_view from,
                                                std::string_view to, std::uint8_t sl) {
  const auto begin = find_endport(state, from);
  if (!begin) return Unexpected{begin.error()};
  const wire::Lid group = parse_lid(to);
  if (group.is_multicast() && !state.topology.find(to)) return multicast_report(state, *begin, group, sl);
  const auto end = find_endport(state, to);
  if (!end) return Unexpected{end.error()};
  if (end->lid.is_reserved()) return Unexpected{std::string(to) + " has no LID yet, so nothing leads there"};
  const PathTrace trace = trace_path(state, begin->address, end->lid, sl);
  Json out;
  out["from"] = endport_json(state, *begin);
  out["to"] = endport_json(state, *end);
  out["sl"] = sl;
  out["outcome"] = outcome_of(trace);
  out["hops"] = hops_json(state, trace);
  return out.to_string();
}

}  // namespace softrnic::fabricd
