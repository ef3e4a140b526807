#include "subnet/routing_engine.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "subnet/min_hop.h"
#include "subnet/up_down.h"

namespace softrnic::subnet {
namespace {

using Result = Expected<Routing, RoutingError>;

Result by_min_hop(const Graph& graph, const RoutingEngineOptions&, const RoutingOptions& routing) {
  return route_min_hop(graph, routing);
}

Result by_up_down(const Graph& graph, const RoutingEngineOptions& options, const RoutingOptions& routing) {
  auto made = route_up_down(graph, {routing, options.root_guids, options.connect_roots});
  if (!made) return Unexpected{RoutingError::no_root};
  return std::move(*made);
}

constexpr std::array<std::string_view, 2> kNames = {"minhop", "updn"};
constexpr std::array<Result (*)(const Graph&, const RoutingEngineOptions&, const RoutingOptions&), 2>
    kEngines = {by_min_hop, by_up_down};
static_assert(kNames.size() == kEngines.size());

}  // namespace

Result route(const Graph& graph, const RoutingEngineOptions& options, const RoutingOptions& routing) {
  const auto* const found = std::ranges::find(kNames, options.engine);
  if (found == kNames.end()) return Unexpected{RoutingError::unknown_engine};
  return kEngines[static_cast<std::size_t>(found - kNames.begin())](graph, options, routing);
}

std::span<const std::string_view> routing_engines() { return kNames; }

}  // namespace softrnic::subnet
