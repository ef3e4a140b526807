#include "subnet/routing_engine.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "subnet/dimension_order.h"
#include "subnet/fat_tree.h"
#include "subnet/min_hop.h"
#include "subnet/up_down.h"

namespace softrnic::subnet {
namespace {

using Routed = Expected<Routing, RoutingError>;

Routed by_min_hop(const Graph& graph, const RoutingEngineOptions&, const RoutingOptions& routing) {
  return route_min_hop(graph, routing);
}

Routed by_up_down(const Graph& graph, const RoutingEngineOptions& options, const RoutingOptions& routing) {
  auto made = route_up_down(graph, {routing, options.root_guids, options.connect_roots});
  if (!made) return Unexpected{RoutingError::no_root};
  return std::move(*made);
}

Routed by_dimension_order(const Graph& graph, const RoutingEngineOptions&, const RoutingOptions& routing) {
  return route_dimension_order(graph, routing);
}

Routed by_fat_tree(const Graph& graph, const RoutingEngineOptions&, const RoutingOptions&) {
  auto made = route_fat_tree(graph);
  if (!made) return Unexpected{RoutingError::no_fat_tree};
  return std::move(*made);
}

using Engine = Routed (*)(const Graph&, const RoutingEngineOptions&, const RoutingOptions&);
constexpr std::array<std::string_view, 4> kEngineNames = {"minhop", "updn", "dor", "ftree"};
constexpr std::array<Engine, 4> kEngines = {by_min_hop, by_up_down, by_dimension_order, by_fat_tree};

}  // namespace

Routed route(const Graph& graph, const RoutingEngineOptions& options, const RoutingOptions& routing) {
  const auto* const found = std::ranges::find(kEngineNames, options.engine);
  if (found == kEngineNames.end()) return Unexpected{RoutingError::unknown_engine};
  return kEngines[static_cast<std::size_t>(found - kEngineNames.begin())](graph, options, routing);
}

std::span<const std::string_view> routing_engines() { return kEngineNames; }

}  // namespace softrnic::subnet
