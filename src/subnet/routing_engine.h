// Routing engines by their names in opensm.conf.
#pragma once

#include <span>
#include <string_view>

#include "base/expected.h"
#include "subnet/balanced_routes.h"
#include "subnet/graph.h"
#include "subnet/options.h"

namespace softrnic::subnet {

enum class RoutingError : std::uint8_t {
  unknown_engine,
  no_root,      ///< roots are given to updn, and none of them is in this subnet
  no_fat_tree,  ///< ftree: the switches are not levels of a tree, or nothing is attached to them
};

/// Tables for all LIDs of the graph, by `options.engine`: "minhop", "updn", "dor" or "ftree".
Expected<Routing, RoutingError> route(const Graph& graph, const RoutingEngineOptions& options,
                                      const RoutingOptions& routing = {});

std::span<const std::string_view> routing_engines();

}  // namespace softrnic::subnet
