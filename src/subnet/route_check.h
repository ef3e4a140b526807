// Where packets go by given forwarding tables, whoever made them: one route hop by hop, as ibtracert shows
// it, and whether all routes of a subnet reach their end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "subnet/forwarding_tables.h"
#include "subnet/graph.h"

namespace softrnic::subnet {

/// How a route ends.
enum class RouteEnd : std::uint8_t {
  reached,
  unattached,      ///< the source is at no switch, or its link is down
  no_such_lid,     ///< no port has the LID
  no_entry,        ///< the last switch's table has no port for it
  no_link,         ///< the last switch's table names a port that it does not have, or behind which nothing is
  wrong_end_port,  ///< comes out at an end port whose LID it is not
  loop,            ///< comes to a switch again
};
inline constexpr std::size_t kRouteEnds = 7;
std::string_view name_of(RouteEnd end);

struct Hop {
  SwitchId sw;
  std::uint8_t in_port = 0;
  std::uint8_t out_port = kNoRoute;  ///< the entry of the switch's table

  bool operator==(const Hop&) const = default;
};

struct Route {
  RouteEnd end = RouteEnd::unattached;
  std::vector<Hop> hops;  ///< all switches passed; of a loop, up to the switch that is passed again
};

/// The route of packets from `source` to `destination`, a unicast LID.
Route trace_route(const Graph& graph, const ForwardingTables& tables, EndPortId source, Lid destination);

/// A line for each switch, and one that says how it ends; for people.
std::string to_string(const Graph& graph, const Route& route);

struct BrokenRoute {
  SwitchId from;  ///< where a source is attached
  Lid destination;
  RouteEnd end = RouteEnd::reached;
};

struct RouteReport {
  std::uint64_t routes = 0;                      ///< pairs of a source port and a LID of another port
  std::array<std::uint64_t, kRouteEnds> ends{};  ///< how many end how, by RouteEnd
  std::vector<std::uint64_t> by_hops;  ///< of those that reach: how many pass so many links between switches
  std::vector<BrokenRoute> broken;     ///< the first few that do not reach

  bool all_reach() const { return ends[static_cast<std::size_t>(RouteEnd::reached)] == routes; }
};

enum class EndPorts : std::uint8_t {
  adapters,               ///< ports of channel adapters and routers
  adapters_and_switches,  ///< switches' port 0 too
};

/// All routes between the end ports that are attached and have LIDs.
RouteReport check_routes(const Graph& graph, const ForwardingTables& tables,
                         EndPorts among = EndPorts::adapters_and_switches);

}  // namespace softrnic::subnet
